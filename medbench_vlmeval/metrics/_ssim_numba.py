"""The compiled SSIM kernel: one pass over two blackened images with exact integer sums.

Imported by `ssim` only when it is wanted. Every intermediate is cast back to int32, because numba
widens int32 arithmetic to int64, which halves the number of lanes of a vector register. All of them
fit: the largest, 49 times the sum of 98 squares of 255, is 3.2e8. `parallel=True` is left out on
purpose: it does not pay at these sizes, and it hands empty row ranges to workers on tiny images.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numba
import numpy as np
from numba import njit
from numpy import float64, int32
from platformdirs import user_cache_path

from ._ssim_constants import LUMINANCE_CONSTANT, STRUCTURE_CONSTANT

logger = logging.getLogger(__name__)

_OPTIONS: dict[str, Any] = {
    "nogil": True,
    "error_model": "numpy",
    # Only lets the sum along a row be reordered, without which it is not vectorised.
    "fastmath": {"reassoc", "nsz"},
}


@contextmanager
def _cache_of_our_own() -> Iterator[None]:
    # Beside the module, numba's files would outlive `pip uninstall`. The setting is numba's for the
    # whole process, so it is ours only while our functions are declared.
    config: Any = numba.config
    chosen = config.CACHE_DIR
    config.CACHE_DIR = chosen or str(user_cache_path("medbench_vlmeval") / "numba")
    try:
        yield
    finally:
        config.CACHE_DIR = chosen


def _cache_is_possible() -> bool:
    def probe() -> None: ...

    try:
        with _cache_of_our_own():
            njit(cache=True)(probe)
    except RuntimeError:
        logger.info(
            "numba finds no writable folder for its cache, so every process compiles the SSIM "
            "kernel anew (seconds); set NUMBA_CACHE_DIR to a writable folder to keep it"
        )
        return False
    return True


_CACHE = _cache_is_possible()


def _compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    with _cache_of_our_own():
        return njit(cache=_CACHE, **_OPTIONS)(function)


@_compiled
def _window(columns, at):
    # Seven neighbours of one channel; the channels are interleaved, hence the stride of 3.
    first = int32(int32(columns[at] + columns[at + 3]) + int32(columns[at + 6] + columns[at + 9]))
    return int32(first + int32(int32(columns[at + 12] + columns[at + 15]) + columns[at + 18]))


@_compiled
def _similarity(means, squares, products, at):
    both = _window(means, at)
    sum_x = int32(both & int32(0xFFFF))
    sum_y = int32(both >> int32(16))
    cross = int32(int32(2) * int32(sum_x * sum_y))
    difference = int32(sum_x - sum_y)
    power = int32(difference * difference)
    covariance = int32(int32(int32(98) * _window(products, at)) - cross)
    variance = int32(int32(int32(int32(49) * _window(squares, at)) - power) + covariance)
    upper = (float64(cross) + LUMINANCE_CONSTANT) * (float64(covariance) + STRUCTURE_CONSTANT)
    lower = (float64(int32(power + cross)) + LUMINANCE_CONSTANT) * (
        float64(variance) + STRUCTURE_CONSTANT
    )
    return upper / lower


@_compiled
def _row_sum(means, squares, products):
    total = 0.0
    for at in range(means.size - 18):
        total += _similarity(means, squares, products, at)
    return total


@_compiled
def _row_sums(means, squares, products, free):
    total, context = 0.0, 0.0
    for at in range(means.size - 18):
        value = _similarity(means, squares, products, at)
        total += value
        context += value * free[at]
    return total, context


@_compiled
def _slide(x, y, old_x, old_y, means, squares, products):
    # Both means share a word, y above x: a window's sum is at most 49 * 255 < 2**15.
    for at in range(x.size):
        a, b, c, d = int32(x[at]), int32(y[at]), int32(old_x[at]), int32(old_y[at])
        means[at] = int32(means[at] + int32(int32(a - c) + int32(int32(b - d) * int32(65536))))
        new, old = int32(a - b), int32(c - d)
        squares[at] = int32(squares[at] + int32(int32(new * new) - int32(old * old)))
        products[at] = int32(products[at] + int32(int32(a * b) - int32(c * d)))


@_compiled
def _copy_row(row, copy):
    for at in range(row.size):
        copy[at] = row[at]


@_compiled
def _blacken(row, roi_row, levels):
    for column in range(roi_row.size):
        weight = roi_row[column]
        if weight != 0:
            for at in range(3 * column, 3 * column + 3):
                row[at] = levels[weight, row[at]]


@_compiled
def _count_roi(roi_row, roi_in_column, step):
    # Adds `step` to the columns with an ROI pixel and returns how many there are, times `step`.
    n = int32(0)
    for column in range(roi_row.size):
        inside = int32(int32(roi_row[column] != 0) * step)
        n = int32(n + inside)
        roi_in_column[column] = int32(roi_in_column[column] + inside)
    return n


@_compiled
def _mark_free(roi_in_column, free):
    # Writes 1.0 for each window (times three channels) without an ROI pixel, 0.0 for the others.
    n_free = 0
    inside = 0
    for column in range(6):
        inside += roi_in_column[column]
    for left in range(roi_in_column.size - 6):
        inside += roi_in_column[left + 6]
        is_free = inside == 0
        n_free += is_free
        for channel in range(3):
            free[3 * left + channel] = float64(is_free)
        inside -= roi_in_column[left]
    return n_free


@_compiled
def similarity_sums(
    previous: np.ndarray, edited: np.ndarray, roi: np.ndarray, levels: np.ndarray
) -> tuple[float, float, int]:
    """Sums of the SSIM map of two images whose ROI is blackened on the way.

    Args:
        previous: (H, W, 3) uint8, C-contiguous, H and W at least 7.
        edited: as `previous`.
        roi: (H, W) uint8; 0 is outside.
        levels: (256, 256) uint8, indexed by ROI value and pixel value.

    Returns:
        The sum over all windows and channels, the sum over the windows without an ROI pixel, and
        the number of windows (not times channels) without an ROI pixel.
    """
    height, width = roi.shape
    flat_previous, flat_edited = previous.reshape(height, -1), edited.reshape(height, -1)
    sums = np.zeros((3, 3 * width), int32)
    # The last seven blackened rows of both images, and a slot for the row that comes in.
    x, y = np.zeros((8, 3 * width), np.uint8), np.zeros((8, 3 * width), np.uint8)
    roi_in_column = np.zeros(width, int32)
    free = np.ones(3 * (width - 6), float64)
    total, context, n_context, near_roi = 0.0, 0.0, 0, 0
    for row in range(height):
        new, old = row % 8, (row + 1) % 8
        _copy_row(flat_previous[row], x[new])
        _copy_row(flat_edited[row], y[new])
        if _count_roi(roi[row], roi_in_column, int32(1)):
            near_roi = row + 7
            _blacken(x[new], roi[row], levels)
            _blacken(y[new], roi[row], levels)
        _slide(x[new], y[new], x[old], y[old], sums[0], sums[1], sums[2])
        if row >= 7:
            _count_roi(roi[row - 7], roi_in_column, int32(-1))
        if row >= 6 and row < near_roi:
            n_context += _mark_free(roi_in_column, free)
            row_total, row_context = _row_sums(sums[0], sums[1], sums[2], free)
            total += row_total
            context += row_context
        elif row >= 6:
            n_context += width - 6
            row_total = _row_sum(sums[0], sums[1], sums[2])
            total += row_total
            context += row_total
    return total, context, n_context
