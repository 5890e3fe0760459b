"""The shared cases of odd images and masks, one test each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.images import (
    ImageUnreadable,
    as_uint8,
    encode_for_judge,
    encode_png,
    likely_inverted,
    read_rgb,
    read_roi,
    resize_like,
)
from medbench_vlmeval.images.colour import BACKGROUND_RGB
from medbench_vlmeval.metrics import masked_ssim

from ..shared import shared_cases, shared_path
from .made import bilevel_png, encoded

Case = dict[str, Any]


def grey_16_bit(case: Case) -> None:
    width, height = case["build"]["size_wh"]
    ramp = np.arange(65536, dtype="uint16").reshape(height, width)
    required = case["required"]

    pixels = read_rgb(encoded(Image.fromarray(ramp), case["build"]["format"])).pixels

    assert len(np.unique(pixels)) == required["levels_after"]
    assert pixels.mean() == required["mean_after"]
    assert (pixels == 255).mean() <= required["share_white_max"]
    assert "round(value / 257)" in read_rgb.__doc__


def every_mode(case: Case) -> None:
    width, height = case["build"]["size_wh"]
    ramp = np.tile(np.linspace(0, 1, width), (height, 1))
    grey = Image.fromarray((255 * ramp).astype(np.uint8))
    transparent = grey.convert("P")
    transparent.info["transparency"] = 0
    files = {
        "1": encoded(grey.convert("1")),
        "L": encoded(grey),
        "P": encoded(grey.convert("P")),
        "P with transparency": encoded(transparent),
        "LA": encoded(grey.convert("LA")),
        "RGBA": encoded(grey.convert("RGBA")),
        "CMYK (TIFF)": encoded(grey.convert("CMYK"), "TIFF"),
        "YCbCr (JPEG)": encoded(grey.convert("YCbCr"), "JPEG"),
        "I;16": encoded(Image.fromarray((65535 * ramp).astype(np.uint16))),
        "I": encoded(Image.fromarray((65535 * ramp).astype(np.int32)), "TIFF"),
        "F (TIFF)": encoded(Image.fromarray(ramp.astype(np.float32)), "TIFF"),
    }
    assert set(files) == set(case["build"]["modes"])
    for mode, data in files.items():
        decoded = read_rgb(data)
        assert decoded.size_wh == (width, height), mode
        assert decoded.pixels[:, -1].min() > 240, mode


def hidden_colour(case: Case) -> None:
    size = tuple(case["build"]["size_wh"])
    colours = [tuple(variant["rgba"]) for variant in case["build"]["variants"]]

    variants = [read_rgb(encoded(Image.new("RGBA", size, colour))) for colour in colours]

    for decoded in variants:
        assert (decoded.pixels == BACKGROUND_RGB).all()
        assert "alpha_composited" in decoded.flags
    assert "composited over white" in read_rgb.__doc__


def transparent_palette(case: Case) -> None:
    size = tuple(case["build"]["size_wh"])
    index = case["build"]["transparency_index"]

    decoded = read_rgb(encoded(Image.new("P", size, index), transparency=index))

    assert (decoded.pixels == BACKGROUND_RGB).all()
    assert "alpha_composited" in decoded.flags


def animation(case: Case) -> None:
    size = tuple(case["build"]["size_wh"])
    colours = [tuple(frame["rgb"]) for frame in case["build"]["frames"]]
    frames = [Image.new("RGB", size, colour) for colour in colours]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])

    decoded = read_rgb(data)

    assert (decoded.pixels == colours[case["required"]["frame_used"]]).all()
    assert decoded.n_frames == case["required"]["n_frames"]
    assert "first_frame" in decoded.flags


def pages(case: Case) -> None:
    size, n_pages = tuple(case["build"]["size_wh"]), case["build"]["frames"]
    images = [Image.new("RGB", size, (50 * number, 0, 0)) for number in range(n_pages)]
    data = encoded(images[0], "TIFF", save_all=True, append_images=images[1:])

    decoded = read_rgb(data)

    assert (decoded.pixels == (50 * case["required"]["frame_used"], 0, 0)).all()
    assert decoded.n_frames == case["required"]["n_frames"]
    assert "first_frame" in decoded.flags


def too_many_pixels(case: Case) -> None:
    with pytest.raises(ImageUnreadable) as caught:
        read_rgb(bilevel_png(*case["build"]["size_wh"]))

    assert "limit of 100,000,000" in str(caught.value)
    assert "MEDBENCH_MAX_PIXELS" in str(caught.value)


def truthful_mime(case: Case) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / case["build"]["file_name"]
        path.write_bytes(encoded(Image.new("RGB", tuple(case["build"]["size_wh"]))))

        assert encode_for_judge(path).mime == case["required"]["mime"]


def one_roi_many_encodings(case: Case) -> None:
    width, height = case["build"]["size_wh"]
    inside = np.zeros((height, width), bool)
    inside[:, :16] = True
    white = Image.fromarray(inside.astype(np.uint8) * 255)
    encodings = {
        "L 0/255": encoded(white),
        "L 0/1": encoded(Image.fromarray(inside.astype(np.uint8))),
        "mode 1": encoded(white.convert("1")),
        "palette with white entry": encoded(white.convert("P")),
        "RGB 0/255": encoded(white.convert("RGB")),
        "RGBA 0/255 opaque": encoded(white.convert("RGBA")),
        "float 0.0/1.0 (TIFF)": encoded(Image.fromarray(inside.astype(np.float32)), "TIFF"),
    }
    assert set(encodings) == set(case["build"]["variants"])
    for name, data in encodings.items():
        roi = read_roi(data)
        assert np.array_equal(roi.values > 0, inside), name
        assert roi.share == case["required"]["roi_share"], name


def zero_one_mask(case: Case) -> None:
    previous, edited = (
        np.random.RandomState(seed).randint(0, 256, (64, 64, 3)).astype("uint8") for seed in (0, 1)
    )
    mask = np.zeros((64, 64), np.uint8)
    mask[:, :16] = 1
    required = case["required"]

    roi = read_roi(encoded(Image.fromarray(mask)))

    assert "zero_one" in roi.flags
    assert masked_ssim(previous, edited, roi.values) == pytest.approx(
        required["official_cp"], abs=required["tolerance"]
    )
    assert masked_ssim(previous, edited, roi.values * 255) == pytest.approx(
        required["official_cp_with_0_255_mask"], abs=required["tolerance"]
    )


def inverted_mask(case: Case) -> None:
    shares = {f"sample {number}": 0.08 for number in range(9)} | {"odd": 0.93}

    assert likely_inverted(shares) == ["odd"]
    assert case["required"]["automatic_flip"] is False


def mask_of_another_size(case: Case) -> None:
    width, height = case["build"]["mask_size_wh"]
    mask = np.zeros((height, width), np.uint8)
    mask[:, : width // 4] = 255
    size_wh = tuple(case["build"]["image_size_wh"])
    nearest = Image.fromarray(mask).resize(size_wh, Image.Resampling.NEAREST)

    roi = read_roi(encoded(Image.fromarray(mask)), size_wh=size_wh)

    assert np.array_equal(roi.values, np.asarray(nearest))
    assert roi.share == case["required"]["roi_share_after"]
    assert {"resized", "aspect_differs"} <= roi.flags


def bytes_and_floats(case: Case) -> None:
    rows, columns = np.mgrid[0:32, 0:32]
    a, b = (
        np.repeat(((7 * columns + 13 * rows + offset) % 256)[..., None], 3, axis=2).astype(np.uint8)
        for offset in (0, 10)
    )
    no_roi = np.zeros((32, 32), np.uint8)
    required = case["required"]

    as_bytes = masked_ssim(a, b, no_roi)
    as_floats = masked_ssim(as_uint8(a / 255), as_uint8((b / 255).astype(np.float32)), no_roi)

    assert as_bytes == pytest.approx(required["ssim_uint8"], abs=required["equal_to"])
    assert as_floats == as_bytes


def constant_images(case: Case) -> None:
    a, b = np.full((32, 32, 3), 100, np.uint8), np.full((32, 32, 3), 110, np.uint8)
    no_roi = np.zeros((32, 32), np.uint8)
    required = case["required"]

    assert masked_ssim(a, a, no_roi) == required["ssim_identical"]
    assert masked_ssim(a, b, no_roi) == pytest.approx(
        required["ssim_100_vs_110"], abs=required["tolerance"]
    )


def size_mismatch(case: Case) -> None:
    previous_wh = tuple(case["build"]["previous_size_wh"])
    edited_wh = tuple(case["build"]["edited_size_wh"])
    pixels = np.random.default_rng(0).integers(0, 256, (*edited_wh[::-1], 3)).astype(np.uint8)
    bicubic = Image.fromarray(pixels).resize(previous_wh, Image.Resampling.BICUBIC)

    resized, flags = resize_like(read_rgb(encode_png(pixels)), previous_wh)

    assert np.array_equal(resized, np.asarray(bicubic))
    assert "size_differs" in flags


CHECKS: dict[str, Callable[[Case], None]] = {
    "B63a": grey_16_bit,
    "B65a": every_mode,
    "B67a": hidden_colour,
    "B67b": transparent_palette,
    "B71a": animation,
    "B71b": pages,
    "B73a": too_many_pixels,
    "B79a": truthful_mime,
    "B81a": one_roi_many_encodings,
    "B81b": zero_one_mask,
    "B83a": inverted_mask,
    "B85a": mask_of_another_size,
    "B87a": bytes_and_floats,
    "B87b": constant_images,
    "B89a": size_mismatch,
}

ELSEWHERE = {"B69a", "B75a", "B75b", "B77a", "B77b", "B79b"}
"""About boxes, folders of edits, model input and the judge's cache: tested with those parts."""


@pytest.mark.parametrize("identifier", CHECKS)
def test_case(identifier: str) -> None:
    lines = shared_path("cases/images.jsonl").read_text(encoding="utf-8").splitlines()
    case = {entry["id"]: entry for entry in map(json.loads, lines)}[identifier]

    CHECKS[identifier](case)


@pytest.mark.parametrize("case", shared_cases("images.jsonl"))
def test_every_case_is_tested_here_or_elsewhere(case: Case) -> None:
    assert (case["id"] in CHECKS) != (case["id"] in ELSEWHERE)


def test_no_test_is_left_without_its_case() -> None:
    lines = shared_path("cases/images.jsonl").read_text(encoding="utf-8").splitlines()

    assert {json.loads(line)["id"] for line in lines} == set(CHECKS) | ELSEWHERE
