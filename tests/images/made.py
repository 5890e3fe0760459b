"""Image files made in memory for the tests."""

from __future__ import annotations

import io
import struct
import zlib
from typing import Any

import numpy as np
from PIL import Image


def encoded(image: Image.Image, format_name: str = "PNG", **options: Any) -> bytes:
    stream = io.BytesIO()
    image.save(stream, format_name, **options)
    return stream.getvalue()


def picture(width: int = 40, height: int = 30, seed: int = 0) -> np.ndarray:
    """Smooth colours with some noise, so that every channel and filter is exercised."""
    rows, columns = np.mgrid[0:height, 0:width]
    colours = np.stack([3 * rows + columns, 200 - 2 * rows, 5 * columns], axis=-1)
    noise = np.random.default_rng(seed).integers(0, 9, (height, width, 3))
    return (np.abs(colours + noise) % 256).astype(np.uint8)


def png_chunk(name: bytes, content: bytes = b"") -> bytes:
    body = name + content
    return struct.pack(">I", len(content)) + body + struct.pack(">I", zlib.crc32(body))


def with_chunk(png: bytes, name: bytes, content: bytes) -> bytes:
    """A PNG with a chunk added behind its header."""
    return png[:33] + png_chunk(name, content) + png[33:]


def bilevel_png(width: int, height: int) -> bytes:
    """A black PNG of mode 1, without building its pixels in memory."""
    compressor = zlib.compressobj()
    row = bytes(1 + (width + 7) // 8)
    body = b"".join([compressor.compress(row * height), compressor.flush()])
    header = struct.pack(">IIBBBBB", width, height, 1, 0, 0, 0, 0)
    signature = b"\x89PNG\r\n\x1a\n"
    return signature + png_chunk(b"IHDR", header) + png_chunk(b"IDAT", body) + png_chunk(b"IEND")
