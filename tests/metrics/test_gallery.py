"""Official CP on real inputs and outputs against what the project page printed."""

from __future__ import annotations

import json

import numpy as np
import pytest

from medbench_vlmeval.images import read_rgb, read_roi, resize_like
from medbench_vlmeval.metrics import context_ssim, masked_ssim
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
