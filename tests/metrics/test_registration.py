from __future__ import annotations

from collections.abc import Callable

import cv2
import numpy as np
import pytest

from medbench_vlmeval.images import read_rgb, read_roi
from medbench_vlmeval.metrics import Shift, border_rows, estimated_shift, is_shifted

from ..shared import shared_path
from .pictures import blurred, ellipse, jpeg, moved, noisy, pasted, photograph

PHOTOGRAPHS = ("astronaut", "chelsea", "immunohistochemistry", "moon")

DAMAGES: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "none": lambda image: image,
    "noise": lambda image: noisy(image, 8),
    "jpeg": lambda image: jpeg(image, 30),
    "blur": lambda image: blurred(image, 1.2),
    "contrast": lambda image: (0.7 * image + 30).astype(np.uint8),
}


def edited_sample(name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Input, ROI, and an edit that stays inside the ROI."""
    previous = photograph(name)
    roi = ellipse(*previous.shape[:2], share=0.15)
    return previous, roi, pasted(previous, roi, photograph("coffee"))


def shifted(shift: Shift, image: np.ndarray) -> bool:
    return is_shifted(shift, (image.shape[1], image.shape[0]))


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_an_edit_in_place_is_not_taken_for_a_shift(name: str, damage: str) -> None:
    previous, roi, edited = edited_sample(name)

    shift = estimated_shift(previous, DAMAGES[damage](edited), roi)

    assert not shifted(shift, previous)
    assert shift.confidence < 0.05


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("border", [cv2.BORDER_CONSTANT, cv2.BORDER_REPLICATE])
@pytest.mark.parametrize("name", PHOTOGRAPHS)
def test_whole_image_shifts_are_found(name: str, border: int, damage: str) -> None:
    previous, roi, edited = edited_sample(name)
    height, width = previous.shape[:2]
    eight_percent = (int(0.08 * width), -int(0.08 * height))
    for dx, dy in [(1, 0), (0, -1), (-2, 1), (5, -3), (-13, 9), (20, -20), eight_percent]:
        shift = estimated_shift(previous, DAMAGES[damage](moved(edited, dx, dy, border)), roi)

        assert shifted(shift, previous), (dx, dy, shift)
        assert np.hypot(shift.dx - dx, shift.dy - dy) < 0.75, (dx, dy, shift)


def test_confidence_tells_a_clean_shift_from_a_dirty_one() -> None:
    previous, roi, edited = edited_sample("chelsea")
    clean = estimated_shift(previous, moved(edited, 6, 2), roi)
    dirty = estimated_shift(previous, noisy(moved(edited, 6, 2), 40), roi)

    assert 0 < dirty.confidence < clean.confidence <= 1


@pytest.mark.parametrize("other", ["coffee", "brick"])
def test_another_picture_is_not_a_shift(other: str) -> None:
    previous, roi, _ = edited_sample("astronaut")
    height, width = previous.shape[:2]

    shift = estimated_shift(previous, cv2.resize(photograph(other), (width, height)), roi)

    assert not shifted(shift, previous)


def test_a_shift_inside_the_roi_does_not_count() -> None:
    previous = photograph("astronaut")
    roi = ellipse(512, 512, share=0.4)
    edited = pasted(previous, roi, moved(previous, 9, 9))

    assert not shifted(estimated_shift(previous, edited, roi), previous)


def test_equal_images_have_no_shift() -> None:
    previous = photograph("astronaut")

    assert estimated_shift(previous, previous.copy(), ellipse(512, 512, share=0.1)) == (0, 0, 0)


@pytest.mark.parametrize(
    "size_wh", [(16, 16), (7, 400), (40, 33), (509, 250), (1200, 700)], ids=str
)
def test_every_size_gives_an_answer(size_wh: tuple[int, int]) -> None:
    previous = cv2.resize(photograph("chelsea"), size_wh)
    roi = ellipse(size_wh[1], size_wh[0], share=0.1)

    shift = estimated_shift(previous, noisy(previous, 3), roi)

    assert not is_shifted(shift, size_wh)


@pytest.mark.parametrize("level", [0, 128])
def test_without_detail_nothing_is_said(level: int) -> None:
    flat = np.full((100, 120, 3), level, np.uint8)
    roi = np.zeros((100, 120), np.uint8)

    assert estimated_shift(flat, flat, roi) == (0, 0, 0)
    assert estimated_shift(flat, noisy(flat, 5), roi).confidence < 0.1


def test_a_roi_everywhere_leaves_nothing_to_compare() -> None:
    previous = photograph("astronaut")
    roi = np.full((512, 512), 255, np.uint8)

    assert estimated_shift(previous, moved(previous, 5, 5), roi) == (0, 0, 0)


def test_small_shifts_of_large_images_are_below_the_resolution() -> None:
    assert is_shifted(Shift(1.0, 0.0, 0.5), (512, 512))
    assert not is_shifted(Shift(1.0, 0.0, 0.5), (2048, 1024))
    assert not is_shifted(Shift(9.0, 9.0, 0.05), (512, 512))


def test_wrong_input_is_named() -> None:
    image = np.zeros((64, 64, 3), np.uint8)

    with pytest.raises(ValueError, match="resize_like"):
        estimated_shift(image, image[:60], np.zeros((64, 64), np.uint8))


def test_black_rows_and_columns_are_counted_from_the_end() -> None:
    image = np.full((20, 30, 3), 90, np.uint8)
    assert border_rows(image) == 0
    image[-3:] = 2
    assert border_rows(image) == 3
    image[:, -5:] = 0
    assert border_rows(image) == 5
    image[-1, 0, 2] = 5
    image[0, -1, 1] = 5
    assert border_rows(image) == 0


def test_a_black_image_is_all_border() -> None:
    assert border_rows(np.zeros((20, 30, 3), np.uint8)) == 30


@pytest.mark.parametrize(
    ("identifier", "black_rows", "least_dy", "most_dy"),
    [("34", 3, -2.0, -0.9), ("53", 6, -3.5, -2.5), ("54", 1, -0.9, -0.1)],
)
def test_icedit_outputs_are_found_cut_and_shifted(
    identifier: str, black_rows: int, least_dy: float, most_dy: float
) -> None:
    # Height modulo 16 black rows, and the content half as many rows too high.
    gallery = shared_path("real/medebench_gallery")
    previous = read_rgb(gallery / "editing/previous" / f"{identifier}.png")
    roi = read_roi(gallery / "editing/previous_mask" / f"{identifier}.png")
    edited = read_rgb(gallery / "generated_images/icedit" / f"{identifier}_0.png").pixels

    shift = estimated_shift(previous.pixels, edited, roi.values)

    assert black_rows == previous.size_wh[1] % 16
    assert border_rows(edited) == black_rows
    assert least_dy < shift.dy < most_dy
    assert abs(shift.dx) < 0.6
    assert is_shifted(shift, previous.size_wh) == (black_rows > 1)


def test_most_published_outputs_are_in_place() -> None:
    gallery = shared_path("real/medebench_gallery")
    in_place = ("gemini_2_flash", "instruct-pix2pix", "paint-by-inpaint", "seedx")
    for identifier in ("34", "53", "54"):
        previous = read_rgb(gallery / "editing/previous" / f"{identifier}.png").pixels
        roi = read_roi(gallery / "editing/previous_mask" / f"{identifier}.png").values
        for model in in_place:
            edited = read_rgb(gallery / "generated_images" / model / f"{identifier}_0.png").pixels
            shift = estimated_shift(previous, edited, roi)
            assert not shifted(shift, previous), (identifier, model, shift)
