"""Pixels to PNG bytes, and image files to what a judge is sent."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image

from ..files import sha256_bytes
from .colour import rgb_pixels
from .opening import source_bytes
from .reading import decoded_bytes

_MIME = {"PNG": "image/png", "JPEG": "image/jpeg"}
"""Formats that judges take as they are."""

_COMPRESSION = 1
"""Lossless at every level; this one takes a fifth of the time of the default for a tenth more."""


@dataclass(frozen=True)
class EncodedImage:
    """An image as it is sent to a judge."""

    data: bytes
    mime: str
    """By content, whatever the file is called."""
    sha256: str
    """Of `data`."""
    converted: str | None
    """None when `data` are the file's own bytes, else why they are not."""


def encode_png(image: np.ndarray | Image.Image) -> bytes:
    """Encode an image losslessly as 8-bit RGB PNG.

    Args:
        image: (H, W, 3) or (H, W) uint8, or a Pillow image of any mode `read_rgb` has a rule for.

    Raises:
        ValueError: Another dtype or shape, or a mode without a rule.
    """
    if isinstance(image, Image.Image):
        image, _ = rgb_pixels(image)
    if image.dtype != np.uint8 or image.ndim not in (2, 3) or image.shape[2:] not in ((), (3,)):
        raise ValueError(
            f"expected uint8 of shape (H, W, 3) or (H, W), got {image.dtype} {image.shape}; "
            "convert it with medbench_vlmeval.images.as_uint8"
        )
    stream = io.BytesIO()
    Image.fromarray(image).convert("RGB").save(stream, "PNG", compress_level=_COMPRESSION)
    return stream.getvalue()


def encode_for_judge(path: Path | str) -> EncodedImage:
    """What a judge is sent for an image file, without enlarging or lossy recompression.

    Args:
        path: The image file.

    Returns:
        The file's own bytes when it is an ordinary 8-bit PNG or JPEG, else an 8-bit RGB PNG of what
        `read_rgb` sees: for other formats, more than 8 bits, transparency, animations, CMYK, and
        images that their EXIF data turn.

    Raises:
        ImageUnreadable: As for `read_rgb`.
        FileNotFoundError: There is no such file.
    """
    data, name = source_bytes(path)
    decoded = decoded_bytes(data, name)
    reasons = sorted(decoded.flags)
    if decoded.format not in _MIME:
        reasons.insert(0, f"format {decoded.format}")
    if not reasons:
        return EncodedImage(data, _MIME[decoded.format], decoded.sha256, None)
    png = encode_png(decoded.pixels)
    return EncodedImage(png, _MIME["PNG"], sha256_bytes(png), ", ".join(reasons))
