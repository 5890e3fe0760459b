"""PNG files: their chunks, and a faster decoder for the ordinary case.

Decoding is most of the time it takes to score an edited image. Where the extra ``fast`` is there,
pyspng nearly halves it. It is asked only for 8-bit RGB files whose checksums hold and where nothing
has to be decided; all others, and what it refuses, go to Pillow.
"""

from __future__ import annotations

import io
import logging
import os
import sys
import zlib
from collections.abc import Callable
from functools import cache

import numpy as np
from PIL import Image

logger = logging.getLogger(__name__)

DECODER_VARIABLE = "MEDBENCH_PNG_DECODER"
"""Environment variable for the decoder: ``auto`` (default), ``pyspng`` or ``pillow``."""

SIGNATURE = b"\x89PNG\r\n\x1a\n"

_CHUNK_FRAME_BYTES = 12
_HEADER_OF_8_BIT_RGB = bytes([8, 2, 0, 0, 0])
"""Bit depth, colour type, compression, filter and interlace method."""
_HARMLESS = frozenset(
    (b"IHDR", b"IDAT", b"IEND", b"pHYs", b"gAMA", b"sRGB", b"cHRM", b"iCCP", b"tIME", b"sBIT")
)
"""Chunks without a say in the pixels. Not among them: transparency, animation, EXIF, and text that
may hold EXIF."""


def chunks(data: bytes) -> dict[bytes, list[slice]]:
    """Where a PNG's chunks lie, name and content, up to and with ``IEND``, by name.

    Raises:
        OSError: The file ends before.
    """
    places: dict[bytes, list[slice]] = {}
    at = len(SIGNATURE)
    while at + _CHUNK_FRAME_BYTES <= len(data):
        end = at + _CHUNK_FRAME_BYTES + int.from_bytes(data[at : at + 4], "big")
        name = data[at + 4 : at + 8]
        places.setdefault(name, []).append(slice(at + 4, end - 4))
        if name == b"IEND":
            return places
        at = end
    raise OSError("image file is truncated")


def bit_depth(data: bytes) -> int:
    """Bits per channel of a PNG."""
    return data[24]


def ordinary_pixels(data: bytes, *, max_pixels: int) -> np.ndarray | None:
    """(H, W, 3) uint8 of a whole, ordinary 8-bit RGB PNG, equal to Pillow's.

    None for every other file, for more than `max_pixels`, and without pyspng: use Pillow then.
    """
    decode = _decoder(_requested())
    if decode is None or not data.startswith(SIGNATURE) or data[24:29] != _HEADER_OF_8_BIT_RGB:
        return None
    width, height = int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
    if width * height > max_pixels:
        return None
    try:
        places = chunks(data)
        if not _HARMLESS.issuperset(places) or not _are_intact(data, places[b"IDAT"]):
            return None
        return decode(data)
    except (OSError, KeyError, RuntimeError) as error:
        logger.debug("PNG left to Pillow: %s", error)
        return None


def _are_intact(data: bytes, places: list[slice]) -> bool:
    # pyspng does not compare the checksums.
    view = memoryview(data)
    return all(
        zlib.crc32(view[place]) == int.from_bytes(view[place.stop : place.stop + 4], "big")
        for place in places
    )


def png_decoder() -> str:
    """Name of the decoder of ordinary PNGs, ``pyspng`` or ``pillow``; both give the same pixels.

    Raises:
        ImportError: `MEDBENCH_PNG_DECODER` asks for pyspng, which is not installed.
        ValueError: `MEDBENCH_PNG_DECODER` holds another word.
    """
    return "pillow" if _decoder(_requested()) is None else "pyspng"


def _requested() -> str:
    return os.environ.get(DECODER_VARIABLE, "").strip().lower() or "auto"


@cache
def _decoder(requested: str) -> Callable[[bytes], np.ndarray] | None:
    if requested not in ("auto", "pyspng", "pillow"):
        raise ValueError(f"expected {DECODER_VARIABLE}=auto, pyspng or pillow, got {requested!r}")
    if requested == "pillow":
        return None
    try:
        return _loaded_pyspng()
    except (ImportError, RuntimeError) as error:
        if requested == "pyspng":
            raise ImportError(
                f'pyspng cannot be used ({error}): pip install "medbench-vlmeval[fast]"'
            ) from error
        return None


def _loaded_pyspng() -> Callable[[bytes], np.ndarray]:
    """The decoder, once it has decoded a picture of one pixel.

    VLMEvalKit loads libraries that bring a zlib of their own, and pyspng would call its functions
    instead of those it was built with ("zlib init error"); on Linux it is told to prefer its own.
    """
    prefers_own = getattr(os, "RTLD_DEEPBIND", 0)
    flags = sys.getdlopenflags() if prefers_own else 0
    if prefers_own:
        sys.setdlopenflags(os.RTLD_NOW | prefers_own)
    try:
        import pyspng
    finally:
        if prefers_own:
            sys.setdlopenflags(flags)
    stream = io.BytesIO()
    Image.new("RGB", (1, 1)).save(stream, "PNG")
    pyspng.load(stream.getvalue())
    decode: Callable[[bytes], np.ndarray] = pyspng.load
    return decode
