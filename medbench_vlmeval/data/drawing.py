"""Draws lesions, marks and faults with known outlines into medical images, for the sample pack.

Everything is built from sums, products and square roots of integers drawn by a seeded generator,
so that the pictures come out equal on every processor. A drawing returns new pixels and its ROI;
pixels outside the ROI are untouched.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

Pixels = NDArray[np.uint8]
"""``(H, W, 3)``, RGB."""
Roi = NDArray[np.bool_]
"""``(H, W)``, true where the picture may change."""
Weights = NDArray[np.floating[Any]]
Colour = tuple[int, int, int]
Drawing = tuple[Pixels, Roi]


def spot(
    pixels: Pixels,
    centre_xy: tuple[int, int],
    radii_xy: tuple[int, int],
    colour: Colour,
    *,
    strength: float = 1.0,
    edge: float = 2.5,
    ragged: float = 0.0,
    seed: int = 0,
) -> Drawing:
    """An elliptic spot; a small `edge` fades softly, `ragged` (0 to 1) makes the outline uneven."""
    disk_weights = _ellipse(
        pixels.shape[:2], centre_xy, radii_xy, edge=edge, ragged=ragged, seed=seed
    )
    weights = strength * disk_weights
    return _blend(pixels, colour, weights), _grown(weights > 0, 3)


def spots(
    pixels: Pixels,
    centres_xy: Sequence[tuple[int, int]],
    radius: int,
    colour: Colour,
    *,
    strength: float = 1.0,
    edge: float = 2.5,
    ragged: float = 0.0,
) -> Drawing:
    """Several round spots of one colour; the ROI is a disk around each."""
    weights = np.zeros(pixels.shape[:2])
    for seed, centre_xy in enumerate(centres_xy):
        disk_weights = _ellipse(
            pixels.shape[:2], centre_xy, (radius, radius), edge=edge, ragged=ragged, seed=seed
        )
        weights = np.maximum(weights, strength * disk_weights)
    return _blend(pixels, colour, weights), _grown(weights > 0, 3)


def stroke(
    pixels: Pixels,
    points_xy: Sequence[tuple[int, int]],
    width: int,
    colour: Colour,
    *,
    strength: float = 0.85,
) -> Drawing:
    """A pen stroke of even width through the points; the tissue shows through it."""
    distance = np.full(pixels.shape[:2], np.inf)
    for start, end in pairwise(points_xy):
        distance = np.minimum(distance, _distance_to_segment(pixels.shape[:2], start, end))
    weights = strength * np.clip((width / 2 - distance) / 2, 0, 1)
    return _blend(pixels, colour, weights), _grown(weights > 0, 3)


def bubble(pixels: Pixels, centre_xy: tuple[int, int], radius: int) -> Drawing:
    """An air bubble under the cover glass: a dark refracting rim around a brighter inside."""
    rows, columns = _grid(pixels.shape[:2])
    share = np.sqrt((columns - centre_xy[0]) ** 2 + (rows - centre_xy[1]) ** 2) / radius
    inside = _blend(pixels, (236, 238, 240), 0.45 * (share < 1))
    rim = np.clip(1 - np.abs(share - 0.93) / 0.07, 0, 1)
    return _blend(inside, (52, 50, 58), 0.9 * rim), _grown(share < 1, 3)


def shade(pixels: Pixels, roi: Roi, colour: Colour, *, strength: float, fade: int) -> Drawing:
    """An even veil of one colour over `roi`, fading in over `fade` pixels from its edge."""
    return _blend(pixels, colour, strength * _depth(roi, fade)), roi


def defocus(pixels: Pixels, roi: Roi, *, size: int, fade: int) -> Drawing:
    """The picture out of focus inside `roi`."""
    blurred = pixels.astype(np.float64)
    for _ in range(3):
        blurred = ndimage.uniform_filter(blurred, size=(size, size, 1), mode="nearest")
    weights = _depth(roi, fade)[..., None]
    return _to_pixels(pixels * (1 - weights) + blurred * weights), roi


def cover(
    pixels: Pixels, centre_xy: tuple[int, int], radius: int, source_xy: tuple[int, int]
) -> Drawing:
    """The disk around `centre_xy` covered with the tissue around `source_xy`, equally bright."""
    shift = (centre_xy[1] - source_xy[1], centre_xy[0] - source_xy[0])
    donor = np.roll(pixels, shift, axis=(0, 1)).astype(np.float64)
    weights = np.clip(2 * _ellipse(pixels.shape[:2], centre_xy, (radius, radius)), 0, 1)
    ring = (weights > 0) & (weights < 0.4)
    donor += pixels[ring].mean(axis=0) - donor[ring].mean(axis=0)
    mixed = pixels * (1 - weights[..., None]) + donor * weights[..., None]
    return _to_pixels(mixed), _grown(weights > 0, 2)


def rectangle(size_wh: tuple[int, int], box: tuple[int, int, int, int]) -> Roi:
    """The ROI of a box ``(x1, y1, x2, y2)``, right and lower edge excluded."""
    roi = np.zeros(size_wh[::-1], dtype=bool)
    roi[box[1] : box[3], box[0] : box[2]] = True
    return roi


def disk(size_wh: tuple[int, int], centre_xy: tuple[int, int], radius: int) -> Roi:
    """The ROI of a disk."""
    rows, columns = _grid(size_wh[::-1])
    return (columns - centre_xy[0]) ** 2 + (rows - centre_xy[1]) ** 2 < radius**2


def _grid(shape_hw: tuple[int, ...]) -> tuple[Weights, Weights]:
    rows, columns = np.mgrid[0 : shape_hw[0], 0 : shape_hw[1]].astype(np.float64)
    return rows, columns


def _ellipse(
    shape_hw: tuple[int, ...],
    centre_xy: tuple[int, int],
    radii_xy: tuple[int, int],
    *,
    edge: float = 2.5,
    ragged: float = 0.0,
    seed: int = 0,
) -> Weights:
    rows, columns = _grid(shape_hw)
    squared = ((columns - centre_xy[0]) / radii_xy[0]) ** 2 + (
        (rows - centre_xy[1]) / radii_xy[1]
    ) ** 2
    if ragged:
        squared = squared * (1 + ragged * _smooth_noise(shape_hw, max(3, min(radii_xy) // 2), seed))
    return np.clip((1 - squared) * edge, 0, 1)


def _smooth_noise(shape_hw: tuple[int, ...], size: int, seed: int) -> Weights:
    """Noise in [-1, 1] whose bumps are about `size` pixels wide."""
    noise = np.random.default_rng(seed).integers(-1000, 1001, size=shape_hw).astype(np.float64)
    for _ in range(2):
        noise = ndimage.uniform_filter(noise, size=size, mode="nearest")
    return noise / np.abs(noise).max()


def _distance_to_segment(
    shape_hw: tuple[int, ...], start_xy: tuple[int, int], end_xy: tuple[int, int]
) -> Weights:
    rows, columns = _grid(shape_hw)
    along_x, along_y = end_xy[0] - start_xy[0], end_xy[1] - start_xy[1]
    position = ((columns - start_xy[0]) * along_x + (rows - start_xy[1]) * along_y) / (
        along_x**2 + along_y**2
    )
    position = np.clip(position, 0, 1)
    return np.sqrt(
        (columns - start_xy[0] - position * along_x) ** 2
        + (rows - start_xy[1] - position * along_y) ** 2
    )


def _depth(roi: Roi, fade: int) -> Weights:
    """0 at the edge of `roi` (not at the edge of the picture), 1 from `fade` pixels inwards."""
    padded = np.pad(roi, fade + 1, mode="edge")
    depth = ndimage.distance_transform_edt(padded)[fade + 1 : -fade - 1, fade + 1 : -fade - 1]
    return np.clip(depth / (fade + 1), 0, 1)


def _grown(roi: Roi, by: int) -> Roi:
    return ndimage.binary_dilation(roi, iterations=by)


def _blend(pixels: Pixels, colour: Colour, weights: Weights) -> Pixels:
    weights = weights[..., None]
    return _to_pixels(pixels * (1 - weights) + np.array(colour, dtype=np.float64) * weights)


def _to_pixels(values: NDArray[np.float64]) -> Pixels:
    return np.clip(np.floor(values + 0.5), 0, 255).astype(np.uint8)
