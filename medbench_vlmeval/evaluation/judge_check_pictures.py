"""The pictures a judge is tried with: blank ones, blurred ones, and the same in another format."""

from __future__ import annotations

import io
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from PIL import Image, ImageFilter

from ..files import write_bytes_atomic
from ..images import encode_for_judge, encode_png, read_rgb

JPEG_QUALITY = 95
BLUR_SHARE = 0.02
"""Radius of the blur, as a share of the shorter side."""

_GREY = 128


@dataclass(frozen=True)
class Pictures:
    """Writes pictures into a folder, one name a sample and kind; equal input gives equal bytes."""

    folder: Path

    def blank(self, name: str, like: Path) -> Path:
        """An evenly grey picture of the size of `like`.

        Raises:
            ImageUnreadable: `like` cannot be decoded.
        """
        pixels = np.full_like(read_rgb(like).pixels, _GREY)
        return write_bytes_atomic(self.folder / f"{name}_blank.png", encode_png(pixels))

    def blurred(self, name: str, source: Path) -> Path:
        """A blurred copy.

        Raises:
            ImageUnreadable: `source` cannot be decoded.
        """
        picture = Image.fromarray(read_rgb(source).pixels)
        radius = max(1.0, BLUR_SHARE * min(picture.size))
        blurred = picture.filter(ImageFilter.GaussianBlur(radius))
        return write_bytes_atomic(self.folder / f"{name}_blurred.png", encode_png(blurred))

    def in_both_formats(self, name: str, source: Path) -> tuple[Path, Path]:
        """`source` as PNG and as JPEG; the one that a judge is sent anyway is `source` itself.

        Raises:
            ImageUnreadable: `source` cannot be decoded.
        """
        if encode_for_judge(source).mime == "image/jpeg":
            png = encode_png(read_rgb(source).pixels)
            return write_bytes_atomic(self.folder / f"{name}_as.png", png), source
        stream = io.BytesIO()
        Image.fromarray(read_rgb(source).pixels).save(stream, "JPEG", quality=JPEG_QUALITY)
        return source, write_bytes_atomic(self.folder / f"{name}_as.jpg", stream.getvalue())
