from __future__ import annotations

import pytest

from medbench_vlmeval.sent_size import patch_aligned_size_wh, pixel_limits

LARGEST = 16384 * 28 * 28


@pytest.mark.parametrize(
    ("min_pixels", "side"),
    [(3136, 336), (256 * 28 * 28, 448), (1280 * 28 * 28, 1008)],
    ids=["checkpoint", "256 tokens", "host's entry"],
)
def test_the_known_sizes_of_a_336_pixel_image(min_pixels: int, side: int) -> None:
    size = patch_aligned_size_wh((336, 336), min_pixels=min_pixels, max_pixels=LARGEST)
    assert size == (side, side)


def test_large_images_are_reduced_and_keep_their_proportions() -> None:
    width, height = patch_aligned_size_wh((4000, 1000), min_pixels=3136, max_pixels=1280 * 28 * 28)
    assert width * height <= 1280 * 28 * 28
    assert width % 28 == height % 28 == 0
    assert width / height == pytest.approx(4, rel=0.1)


def test_limits_come_from_the_entrys_own_arguments() -> None:
    assert pixel_limits({"min_pixels": 5, "max_pixels": 9}) == (5, 9)
    assert pixel_limits({"min_pixels": 5}) == (5, LARGEST)
    assert pixel_limits({"model_path": "x"}) is None
