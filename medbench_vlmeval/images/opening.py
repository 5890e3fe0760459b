"""From bytes to a loaded Pillow image, or `ImageUnreadable` with the reason.

Pillow's process-wide switches (`Image.MAX_IMAGE_PIXELS`, `ImageFile.LOAD_TRUNCATED_IMAGES`) belong
to whoever runs the process: VLMEvalKit raises the first, some trainers set the second. They are
neither changed nor relied on here, so a file is accepted or rejected the same way everywhere.
"""

from __future__ import annotations

import io
import os
import struct
import zlib
from dataclasses import dataclass
from pathlib import Path

from PIL import (
    BmpImagePlugin,
    GifImagePlugin,
    Image,
    ImageFile,
    ImageOps,
    JpegImagePlugin,
    PngImagePlugin,
    TiffImagePlugin,
    WebPImagePlugin,
)

from .png import chunks

MAX_PIXELS_VARIABLE = "MEDBENCH_MAX_PIXELS"
"""Environment variable with the largest number of pixels that is decoded."""

DEFAULT_MAX_PIXELS = 100_000_000
"""Used when neither the call nor the environment says otherwise; 300 MB as RGB."""

_FORMATS = tuple(
    plugin.format
    for plugin in (
        PngImagePlugin.PngImageFile,
        JpegImagePlugin.JpegImageFile,
        WebPImagePlugin.WebPImageFile,
        GifImagePlugin.GifImageFile,
        TiffImagePlugin.TiffImageFile,
        BmpImagePlugin.BmpImageFile,
    )
)
_LFS_POINTER = b"version https://git-lfs"
_ORIENTATION = 0x0112

_DECODER_ERRORS = (
    OSError,
    SyntaxError,
    ValueError,
    TypeError,
    IndexError,
    KeyError,
    EOFError,
    OverflowError,
    RuntimeError,
    struct.error,
    zlib.error,
    Image.DecompressionBombError,
)
"""What Pillow's plugins raise on files that are not what they claim to be."""


class ImageUnreadable(ValueError):
    """A file that is no image we can decode; the message names the file and the reason."""

    def __init__(self, name: str, reason: str) -> None:
        # Both, so that it survives pickling on its way back from a worker.
        super().__init__(name, reason)
        self.name = name
        self.reason = reason

    def __str__(self) -> str:
        return f"{self.name}: {self.reason}"


@dataclass(frozen=True)
class OpenedImage:
    """A loaded image, upright, with what was noticed while opening it."""

    image: Image.Image
    format: str
    """``PNG``, ``JPEG``, ``MPO``, ``WEBP``, ``GIF``, ``TIFF`` or ``BMP``, by content."""
    n_frames: int
    flags: frozenset[str]
    """``first_frame`` and ``rotated``, see `reading.DecodedImage`."""


def source_bytes(source: Path | str | bytes) -> tuple[bytes, str]:
    """Bytes of a file, or the bytes given, and the name that messages use."""
    if isinstance(source, bytes):
        return source, f"image of {len(source)} bytes"
    return Path(source).read_bytes(), str(source)


def open_image(data: bytes, name: str, *, max_pixels: int | None = None) -> OpenedImage:
    """Decode the first frame of an image and turn it upright.

    Args:
        data: The file's bytes.
        name: How to call it in messages.
        max_pixels: Largest number of pixels to decode; None takes `MEDBENCH_MAX_PIXELS`, else
            100 million. Checked on the header, before anything is decoded.

    Raises:
        ImageUnreadable: Not an image, truncated, damaged, or too many pixels.
    """
    limit = pixel_limit(max_pixels)
    try:
        image = _opened(data, name)
        width, height = image.size
        if width * height > limit:
            raise ImageUnreadable(
                name,
                f"{width} x {height} = {width * height:,} pixels exceed the limit of {limit:,}; "
                f"raise it with max_pixels or the environment variable {MAX_PIXELS_VARIABLE}",
            )
        return _loaded(image)
    except ImageUnreadable:
        raise
    except _DECODER_ERRORS as error:
        reason = str(error) or type(error).__name__
        raise ImageUnreadable(name, f"truncated or damaged image ({reason})") from error


def pixel_limit(max_pixels: int | None) -> int:
    """The largest number of pixels to decode: the argument, else the environment, else the default.

    Raises:
        ValueError: The environment variable holds no whole number.
    """
    if max_pixels is not None:
        return max_pixels
    text = os.environ.get(MAX_PIXELS_VARIABLE, "").strip()
    if not text:
        return DEFAULT_MAX_PIXELS
    try:
        return int(text.replace("_", ""))
    except ValueError as error:
        raise ValueError(
            f"expected a whole number in {MAX_PIXELS_VARIABLE}, got {text!r}"
        ) from error


def _opened(data: bytes, name: str) -> ImageFile.ImageFile:
    # Not through Image.open, which compares the size with the process-wide limit and warns.
    for format_name in _FORMATS:
        factory, accepts = Image.OPEN[format_name]
        answer = accepts(data[:16]) if accepts else True
        if isinstance(answer, str):
            raise ImageUnreadable(name, answer)
        if not answer:
            continue
        if format_name == "PNG":
            _check_png(data)
        return factory(_WholeFile(data), "")
    raise ImageUnreadable(name, _why_no_image(data))


def _why_no_image(data: bytes) -> str:
    if not data:
        return "empty file"
    if data.startswith(_LFS_POINTER):
        return "a Git LFS pointer instead of the image; fetch it with: git lfs pull"
    return "not a PNG, JPEG, WebP, GIF, TIFF or BMP image"


def _check_png(data: bytes) -> None:
    chunks(data)
    if ImageFile.LOAD_TRUNCATED_IMAGES:
        # Pillow was told to fill what it cannot decode; the checksums tell damage nevertheless.
        PngImagePlugin.PngImageFile(io.BytesIO(data), "").verify()


class _WholeFile(io.BytesIO):
    """Bytes of a file that must not end before the decoder has had enough."""

    def read(self, size: int | None = -1, /) -> bytes:
        block = super().read(size)
        if not block and size is not None and size > 0:
            raise OSError("image file is truncated")
        return block


def _loaded(image: ImageFile.ImageFile) -> OpenedImage:
    flags = set()
    n_frames = getattr(image, "n_frames", 1)
    if n_frames > 1:
        flags.add("first_frame")
    # Asked before loading, which takes the answer away from TIFFs: Pillow turns those by itself.
    orientation = _orientation(image)
    image.load()
    upright: Image.Image = image
    if orientation in range(2, 9):
        flags.add("rotated")
        if image.format != "TIFF":
            upright = ImageOps.exif_transpose(image)
    return OpenedImage(upright, image.format or "", n_frames, frozenset(flags))


def _orientation(image: Image.Image) -> int:
    try:
        return int(image.getexif().get(_ORIENTATION, 1))
    except (SyntaxError, ValueError, TypeError, KeyError, struct.error):
        # Damaged metadata does not make the pixels unreadable.
        return 1
