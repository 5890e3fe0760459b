from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.images import ImageUnreadable, as_uint8, read_rgb

from .made import encoded, picture


def test_16_bit_grey_is_divided_by_257_and_rounded() -> None:
    values = np.arange(65536, dtype=np.uint16).reshape(256, 256)
    exact = np.rint(values / 257).astype(np.uint8)

    for format_name in ("PNG", "TIFF"):
        decoded = read_rgb(encoded(Image.fromarray(values), format_name))

        assert np.array_equal(decoded.pixels[..., 1], exact)
        assert decoded.flags == {"depth_reduced"}


def test_32_bit_integers_count_as_16_bit_ones() -> None:
    values = np.array([[0, 128, 129, 65535]], np.int32)

    decoded = read_rgb(encoded(Image.fromarray(values), "TIFF"))

    assert decoded.pixels[0, :, 0].tolist() == [0, 0, 1, 255]
    assert decoded.flags == {"depth_reduced"}


@pytest.mark.parametrize("values", [[-1, 5], [0, 65536]])
def test_integers_without_a_stated_scale_are_refused(values: list[int]) -> None:
    data = encoded(Image.fromarray(np.array([values], np.int32)), "TIFF")

    with pytest.raises(ImageUnreadable, match="no stated scale"):
        read_rgb(data)


@pytest.mark.parametrize(
    ("values", "levels"),
    [([0, 0.5, 1], [0, 128, 255]), ([0, 1.6, 255], [0, 2, 255])],
    ids=["unit_range", "levels"],
)
def test_floats_are_read_by_their_range(values: list[float], levels: list[int]) -> None:
    decoded = read_rgb(encoded(Image.fromarray(np.array([values], np.float32)), "TIFF"))

    assert decoded.pixels[0, :, 2].tolist() == levels
    assert decoded.flags == {"depth_reduced"}


@pytest.mark.parametrize("value", [float("nan"), -0.1, 256.0])
def test_floats_without_a_stated_scale_are_refused(value: float) -> None:
    data = encoded(Image.fromarray(np.array([[0, value]], np.float32)), "TIFF")

    with pytest.raises(ImageUnreadable, match="no stated scale"):
        read_rgb(data)


def test_16_bit_colour_is_flagged() -> None:
    import cv2

    values = np.random.default_rng(0).integers(0, 65536, (9, 9, 3)).astype(np.uint16)
    _, data = cv2.imencode(".png", values[..., ::-1])

    decoded = read_rgb(data.tobytes())

    assert np.array_equal(decoded.pixels, (values >> 8).astype(np.uint8))
    assert decoded.flags == {"depth_reduced"}


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_transparency_shows_white(mode: str) -> None:
    image = Image.fromarray(picture()).convert(mode)
    alpha = np.full((30, 40), 255, np.uint8)
    alpha[:, :10] = 0
    alpha[:, 10:20] = 128
    image.putalpha(Image.fromarray(alpha))
    opaque = np.asarray(image.convert("RGB")).astype(int)

    decoded = read_rgb(encoded(image))

    assert decoded.flags == {"alpha_composited"}
    assert (decoded.pixels[:, :10] == 255).all()
    halfway = np.rint(255 + (opaque[:, 10:20] - 255) * 128 / 255)
    assert np.abs(decoded.pixels[:, 10:20] - halfway).max() <= 1
    assert np.array_equal(decoded.pixels[:, 20:], opaque[:, 20:])


@pytest.mark.parametrize("mode", ["RGBA", "LA"])
def test_opaque_alpha_changes_nothing_and_is_no_flag(mode: str) -> None:
    image = Image.fromarray(picture()).convert(mode)

    decoded = read_rgb(encoded(image))

    assert np.array_equal(decoded.pixels, np.asarray(image.convert("RGB")))
    assert decoded.flags == frozenset()


@pytest.mark.parametrize("mode", ["RGB", "L", "1"])
def test_a_transparent_colour_key_shows_white(mode: str) -> None:
    pixels = np.zeros((8, 8, 3), np.uint8)
    pixels[:, 4:] = 255
    image = Image.fromarray(pixels).convert(mode)
    key = (0, 0, 0) if mode == "RGB" else 0

    decoded = read_rgb(encoded(image, transparency=key))

    assert (decoded.pixels == 255).all()
    assert decoded.flags == {"alpha_composited"}


def test_cmyk_is_converted_and_flagged() -> None:
    image = Image.fromarray(picture()).convert("CMYK")

    decoded = read_rgb(encoded(image, "TIFF"))

    assert np.array_equal(decoded.pixels, np.asarray(image.convert("RGB")))
    assert decoded.flags == {"colour_converted"}


def test_a_mode_without_a_rule_is_refused() -> None:
    lab = Image.fromarray(picture()).convert("RGB").copy()
    lab = Image.merge("LAB", lab.split())

    with pytest.raises(ImageUnreadable, match="colour mode LAB has no rule"):
        read_rgb(encoded(lab, "TIFF"))


def test_as_uint8_keeps_uint8() -> None:
    image = picture()

    assert as_uint8(image) is image


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_as_uint8_scales_unit_floats_back_exactly(dtype: type) -> None:
    levels = np.arange(256, dtype=np.uint8)

    assert np.array_equal(as_uint8((levels / 255).astype(dtype)), levels)


def test_as_uint8_takes_booleans_and_16_bit() -> None:
    assert as_uint8(np.array([True, False])).tolist() == [255, 0]
    assert as_uint8(np.array([0, 257, 65535], np.uint16)).tolist() == [0, 1, 255]


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (np.array([0.0, 200.0]), r"floats in \[0, 1\], got 0.0 to 200.0"),
        (np.array([0.0, np.nan]), r"floats in \[0, 1\], got nan"),
        (np.array([3, 4]), "uint8, uint16, bool or float.*got int64"),
    ],
    ids=["levels_as_float", "nan", "int64"],
)
def test_as_uint8_guesses_no_scale(image: np.ndarray, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        as_uint8(image)
