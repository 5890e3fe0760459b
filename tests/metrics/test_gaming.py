from __future__ import annotations

import io
import math

import cv2
import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.metrics import EditSigns, PreparedSample, edit_metrics, edit_signs, psnr

from .pictures import ellipse, noisy, pasted, photograph

PREVIOUS = photograph("chelsea", 128)
ROI = ellipse(*PREVIOUS.shape[:2], share=0.2)
INSIDE = ROI > 0
REFERENCE = pasted(PREVIOUS, ROI, photograph("coffee", 128))
SAMPLE = PreparedSample(PREVIOUS, ROI)


def signs(edited: np.ndarray, reference: np.ndarray | None = REFERENCE) -> EditSigns:
    return edit_signs(SAMPLE, edited, edit_metrics(SAMPLE, edited), reference)


def inside_only(changed: np.ndarray) -> np.ndarray:
    return np.where(INSIDE[..., None], changed, PREVIOUS)


def outside_only(changed: np.ndarray) -> np.ndarray:
    return np.where(INSIDE[..., None], PREVIOUS, changed)


HONEST = inside_only(cv2.GaussianBlur(REFERENCE, (0, 0), 2))
NOISE = noisy(PREVIOUS, 25)


def test_an_honest_edit_shows_no_sign() -> None:
    found = signs(HONEST)
    assert (found.no_edit, found.edit_elsewhere, found.copied_reference) == (False, False, False)
    assert 0.5 < (found.change_ratio or 0) < 1.5


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        pytest.param(PREVIOUS, (True, False, False), id="the input itself"),
        pytest.param(noisy(PREVIOUS, 1), (True, False, False), id="the input with invisible noise"),
        pytest.param(outside_only(NOISE), (True, True, False), id="noise outside only"),
        pytest.param(outside_only(255 - PREVIOUS), (True, True, False), id="edit of the rest"),
        pytest.param(255 - PREVIOUS, (False, True, False), id="all inverted"),
        pytest.param(REFERENCE, (False, False, True), id="the reference"),
        pytest.param(noisy(REFERENCE, 1), (False, False, True), id="the reference, coded again"),
    ],
)
def test_each_way_to_cheat_has_its_sign(
    edited: np.ndarray, expected: tuple[bool, bool, bool]
) -> None:
    found = signs(edited)
    if expected == (False, True, False):
        # whether all of it or the ROI changed more depends on the picture
        inside, outside = (
            float(np.mean((edited.astype(int) - PREVIOUS)[where] ** 2))
            for where in (INSIDE, ~INSIDE)
        )
        expected = (False, outside >= inside, False)
    assert (found.no_edit, found.edit_elsewhere, found.copied_reference) == expected


def test_the_change_ratio_is_that_of_root_mean_squares() -> None:
    half = PREVIOUS.astype(float) + 0.5 * (REFERENCE.astype(float) - PREVIOUS)
    edited = np.rint(half).astype(np.uint8)
    change = [
        float(np.sqrt(np.mean((image.astype(int) - PREVIOUS)[INSIDE] ** 2)))
        for image in (edited, REFERENCE)
    ]
    assert signs(edited).change_ratio == pytest.approx(change[0] / change[1], rel=1e-12)
    assert signs(PREVIOUS).change_ratio == 0.0
    assert signs(REFERENCE).change_ratio == 1.0


def test_a_small_share_of_the_asked_change_is_no_edit_though_it_is_visible() -> None:
    hint = PREVIOUS.astype(float) + 0.06 * (REFERENCE.astype(float) - PREVIOUS)
    edited = np.rint(hint).astype(np.uint8)
    assert (edit_metrics(SAMPLE, edited).psnr_inside or math.inf) < 40
    assert signs(edited).no_edit
    assert signs(edited, None).no_edit is False


def spot_of(grey_levels: int, side: int) -> np.ndarray:
    rows, columns = np.nonzero(INSIDE)
    row, column = int(np.median(rows)), int(np.median(columns))
    edited = PREVIOUS.astype(int)
    edited[row : row + side, column : column + side] += grey_levels
    return np.clip(edited, 0, 255).astype(np.uint8)


def test_a_small_lesion_removed_is_an_edit_whatever_photograph_is_the_reference() -> None:
    other = photograph("coffee", 128)[: PREVIOUS.shape[0], : PREVIOUS.shape[1]]
    edited = spot_of(-40, 9)
    found = signs(edited, other)
    assert (found.change_ratio or 1) < 0.1
    assert (found.no_edit, found.edit_elsewhere, found.copied_reference) == (False, False, False)


@pytest.mark.parametrize(("levels", "no_edit"), [(0, True), (11, True), (13, False), (-13, False)])
def test_a_spot_counts_from_twelve_grey_levels_on(levels: int, no_edit: bool) -> None:
    assert signs(spot_of(levels, 9)).no_edit is no_edit


@pytest.mark.parametrize("quality", [95, 75])
def test_the_input_coded_again_is_no_edit(quality: int) -> None:
    stream = io.BytesIO()
    Image.fromarray(PREVIOUS).save(stream, "JPEG", quality=quality)
    assert signs(np.asarray(Image.open(stream))).no_edit


def test_an_edit_of_a_small_roi_is_no_copy_however_near_the_whole_picture_is() -> None:
    roi = np.zeros_like(ROI)
    roi[40:48, 60:68] = 255  # less than 1 % of the picture
    sample = PreparedSample(PREVIOUS, roi)
    reference, edited = PREVIOUS.copy(), PREVIOUS.copy()
    reference[40:48, 60:68] = 60
    edited[40:48, 60:68] = 68
    assert psnr(edited, reference) > 40

    def copied(image: np.ndarray) -> bool | None:
        return edit_signs(sample, image, edit_metrics(sample, image), reference).copied_reference

    assert (copied(edited), copied(PREVIOUS), copied(reference)) == (False, False, True)
    stream = io.BytesIO()
    Image.fromarray(reference).save(stream, "JPEG", quality=97, subsampling=0)
    assert copied(np.asarray(Image.open(stream)))


def test_a_reference_that_changes_a_small_roi_only_can_be_copied() -> None:
    roi = np.zeros_like(ROI)
    roi[40:44, 60:64] = 255
    reference = PREVIOUS.copy()
    reference[40:44, 60:64] += 40
    assert psnr(PREVIOUS, reference) > 40
    sample = PreparedSample(PREVIOUS, roi)
    found = [
        edit_signs(sample, it, edit_metrics(sample, it), reference) for it in (reference, PREVIOUS)
    ]
    assert [it.copied_reference for it in found] == [True, False]


def test_a_change_beside_the_roi_is_no_spot_in_it() -> None:
    bright = outside_only(np.clip(PREVIOUS.astype(int) + 90, 0, 255).astype(np.uint8))
    assert signs(bright).no_edit


def test_doing_nothing_is_no_sign_where_nothing_was_asked_for() -> None:
    found = signs(PREVIOUS, PREVIOUS.copy())
    assert found == EditSigns(None, False, None, None)


def test_without_a_reference_a_copy_cannot_be_told() -> None:
    assert signs(REFERENCE, None).copied_reference is None


@pytest.mark.parametrize(("value", "edit_elsewhere"), [(0, None), (255, None)])
def test_an_roi_that_is_empty_or_everything_has_no_inside_and_outside(
    value: int, edit_elsewhere: None
) -> None:
    sample = PreparedSample(PREVIOUS, np.full_like(ROI, value))
    found = edit_signs(sample, NOISE, edit_metrics(sample, NOISE), REFERENCE)
    assert found.edit_elsewhere is edit_elsewhere
    assert (found.no_edit is None) == (value == 0)


def test_a_reference_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"expected a uint8 reference of shape \(85, 128, 3\)"):
        signs(HONEST, REFERENCE[:-1])
