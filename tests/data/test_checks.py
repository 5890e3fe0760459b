from __future__ import annotations

import numpy as np
import pytest

from medbench_vlmeval.data import load_medebench, prepare_medebench
from tests.shared import shared_cases

from .releases import encoded, mask, picture, write_official

CASES = {case.id: case.values[0] for case in shared_cases("images.jsonl")}


def case(identifier: str) -> dict:
    if identifier not in CASES:
        pytest.skip("the shared cases are not there")
    return CASES[identifier]


def prepared(tmp_path, images):
    return prepare_medebench(
        write_official(tmp_path / "release", sorted(images), images=images), progress=False
    )


def test_b81b_a_mask_of_zeros_and_ones_is_detected(tmp_path):
    required = case("B81b")["required"]
    pixels = np.zeros((64, 64), dtype=np.uint8)
    pixels[:, :16] = 1
    images = {"previous": picture(1, (64, 64)), "roi": encoded(pixels)}
    report = prepared(tmp_path, {1: images})
    assert required["detected"].removeprefix("mask ") == "holds 0 and 1 only"
    assert report.problems["roi holds 0 and 1 only"] == (1,)


def test_b83a_a_mask_that_may_be_inverted_is_named_and_left_as_it_is(tmp_path):
    required = case("B83a")["required"]
    shares = dict.fromkeys(range(1, 10), 0.08) | {10: 0.93}
    size_wh = (100, 20)
    images = {
        number: {
            "previous": picture(number, size_wh),
            "reference": picture(number, size_wh),
            "roi": mask(share, size_wh),
        }
        for number, share in shares.items()
    }
    report = prepared(tmp_path, images)
    assert report.problems == {"roi may be inverted": (10,)}
    assert required["automatic_flip"] is False
    assert load_medebench().sample(10).roi.read_bytes() == images[10]["roi"]


def test_b85a_a_mask_of_another_shape_is_named(tmp_path):
    build = case("B85a")["build"]
    image_wh, mask_wh = tuple(build["image_size_wh"]), tuple(build["mask_size_wh"])
    images = {
        "previous": picture(1, image_wh),
        "reference": picture(2, image_wh),
        "roi": mask(0.25, mask_wh),
    }
    report = prepared(tmp_path, {1: images})
    assert report.problems == {"roi has another aspect ratio than previous": (1,)}
    assert load_medebench().manifest["problems"] == {
        "roi has another aspect ratio than previous": [1]
    }


def test_one_pixel_of_rounding_is_another_size_and_not_another_shape(tmp_path):
    images = {
        "previous": picture(1, (512, 275)),
        "reference": picture(2, (512, 276)),
        "roi": mask(0.25, (512, 274)),
    }
    assert prepared(tmp_path, {1: images}).problems == {"roi has another size than previous": (1,)}
