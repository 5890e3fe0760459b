"""Degradations of a microscope slide: air and dirt under the glass, folded tissue.

Every function takes and gives ``(H, W, 3)`` uint8 pixels of any size from 1 x 1.
"""

from __future__ import annotations

import numpy as np

from .medq_degradations_general import Pixels, unit_grid, whole_grey_levels

_SCATTERED = 0.2
"""Share of the light that a further layer scatters, so that a fold shows in pale tissue too."""


def air_bubble(pixels: Pixels, *, radius_share: float, seed: int = 0) -> Pixels:
    """An air bubble under the cover glass: a dark rim around a washed-out inside.

    Args:
        pixels: The picture.
        radius_share: Radius as a share of the shorter side.
        seed: Chooses the place.
    """
    from . import drawing

    radius = max(1, round(radius_share * min(pixels.shape[:2])))
    return drawing.bubble(pixels, _place_xy(pixels, seed), radius)[0]


def dark_spot(pixels: Pixels, *, radius_share: float, seed: int = 0) -> Pixels:
    """A speck of dirt, nearly black, in the shape of three disks that touch.

    Args:
        pixels: The picture.
        radius_share: Radius of one disk as a share of the shorter side.
        seed: Chooses the place.
    """
    from . import drawing

    radius = max(1, round(radius_share * min(pixels.shape[:2])))
    x, y = _place_xy(pixels, seed)
    centres = ((x, y), (x + radius, y + radius // 3), (x + radius // 4, y - radius))
    return drawing.spots(pixels, centres, radius, (26, 20, 24), strength=0.93)[0]


def tissue_fold(pixels: Pixels, *, width_share: float, layers: int, seed: int = 0) -> Pixels:
    """A slanting band where the section lies over itself, so that light passes it more than once.

    Args:
        pixels: The picture; what light it lets through is multiplied by that of the tissue beside.
        width_share: Width of the band as a share of the picture's width.
        layers: Layers that lie on the first.
        seed: Chooses the place.
    """
    height, width = pixels.shape[:2]
    rows, columns = unit_grid((height, width))
    middle = np.random.default_rng(seed).integers(35, 56) / 100
    # A parabola instead of a sine: exact sums are the same on every processor.
    distance = np.abs(columns - middle - 0.3 * (rows - 0.5) - 0.25 * rows * (1 - rows))
    weights = np.clip((width_share / 2 - distance) * width / 3, 0, 1)[..., None]
    passed = pixels / 255
    for layer in range(1, layers + 1):
        passed = passed * np.roll(pixels, layer * max(1, width // 7), axis=1) / 255
        passed = passed * (1 - _SCATTERED)
    return whole_grey_levels(pixels * (1 - weights) + 255 * passed * weights)


def _place_xy(pixels: Pixels, seed: int) -> tuple[int, int]:
    across, down = np.random.default_rng(seed).integers(35, 66, size=2)
    return int(pixels.shape[1] * across // 100), int(pixels.shape[0] * down // 100)
