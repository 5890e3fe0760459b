from __future__ import annotations

import numpy as np
import pytest

from medbench_vlmeval.data import load_medebench, prepare_medebench
from medbench_vlmeval.data.checks import mark_inverted_rois

from .cases import shared_case
from .releases import encoded, mask, picture, write_official


def prepared(tmp_path, images):
    return prepare_medebench(
        write_official(tmp_path / "release", sorted(images), images=images), progress=False
    )


@pytest.mark.parametrize("case", shared_case("images.jsonl", "B81b"))
def test_a_mask_of_zeros_and_ones_is_detected(tmp_path, case):
    required = case["required"]
    pixels = np.zeros((64, 64), dtype=np.uint8)
    pixels[:, :16] = 1
    images = {"previous": picture(1, (64, 64)), "roi": encoded(pixels)}
    report = prepared(tmp_path, {1: images})
    assert required["detected"].removeprefix("mask ") == "holds 0 and 1 only"
    assert report.problems["roi holds 0 and 1 only"] == (1,)


@pytest.mark.parametrize("case", shared_case("images.jsonl", "B83a"))
def test_a_mask_that_may_be_inverted_is_named_and_left_as_it_is(tmp_path, case):
    required = case["required"]
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


@pytest.mark.parametrize("case", shared_case("images.jsonl", "B85a"))
def test_a_mask_of_another_shape_is_named(tmp_path, case):
    build = case["build"]
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
        "reference": picture(2, (256, 137)),
        "roi": mask(0.25, (256, 138)),
    }
    assert prepared(tmp_path, {1: images}).problems == {"roi has another size than previous": (1,)}


def test_large_masks_of_an_organ_whose_masks_are_large_are_not_suspected():
    records = [
        {"id": number, "organ": organ, "roi": {"share": share}, "problems": []}
        for number, (organ, share) in enumerate(
            [("Eyes", 0.05)] * 20 + [("Torso", 0.6)] * 4 + [("Torso", 0.9)] + [("Eyes", 0.9)]
        )
    ]
    records.append({"id": 99, "organ": "Eyes", "roi": None, "problems": []})
    mark_inverted_rois(records)
    assert [record["id"] for record in records if record["problems"]] == [25]
