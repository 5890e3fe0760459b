from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageFile

from medbench_vlmeval.files import sha256_bytes
from medbench_vlmeval.images import ImageUnreadable, read_rgb, resize_like, same_aspect

from .made import bilevel_png, encoded, picture

EXIF_ORIENTATION = 0x0112

ORDINARY = {
    "rgb_png": encoded(Image.fromarray(picture())),
    "rgb_jpeg": encoded(Image.fromarray(picture()), "JPEG", quality=80),
    "rgb_webp": encoded(Image.fromarray(picture()), "WEBP", lossless=True),
    "rgb_tiff": encoded(Image.fromarray(picture()), "TIFF"),
    "rgb_tiff_lzw": encoded(Image.fromarray(picture()), "TIFF", compression="tiff_lzw"),
    "rgb_bmp": encoded(Image.fromarray(picture()), "BMP"),
    "grey_png": encoded(Image.fromarray(picture()).convert("L")),
    "grey_jpeg": encoded(Image.fromarray(picture()).convert("L"), "JPEG"),
    "palette_png": encoded(Image.fromarray(picture()).quantize(16)),
    "gif": encoded(Image.fromarray(picture()).quantize(16), "GIF"),
    "bilevel_png": encoded(Image.fromarray(picture()).convert("1")),
}


@pytest.fixture(params=["pyspng", "pillow"], autouse=True)
def decoder(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    if request.param == "pyspng":
        pytest.importorskip("pyspng")
    monkeypatch.setenv("MEDBENCH_PNG_DECODER", request.param)
    return request.param


@pytest.mark.parametrize("data", ORDINARY.values(), ids=ORDINARY.keys())
def test_ordinary_files_decode_as_pillow_decodes_them(data: bytes, tmp_path: Path) -> None:
    path = tmp_path / "image.bin"
    path.write_bytes(data)

    decoded = read_rgb(path)

    with Image.open(path) as image:
        assert np.array_equal(decoded.pixels, np.asarray(image.convert("RGB")))
        assert decoded.format == image.format
    assert decoded.flags == frozenset()
    assert decoded.size_wh == (40, 30)
    assert decoded.sha256 == sha256_bytes(data)
    assert decoded.pixels.dtype == np.uint8
    assert not decoded.pixels.flags.writeable


def test_bytes_and_text_paths_are_read_too(tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(ORDINARY["rgb_png"])

    by_path, by_bytes = read_rgb(str(path)), read_rgb(ORDINARY["rgb_png"])

    assert np.array_equal(by_path.pixels, by_bytes.pixels)


def test_an_absent_file_is_an_absent_file(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        read_rgb(tmp_path / "none.png")


@pytest.mark.parametrize("orientation", range(2, 9))
@pytest.mark.parametrize(
    ("format_name", "options"),
    [
        ("JPEG", {}),
        ("PNG", {}),
        ("WEBP", {"lossless": True}),
        ("TIFF", {}),
        ("TIFF", {"compression": "tiff_lzw"}),
    ],
    ids=["jpeg", "png", "webp", "tiff", "tiff_lzw"],
)
def test_exif_orientation_is_applied_and_flagged(
    format_name: str, options: dict[str, Any], orientation: int
) -> None:
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = orientation
    data = encoded(Image.fromarray(picture()), format_name, exif=exif, **options)
    upright = {
        2: np.fliplr, 3: lambda p: np.rot90(p, 2), 4: np.flipud, 5: lambda p: p.transpose(1, 0, 2),
        6: lambda p: np.rot90(p, -1), 7: lambda p: np.rot90(p, 2).transpose(1, 0, 2),
        8: np.rot90,
    }[orientation]  # fmt: skip
    plain = read_rgb(encoded(Image.fromarray(picture()), format_name, **options)).pixels

    decoded = read_rgb(data)

    assert decoded.flags == {"rotated"}
    assert np.array_equal(decoded.pixels, upright(plain))


def test_the_normal_orientation_is_no_flag() -> None:
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = 1

    assert read_rgb(encoded(Image.fromarray(picture()), "JPEG", exif=exif)).flags == frozenset()


def test_damaged_exif_does_not_cost_the_image() -> None:
    data = encoded(Image.fromarray(picture()), "JPEG", exif=b"Exif\x00\x00not a TIFF header")

    assert read_rgb(data).size_wh == (40, 30)


@pytest.mark.parametrize("format_name", ["PNG", "JPEG", "GIF", "TIFF", "BMP", "WEBP"])
@pytest.mark.parametrize("accept_truncated", [False, True], ids=["strict", "lenient_pillow"])
def test_truncated_files_are_refused_whatever_pillow_was_told(
    format_name: str, accept_truncated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", accept_truncated)
    # Noise, so that nothing of it can be guessed.
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3)).astype(np.uint8)
    data = encoded(Image.fromarray(noise), format_name)
    assert read_rgb(data).size_wh == (64, 64)
    for share in (0.02, 0.3, 0.6, 0.9):
        with pytest.raises(ImageUnreadable):
            read_rgb(data[: int(share * len(data))])
    assert accept_truncated == ImageFile.LOAD_TRUNCATED_IMAGES


@pytest.mark.parametrize("n_missing", [1, 12, 14])
def test_a_png_without_its_end_is_truncated(n_missing: int) -> None:
    data = ORDINARY["grey_png"]

    with pytest.raises(ImageUnreadable, match="truncated"):
        read_rgb(data[:-n_missing])


@pytest.mark.parametrize("accept_truncated", [False, True], ids=["strict", "lenient_pillow"])
def test_a_damaged_png_is_refused_whatever_pillow_was_told(
    accept_truncated: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ImageFile, "LOAD_TRUNCATED_IMAGES", accept_truncated)
    data = bytearray(encoded(Image.fromarray(picture(200, 150))))
    data[len(data) // 2] ^= 0xFF

    with pytest.raises(ImageUnreadable):
        read_rgb(bytes(data))


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        pytest.param(b"", "empty file", id="empty"),
        pytest.param(b"<html>not found</html>", "not a PNG, JPEG, WebP, GIF", id="web_page"),
        pytest.param(b"version https://git-lfs.github.com/spec/v1\n", "git lfs pull", id="lfs"),
        pytest.param(b"\x89PNG\r\n\x1a\n", "truncated", id="signature_only"),
        pytest.param(b"GIF89a", "truncated or damaged", id="gif_header_only"),
        pytest.param(b"BM" + bytes(20), "truncated or damaged", id="bmp_of_zeros"),
        pytest.param(b"II*\x00" + bytes(20), "truncated or damaged", id="tiff_of_zeros"),
    ],
)
def test_what_is_no_image_is_named_with_its_reason(
    data: bytes, reason: str, tmp_path: Path
) -> None:
    path = tmp_path / "sample_12.png"
    path.write_bytes(data)

    with pytest.raises(ImageUnreadable, match=reason) as caught:
        read_rgb(path)

    assert str(path) in str(caught.value)
    assert caught.value.name == str(path)


def test_the_error_survives_a_worker_process() -> None:
    error = ImageUnreadable("12_0.png", "empty file")

    copy = pickle.loads(pickle.dumps(error))

    assert (type(copy), str(copy), copy.reason) == (ImageUnreadable, str(error), "empty file")


@pytest.mark.parametrize("process_wide", [None, 10, 1_000_000_000])
def test_the_pixel_limit_is_ours_not_pillows(
    process_wide: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", process_wide)
    data = ORDINARY["rgb_png"]

    assert read_rgb(data).size_wh == (40, 30)
    assert read_rgb(data, max_pixels=1200).size_wh == (40, 30)
    with pytest.raises(ImageUnreadable, match="40 x 30 = 1,200 pixels exceed the limit of 1,199"):
        read_rgb(data, max_pixels=1199)
    assert process_wide == Image.MAX_IMAGE_PIXELS


def test_the_environment_sets_the_pixel_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEDBENCH_MAX_PIXELS", "1_000")
    with pytest.raises(ImageUnreadable, match=r"raise it with max_pixels.*MEDBENCH_MAX_PIXELS"):
        read_rgb(ORDINARY["grey_jpeg"])
    assert read_rgb(ORDINARY["grey_jpeg"], max_pixels=2000).size_wh == (40, 30)

    monkeypatch.setenv("MEDBENCH_MAX_PIXELS", "many")
    with pytest.raises(ValueError, match="whole number in MEDBENCH_MAX_PIXELS, got 'many'"):
        read_rgb(ORDINARY["grey_jpeg"])


def test_fifty_megapixels_are_decoded_by_default() -> None:
    assert read_rgb(bilevel_png(10_000, 5_000)).size_wh == (10_000, 5_000)


def test_resize_like_is_pillows_bicubic() -> None:
    decoded = read_rgb(ORDINARY["rgb_png"])
    expected = np.asarray(Image.fromarray(picture()).resize((60, 45), Image.Resampling.BICUBIC))

    pixels, flags = resize_like(decoded, (60, 45))

    assert np.array_equal(pixels, expected)
    assert flags == {"size_differs"}


def test_resize_like_leaves_the_right_size_alone() -> None:
    decoded = read_rgb(ORDINARY["rgb_png"])

    pixels, flags = resize_like(decoded, (40, 30))

    assert pixels is decoded.pixels
    assert flags == frozenset()


def test_resize_like_squeezes_and_says_so() -> None:
    pixels, flags = resize_like(read_rgb(ORDINARY["rgb_png"]), (40, 40))

    assert pixels.shape == (40, 40, 3)
    assert flags == {"size_differs", "aspect_differs"}


@pytest.mark.parametrize(
    ("a_wh", "b_wh", "same"),
    [
        ((512, 275), (1024, 549), True),
        ((512, 275), (512, 272), False),
        ((512, 512), (1024, 1024), True),
        ((336, 512), (512, 336), False),
        ((32, 32), (32, 30), False),
        ((600, 401), (512, 342), True),
    ],
)
def test_same_aspect_allows_for_rounding_only(
    a_wh: tuple[int, int], b_wh: tuple[int, int], same: bool
) -> None:
    assert same_aspect(a_wh, b_wh) == same_aspect(b_wh, a_wh) == same
