"""Official CP on real inputs and outputs against what the project page printed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from medbench_vlmeval.images import read_rgb, read_roi, resize_like
from medbench_vlmeval.metrics import (
    EditSigns,
    PreparedSample,
    context_ssim,
    edit_metrics,
    edit_signs,
    masked_ssim,
)
from medbench_vlmeval.metrics.ssim import KERNEL_VARIABLE

from ..shared import shared_path


@pytest.mark.parametrize("kernel", ["numba", "strips"])
def test_official_cp_agrees_with_the_published_scores(
    kernel: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(KERNEL_VARIABLE, kernel)
    gallery = shared_path("real/medebench_gallery")
    published = json.loads((gallery / "published_scores.json").read_text(encoding="utf-8"))
    folders = {path.name for path in (gallery / "generated_images").iterdir()}
    differences = []
    for identifier, models in published.items():
        assert set(models) == folders
        previous = read_rgb(gallery / "editing/previous" / f"{identifier}.png")
        mask = gallery / "editing/previous_mask" / f"{identifier}.png"
        roi = read_roi(mask, size_wh=previous.size_wh).values
        for model, scores in models.items():
            decoded = read_rgb(gallery / "generated_images" / model / f"{identifier}_0.png")
            edited, _ = resize_like(decoded, previous.size_wh)
            official = masked_ssim(previous.pixels, edited, roi)
            differences.append(official - scores["CP"])
            assert context_ssim(previous.pixels, edited, roi) < official

    assert len(differences) == 21
    assert np.mean(np.abs(differences)) <= 0.05
    assert np.max(np.abs(differences)) <= 0.10


def test_no_edit_of_the_gallery_is_taken_for_none_and_every_copy_is() -> None:
    """Sample 53's reference is another photograph, which no edit comes near pixel by pixel."""
    gallery = shared_path("real/medebench_gallery")
    for identifier in ("34", "53", "54"):
        previous = read_rgb(gallery / "editing/previous" / f"{identifier}.png")
        mask = gallery / "editing/previous_mask" / f"{identifier}.png"
        roi = read_roi(mask, size_wh=previous.size_wh).values
        decoded = read_rgb(gallery / "editing/changed" / f"{identifier}.png")
        reference, _ = resize_like(decoded, previous.size_wh)
        sample = PreparedSample(previous.pixels, roi)

        def signs(
            edited: np.ndarray,
            sample: PreparedSample = sample,
            reference: np.ndarray = reference,
        ) -> EditSigns:
            return edit_signs(sample, edited, edit_metrics(sample, edited), reference)

        for folder in (gallery / "generated_images").iterdir():
            edited, _ = resize_like(read_rgb(folder / f"{identifier}_0.png"), previous.size_wh)
            found = signs(edited)
            assert (found.no_edit, found.copied_reference) == (False, False), folder.name
        assert signs(previous.pixels).no_edit
        assert signs(reference).copied_reference
