"""The size at which a host's model wrapper really sends an image, where its settings tell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

QWEN_2_FACTOR = 28
"""Sides of images for Qwen2-VL and Qwen2.5-VL are multiples of two patches of 14 pixels."""


def patch_aligned_size_wh(
    size_wh: tuple[int, int], *, min_pixels: int, max_pixels: int, factor: int = QWEN_2_FACTOR
) -> tuple[int, int]:
    """Width and height after the resize of Qwen's image processors.

    Both sides become multiples of `factor`, the area lies within the limits, and the proportions
    are kept as far as that allows.

    Args:
        size_wh: of the image file.
        min_pixels: smallest area; smaller images are enlarged.
        max_pixels: largest area.
        factor: what both sides must be a multiple of.

    Notes:
        336 x 336 stays as it is by the checkpoints' own limits (3136 pixels and more), becomes
        448 x 448 with ``min_pixels = 256 * 28 * 28``, and 1008 x 1008 with VLMEvalKit's
        ``1280 * 28 * 28``.
    """
    width, height = size_wh
    aligned = tuple(max(factor, round(side / factor) * factor) for side in size_wh)
    area = aligned[0] * aligned[1]
    if area > max_pixels:
        shrink = math.sqrt(width * height / max_pixels)
        return _multiples(width / shrink, height / shrink, factor, math.floor)
    if area < min_pixels:
        enlarge = math.sqrt(min_pixels / (width * height))
        return _multiples(width * enlarge, height * enlarge, factor, math.ceil)
    return aligned[0], aligned[1]


def _multiples(width: float, height: float, factor: int, rounded: Any) -> tuple[int, int]:
    sides = [max(factor, rounded(side / factor) * factor) for side in (width, height)]
    return sides[0], sides[1]


def pixel_limits(settings: Mapping[str, Any]) -> tuple[int, int] | None:
    """Smallest and largest area out of a zoo entry's arguments; None when it sets no smallest."""
    smallest = settings.get("min_pixels")
    if not isinstance(smallest, int):
        return None
    largest = settings.get("max_pixels")
    return smallest, largest if isinstance(largest, int) else 16384 * 28 * 28
