from __future__ import annotations

import numpy as np
import pytest

from medbench_vlmeval.data import drawing

PIXELS = np.random.default_rng(0).integers(60, 200, (80, 100, 3), dtype=np.uint8)
LEFT = drawing.rectangle((100, 80), (0, 0, 50, 80))

DRAWINGS = {
    "spot": lambda pixels: drawing.spot(
        pixels, (50, 40), (20, 12), (255, 0, 0), ragged=0.6, seed=3
    ),
    "spots": lambda pixels: drawing.spots(pixels, [(20, 20), (70, 50)], 8, (255, 255, 0)),
    "stroke": lambda pixels: drawing.stroke(pixels, [(10, 70), (50, 30), (90, 20)], 9, (0, 0, 255)),
    "bubble": lambda pixels: drawing.bubble(pixels, (60, 40), 25),
    "shade": lambda pixels: drawing.shade(pixels, LEFT, (0, 0, 0), strength=0.5, fade=6),
    "defocus": lambda pixels: drawing.defocus(pixels, LEFT, size=5, fade=6),
    "cover": lambda pixels: drawing.cover(pixels, (30, 40), 12, (70, 40)),
}


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_pixels_outside_the_roi_are_untouched_and_inside_they_change(draw):
    drawn, roi = draw(PIXELS)
    assert drawn.dtype == np.uint8
    assert roi.dtype == bool
    assert 0 < roi.mean() < 1
    np.testing.assert_array_equal(drawn[~roi], PIXELS[~roi])
    assert (drawn != PIXELS).any(axis=-1)[roi].mean() > 0.5


@pytest.mark.parametrize("draw", DRAWINGS.values(), ids=DRAWINGS)
def test_the_original_is_not_written_to_and_the_result_is_the_same_again(draw):
    before = PIXELS.copy()
    first, second = draw(PIXELS)[0], draw(PIXELS)[0]
    np.testing.assert_array_equal(PIXELS, before)
    np.testing.assert_array_equal(first, second)


def test_the_middle_of_a_full_spot_has_its_colour():
    drawn, _ = drawing.spot(PIXELS, (50, 40), (20, 12), (255, 0, 7))
    assert drawn[40, 50].tolist() == [255, 0, 7]


def test_a_rectangle_excludes_its_right_and_lower_edge():
    roi = drawing.rectangle((6, 4), (1, 1, 3, 2))
    assert roi.shape == (4, 6)
    assert np.argwhere(roi).tolist() == [[1, 1], [1, 2]]
