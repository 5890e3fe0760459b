"""Decoding image files to 8-bit RGB, and bringing an edited image to the size of its input."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from PIL import Image

from ..files import sha256_bytes
from . import png
from .colour import rgb_pixels
from .opening import ImageUnreadable, open_image, pixel_limit, source_bytes


@dataclass(frozen=True, eq=False)
class DecodedImage:
    """An image file as pixels, with what had to be decided on the way."""

    pixels: np.ndarray
    """(H, W, 3) uint8 RGB, read-only."""
    flags: frozenset[str]
    """Empty for an ordinary image. ``alpha_composited``: some pixels were transparent;
    ``depth_reduced``: more than 8 bits a channel; ``colour_converted``: CMYK, YCbCr or HSV;
    ``first_frame``: the other frames or pages were ignored; ``rotated``: turned by its EXIF
    orientation."""
    format: str
    """``PNG``, ``JPEG``, ``MPO``, ``WEBP``, ``GIF``, ``TIFF`` or ``BMP``, by content."""
    data: bytes = field(repr=False)
    """The file's bytes."""
    n_frames: int = 1
    """Frames or pages in the file."""

    def __post_init__(self) -> None:
        self.pixels.flags.writeable = False

    @property
    def size_wh(self) -> tuple[int, int]:
        """Width and height of `pixels`."""
        height, width = self.pixels.shape[:2]
        return width, height

    @cached_property
    def sha256(self) -> str:
        """Hex SHA-256 of the file's bytes."""
        return sha256_bytes(self.data)


def read_rgb(source: Path | str | bytes, *, max_pixels: int | None = None) -> DecodedImage:
    """Decode an image by the same rules wherever it comes from.

    Args:
        source: A file, or its bytes.
        max_pixels: Largest number of pixels to decode; None takes the environment variable
            ``MEDBENCH_MAX_PIXELS``, else 100 million.

    Raises:
        ImageUnreadable: Not a PNG, JPEG, WebP, GIF, TIFF or BMP, truncated, damaged, too many
            pixels, or samples without a stated scale. The message names the file and the reason.
        FileNotFoundError: There is no such file.

    Notes:
        8-bit ``RGB``, ``L``, ``P`` and ``1`` files give exactly Pillow's ``convert("RGB")``, as in
        the released MedEBench code. Beyond that:

        - transparency (RGBA, LA, palette or colour key) is composited over white, where plain
          Pillow shows the colour hidden below;
        - 16-bit grey is ``round(value / 257)``, where plain Pillow cuts at 255; 16-bit colour is
          the upper byte; 32-bit integers count as 16-bit ones and must lie in 0 to 65535;
        - floats in [0, 1] are multiplied by 255, other floats must lie in [0, 255]; both rounded;
        - CMYK, YCbCr and HSV are converted by Pillow's formulas; colour profiles are ignored;
        - the first frame of an animation or page of a document counts;
        - the EXIF orientation is applied.
    """
    data, name = source_bytes(source)
    return decoded_bytes(data, name, max_pixels=max_pixels)


def decoded_bytes(data: bytes, name: str, *, max_pixels: int | None = None) -> DecodedImage:
    """`read_rgb` for bytes at hand, under the name that messages use."""
    limit = pixel_limit(max_pixels)
    ordinary = png.ordinary_pixels(data, max_pixels=limit)
    if ordinary is not None:
        return DecodedImage(ordinary, frozenset(), "PNG", data)
    opened = open_image(data, name, max_pixels=limit)
    try:
        pixels, colour_flags = rgb_pixels(opened.image)
    except ValueError as error:
        raise ImageUnreadable(name, str(error)) from error
    flags = opened.flags | colour_flags
    if opened.format == "PNG" and png.bit_depth(data) == 16:
        # Pillow opens 16-bit colour as 8-bit without a word.
        flags |= {"depth_reduced"}
    return DecodedImage(pixels, flags, opened.format, data, opened.n_frames)


def resize_like(
    decoded: DecodedImage, size_wh: tuple[int, int]
) -> tuple[np.ndarray, frozenset[str]]:
    """Pixels of `decoded` at another size, as the released MedEBench code resizes them.

    Args:
        decoded: The edited image.
        size_wh: Width and height of the input image.

    Returns:
        (H, W, 3) uint8, by Pillow's bicubic filter without regard to the aspect ratio, unchanged
        when the size fits; and flags: ``size_differs``, ``aspect_differs``.
    """
    if decoded.size_wh == tuple(size_wh):
        return decoded.pixels, frozenset()
    flags = {"size_differs"}
    if not same_aspect(decoded.size_wh, size_wh):
        flags.add("aspect_differs")
    resized = Image.fromarray(decoded.pixels).resize(size_wh, Image.Resampling.BICUBIC)
    return np.asarray(resized), frozenset(flags)


def same_aspect(a_wh: tuple[int, int], b_wh: tuple[int, int]) -> bool:
    """Whether one size is the other scaled, but for rounding to whole pixels."""
    (a_width, a_height), (b_width, b_height) = a_wh, b_wh
    skew = abs(a_width * b_height - b_width * a_height)
    # Half a pixel on each side of the scaled image, times the other side of the original.
    return 2 * skew <= max(a_width + a_height, b_width + b_height)
