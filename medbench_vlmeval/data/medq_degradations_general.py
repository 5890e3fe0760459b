"""Degradations that any camera or scanner may show: noise, blur, contrast, light, compression.

Every function takes and gives ``(H, W, 3)`` uint8 pixels of any size from 1 x 1 and leaves its
input alone. Sums are kept exact, or rounded to thousandths of a grey level before they become
whole, so that a tie falls the same way on every processor.
"""

from __future__ import annotations

import io
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image

Pixels = NDArray[np.uint8]
"""``(H, W, 3)``, RGB."""
Values = NDArray[np.floating[Any]]


def whole_grey_levels(values: Values) -> Pixels:
    """The values rounded to whole grey levels, cut off at 0 and 255."""
    return np.clip(np.floor(np.round(values, 3) + 0.5), 0, 255).astype(np.uint8)


def unit_grid(shape_hw: tuple[int, ...]) -> tuple[Values, Values]:
    """Row and column of every pixel, 0 to 1 from edge to edge (0 where there is only one)."""
    rows, columns = np.mgrid[0 : shape_hw[0], 0 : shape_hw[1]].astype(np.float64)
    return rows / max(shape_hw[0] - 1, 1), columns / max(shape_hw[1] - 1, 1)


def gaussian_noise(pixels: Pixels, *, sigma: float, seed: int = 0) -> Pixels:
    """Independent noise in every pixel, and in every channel of a coloured picture.

    Args:
        pixels: The picture.
        sigma: Standard deviation in grey levels.
        seed: Of the noise.
    """
    is_grey = bool((pixels == pixels[..., :1]).all())
    n_channels = 1 if is_grey else 3
    noise = np.random.default_rng(seed).standard_normal((*pixels.shape[:2], n_channels))
    return whole_grey_levels(pixels + sigma * noise)


def motion_blur(pixels: Pixels, *, length: int, degrees: float = 20.0) -> Pixels:
    """A steady move during the exposure: the mean over a straight path of whole pixels.

    Args:
        pixels: The picture; its border is continued outwards.
        length: Of the path, in pixels.
        degrees: Direction of the path, from the horizontal.
    """
    along = np.arange(length) - (length - 1) // 2
    angle = np.deg2rad(degrees)
    rights = np.rint(along * np.cos(angle)).astype(int)
    downs = np.rint(along * np.sin(angle)).astype(int)
    return _mean_of_shifted(pixels, zip(rights.tolist(), downs.tolist(), strict=True))


def defocus(pixels: Pixels, *, radius: int) -> Pixels:
    """A lens out of focus: the mean over a disk (the circle of confusion).

    Args:
        pixels: The picture; its border is continued outwards.
        radius: Of the disk, in pixels.
    """
    span = range(-radius, radius + 1)
    disk = ((x, y) for y in span for x in span if x * x + y * y <= radius * radius)
    return _mean_of_shifted(pixels, disk)


def low_contrast(pixels: Pixels, *, kept: float) -> Pixels:
    """Every channel drawn towards its mean, as by a veil of stray light.

    Args:
        pixels: The picture; a constant one stays as it is.
        kept: Share of the contrast that is left, 0 to 1.
    """
    mean = pixels.mean(axis=(0, 1))
    return whole_grey_levels(mean + kept * (pixels - mean))


def uneven_illumination(pixels: Pixels, *, drop: float, seed: int = 0) -> Pixels:
    """Light that falls off evenly towards one corner, more across the picture than down.

    Args:
        pixels: The picture; a single pixel keeps its light.
        drop: Share of the light that is missing in the darkest corner, 0 to 1.
        seed: Chooses that corner.
    """
    rows, columns = unit_grid(pixels.shape[:2])
    from_below, from_right = np.random.default_rng(seed).integers(0, 2, size=2)
    rows = 1 - rows if from_below and pixels.shape[0] > 1 else rows
    columns = 1 - columns if from_right and pixels.shape[1] > 1 else columns
    gain = 1 - drop * (0.35 * rows + 0.65 * columns)
    return whole_grey_levels(pixels * gain[..., None])


def jpeg_blocking(pixels: Pixels, *, quality: int) -> Pixels:
    """Blocks of 8 x 8 pixels from coarse rounding of their cosine transform (JPEG, and back).

    Args:
        pixels: The picture.
        quality: Of Pillow's JPEG encoder, 1 (worst) to 95.
    """
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format="JPEG", quality=quality)
    with Image.open(stream) as image:
        return np.asarray(image.convert("RGB")).copy()


def colour_cast(pixels: Pixels, *, red: float, green: float, blue: float) -> Pixels:
    """A wrong white balance: one gain for every channel, cut off at full brightness.

    Args:
        pixels: The picture.
        red: Gain of the red channel.
        green: Gain of the green channel.
        blue: Gain of the blue channel.
    """
    gains = np.array([red, green, blue], dtype=np.float64)
    return whole_grey_levels(pixels.astype(np.float64) * gains)


def _mean_of_shifted(pixels: Pixels, shifts_xy: Iterable[tuple[int, int]]) -> Pixels:
    shifts = tuple(shifts_xy)
    reach = max(max(abs(right), abs(down)) for right, down in shifts)
    padded = np.pad(pixels, ((reach, reach), (reach, reach), (0, 0)), mode="edge")
    height, width = pixels.shape[:2]
    total = np.zeros(pixels.shape, dtype=np.int64)
    for right, down in shifts:
        top, left = reach + down, reach + right
        total += padded[top : top + height, left : left + width]
    return whole_grey_levels(total / len(shifts))
