from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.files import sha256_bytes
from medbench_vlmeval.images import ImageUnreadable, encode_for_judge, encode_png, read_rgb

from .made import encoded, picture


def written(tmp_path: Path, data: bytes, name: str = "x.png") -> Path:
    path = tmp_path / name
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("size", [(1, 1), (40, 30)])
def test_encode_png_is_lossless(size: tuple[int, int]) -> None:
    pixels = picture(*size)

    data = encode_png(pixels)

    assert np.array_equal(read_rgb(data).pixels, pixels)
    assert data == encode_png(pixels)


def test_encode_png_takes_grey_arrays_and_pillow_images() -> None:
    grey = picture()[..., 0]
    transparent = Image.new("RGBA", (4, 4), (9, 9, 9, 0))

    assert np.array_equal(read_rgb(encode_png(grey)).pixels[..., 2], grey)
    assert (read_rgb(encode_png(transparent)).pixels == 255).all()
    assert Image.open(io.BytesIO(encode_png(Image.fromarray(grey)))).mode == "RGB"


@pytest.mark.parametrize(
    "image", [np.zeros((4, 4, 3)), np.zeros((4, 4, 4), np.uint8), np.zeros(4, np.uint8)]
)
def test_encode_png_refuses_other_arrays(image: np.ndarray) -> None:
    with pytest.raises(ValueError, match="expected uint8 of shape"):
        encode_png(image)


@pytest.mark.parametrize(
    ("data", "mime"),
    [
        pytest.param(encoded(Image.fromarray(picture())), "image/png", id="rgb_png"),
        pytest.param(encoded(Image.fromarray(picture()), "JPEG"), "image/jpeg", id="rgb_jpeg"),
        pytest.param(encoded(Image.fromarray(picture()).convert("L")), "image/png", id="grey_png"),
        pytest.param(encoded(Image.fromarray(picture()).quantize(8)), "image/png", id="palette"),
        pytest.param(
            encoded(Image.fromarray(picture()).convert("RGBA")), "image/png", id="opaque_rgba"
        ),
    ],
)
def test_ordinary_files_reach_the_judge_byte_by_byte(
    data: bytes, mime: str, tmp_path: Path
) -> None:
    sent = encode_for_judge(written(tmp_path, data, "x.tif"))

    assert (sent.data, sent.mime, sent.converted) == (data, mime, None)
    assert sent.sha256 == sha256_bytes(data)


def rotated_jpeg() -> bytes:
    exif = Image.Exif()
    exif[0x0112] = 6
    return encoded(Image.fromarray(picture()), "JPEG", exif=exif)


@pytest.mark.parametrize(
    ("data", "why"),
    [
        pytest.param(rotated_jpeg(), "rotated", id="rotated_jpeg"),
        pytest.param(encoded(Image.fromarray(picture()), "TIFF"), "format TIFF", id="tiff"),
        pytest.param(
            encoded(Image.fromarray(picture()).convert("CMYK"), "JPEG"), "colour_converted",
            id="cmyk_jpeg",
        ),
        pytest.param(
            encoded(Image.fromarray(np.zeros((4, 4), np.uint16))), "depth_reduced", id="deep_png"
        ),
        pytest.param(encoded(Image.new("RGBA", (4, 4))), "alpha_composited", id="transparent"),
        pytest.param(
            encoded(
                Image.new("P", (4, 4)),
                "GIF",
                save_all=True,
                append_images=[Image.new("L", (4, 4), 9)],
            ),
            "format GIF, first_frame",
            id="animation",
        ),
    ],
)  # fmt: skip
def test_other_files_reach_the_judge_as_lossless_png(data: bytes, why: str, tmp_path: Path) -> None:
    sent = encode_for_judge(written(tmp_path, data))

    assert sent.converted == why
    assert sent.mime == "image/png"
    assert sent.sha256 == sha256_bytes(sent.data)
    assert np.array_equal(read_rgb(sent.data).pixels, read_rgb(data).pixels)
    with Image.open(io.BytesIO(sent.data)) as image:
        assert (image.format, image.mode) == ("PNG", "RGB")


def test_an_unreadable_file_is_not_sent(tmp_path: Path) -> None:
    path = written(tmp_path, encoded(Image.fromarray(picture()))[:-20])

    with pytest.raises(ImageUnreadable, match=r"x\.png.*truncated"):
        encode_for_judge(path)
