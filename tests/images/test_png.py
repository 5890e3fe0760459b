"""pyspng, where it is used, and Pillow must not be told apart by any outcome."""

from __future__ import annotations

import io
import random
import struct
import sys
from collections.abc import Iterator

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.images import ImageUnreadable, png, png_decoder, read_rgb

from .made import encoded, picture, with_chunk

VARIABLE = png.DECODER_VARIABLE


@pytest.fixture(autouse=True)
def _forget_choice() -> Iterator[None]:
    png._decoder.cache_clear()
    yield
    png._decoder.cache_clear()


def outcome(data: bytes, decoder: str, monkeypatch: pytest.MonkeyPatch) -> object:
    monkeypatch.setenv(VARIABLE, decoder)
    try:
        decoded = read_rgb(data)
    except ImageUnreadable:
        return "unreadable"
    return decoded.pixels.tobytes(), decoded.size_wh, decoded.flags, decoded.format


@pytest.fixture
def _with_pyspng() -> None:
    pytest.importorskip("pyspng")


@pytest.mark.usefixtures("_with_pyspng")
@pytest.mark.parametrize("level", [0, 1, 6, 9])
def test_every_size_and_filter_decodes_alike(level: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed, (width, height) in enumerate([(1, 1), (3, 50), (64, 64), (129, 33)]):
        data = encoded(Image.fromarray(picture(width, height, seed)), compress_level=level)
        monkeypatch.setenv(VARIABLE, "pyspng")
        assert png.ordinary_pixels(data, max_pixels=10**6) is not None
        assert outcome(data, "pyspng", monkeypatch) == outcome(data, "pillow", monkeypatch)


@pytest.mark.usefixtures("_with_pyspng")
def test_colour_metadata_leave_the_pixels_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    data = encoded(Image.fromarray(picture()), dpi=(72, 72), icc_profile=b"made up")
    data = with_chunk(data, b"gAMA", struct.pack(">I", 100_000))
    data = with_chunk(data, b"sRGB", b"\x00")
    monkeypatch.setenv(VARIABLE, "pyspng")

    assert np.array_equal(png.ordinary_pixels(data, max_pixels=10**6), picture())
    assert outcome(data, "pyspng", monkeypatch) == outcome(data, "pillow", monkeypatch)


@pytest.mark.usefixtures("_with_pyspng")
@pytest.mark.parametrize(
    "data",
    [
        pytest.param(encoded(Image.fromarray(picture()), "JPEG"), id="jpeg"),
        pytest.param(encoded(Image.fromarray(picture()).convert("RGBA")), id="rgba"),
        pytest.param(encoded(Image.fromarray(picture()).convert("L")), id="grey"),
        pytest.param(encoded(Image.fromarray(picture()).quantize(9)), id="palette"),
        pytest.param(
            encoded(Image.fromarray(picture()), transparency=(0, 200, 0)), id="colour_key"
        ),
        pytest.param(
            encoded(
                Image.fromarray(picture()),
                save_all=True,
                append_images=[Image.new("RGB", (40, 30))],
            ),
            id="animation",
        ),
        pytest.param(
            with_chunk(encoded(Image.fromarray(picture())), b"tEXt", b"Comment\x00hello"),
            id="text",
        ),
    ],
)
def test_everything_else_is_left_to_pillow(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "pyspng")

    assert png.ordinary_pixels(data, max_pixels=10**6) is None
    assert outcome(data, "pyspng", monkeypatch) == outcome(data, "pillow", monkeypatch)


@pytest.mark.usefixtures("_with_pyspng")
def test_truncated_and_flipped_bits_end_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    chance = random.Random(5)
    whole = encoded(Image.fromarray(picture(60, 50)))
    damaged = [whole[: chance.randrange(len(whole))] for _ in range(60)]
    for _ in range(120):
        flipped = bytearray(whole)
        flipped[chance.randrange(8, len(whole))] ^= 1 << chance.randrange(8)
        damaged.append(bytes(flipped))

    fast = [outcome(data, "pyspng", monkeypatch) for data in damaged]

    assert fast == [outcome(data, "pillow", monkeypatch) for data in damaged]
    assert fast.count("unreadable") > 100


@pytest.mark.usefixtures("_with_pyspng")
def test_the_limit_holds_before_anything_is_decoded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "pyspng")
    data = encoded(Image.fromarray(picture()))

    assert png.ordinary_pixels(data, max_pixels=1199) is None
    with pytest.raises(ImageUnreadable, match="exceed the limit"):
        read_rgb(data, max_pixels=1199)


def test_a_pyspng_that_cannot_decode_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        @staticmethod
        def load(data: bytes) -> None:
            raise RuntimeError("could not decode image: zlib init error")

    monkeypatch.setitem(sys.modules, "pyspng", Broken)
    monkeypatch.setenv(VARIABLE, "auto")
    assert png_decoder() == "pillow"
    monkeypatch.setenv(VARIABLE, "pyspng")
    with pytest.raises(ImportError, match="zlib init error"):
        png_decoder()


def test_without_pyspng_pillow_decodes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    monkeypatch.setitem(sys.modules, "pyspng", None)
    data = encoded(Image.fromarray(picture()))

    assert png_decoder() == "pillow"
    assert np.array_equal(read_rgb(data).pixels, np.asarray(Image.open(io.BytesIO(data))))


def test_asking_for_absent_pyspng_names_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "pyspng")
    monkeypatch.setitem(sys.modules, "pyspng", None)

    with pytest.raises(ImportError, match=r'pip install "medbench-vlmeval\[fast\]"'):
        png_decoder()


def test_an_unknown_decoder_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(VARIABLE, "opencv")

    with pytest.raises(ValueError, match="auto, pyspng or pillow, got 'opencv'"):
        png_decoder()
