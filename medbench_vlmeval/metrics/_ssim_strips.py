"""The SSIM kernel without a compiler: OpenCV's integer box filters over strips of rows.

Strips in one reused workspace keep the intermediate arrays in the processor's cache; with fresh
arrays for whole images the same operations take about twice as long.
"""

from __future__ import annotations

import cv2
import numpy as np

from ._ssim_constants import LUMINANCE_CONSTANT, STRUCTURE_CONSTANT, WINDOW, N

_STRIP_PIXELS = 20_000
_MARGIN = WINDOW // 2
_NEIGHBOURS = np.ones((WINDOW, WINDOW), np.uint8)


def similarity_sums(
    previous: np.ndarray, edited: np.ndarray, roi: np.ndarray, levels: np.ndarray
) -> tuple[float, float, int]:
    """Sums of the SSIM map of two images whose ROI is blackened on the way.

    Args:
        previous: (H, W, 3) uint8, H and W at least 7.
        edited: as `previous`.
        roi: (H, W) uint8; 0 is outside.
        levels: (256, 256) uint8, indexed by ROI value and pixel value.

    Returns:
        The sum over all windows and channels, the sum over the windows without an ROI pixel, and
        the number of windows (not times channels) without an ROI pixel.
    """
    total, context, n_context = 0.0, 0.0, 0
    height, width = roi.shape
    n_rows = height - WINDOW + 1
    strip_rows = min(n_rows, max(8, _STRIP_PIXELS // width))
    workspace = _Workspace(strip_rows, width)
    for top in range(0, n_rows, strip_rows):
        rows = slice(top, min(top + strip_rows, n_rows) + WINDOW - 1)
        x = _blackened(previous[rows], roi[rows], levels)
        y = _blackened(edited[rows], roi[rows], levels)
        similarity = workspace.similarity_map(x, y)
        free = _free_windows(roi[rows])
        n_free = int(np.count_nonzero(free))
        total += float(similarity.sum())
        n_context += n_free
        if n_free < free.size:
            similarity *= free[..., None]
        context += float(similarity.sum()) if n_free else 0.0
    return total, context, n_context


def _blackened(image: np.ndarray, roi: np.ndarray, levels: np.ndarray) -> np.ndarray:
    if not roi.any():
        return image
    blackened = cv2.bitwise_and(image, image, mask=(roi != 255).view(np.uint8))
    soft = np.flatnonzero((roi > 0) & (roi < 255))
    if soft.size:
        pixels = blackened.reshape(-1, 3)
        pixels[soft] = levels[roi.reshape(-1)[soft, None], pixels[soft]]
    return blackened


def _free_windows(roi: np.ndarray) -> np.ndarray:
    touched = cv2.dilate(roi, _NEIGHBOURS)
    return touched[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN] == 0


def _window_sums(values: np.ndarray, sums: np.ndarray) -> np.ndarray:
    cv2.boxFilter(values, cv2.CV_32S, (WINDOW, WINDOW), dst=sums, normalize=False)
    return sums[_MARGIN:-_MARGIN, _MARGIN:-_MARGIN]


class _Workspace:
    """Arrays for strips of at most `strip_rows` rows of windows, reused from strip to strip."""

    def __init__(self, strip_rows: int, width: int) -> None:
        pixels = (strip_rows + WINDOW - 1, width, 3)
        windows = (strip_rows, width - WINDOW + 1, 3)
        self._words = [np.empty(pixels, np.uint16) for _ in range(3)]
        self._sums = [np.empty(pixels, np.int32) for _ in range(4)]
        self._integers = [np.empty(windows, np.int32) for _ in range(2)]
        self._floats = [np.empty(windows, np.float64) for _ in range(3)]

    def similarity_map(self, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """SSIM of every window; valid until the next call."""
        height = x.shape[0]
        x16, y16, word = (array[:height] for array in self._words)
        sums = [array[:height] for array in self._sums]
        np.copyto(x16, x)
        np.copyto(y16, y)
        np.multiply(x16, y16, out=word)
        sum_products = _window_sums(word, sums[0])
        # Wraps below zero, and back again when squared: 255 squared is less than 2**16.
        np.subtract(x16, y16, out=word)
        np.multiply(word, word, out=word)
        sum_squares = _window_sums(word, sums[1])
        sum_x, sum_y = _window_sums(x, sums[2]), _window_sums(y, sums[3])
        return self._similarity(sum_x, sum_y, sum_products, sum_squares)

    def _similarity(
        self,
        sum_x: np.ndarray,
        sum_y: np.ndarray,
        sum_products: np.ndarray,
        sum_squares: np.ndarray,
    ) -> np.ndarray:
        # In place throughout; the four sums are used up.
        n_rows = sum_x.shape[0]
        cross, power = (array[:n_rows] for array in self._integers)
        similarity, norm, factor = (array[:n_rows] for array in self._floats)
        np.multiply(sum_x, sum_y, out=cross)
        cross *= 2
        sum_x -= sum_y
        np.multiply(sum_x, sum_x, out=power)
        covariance, variance = sum_products, sum_squares
        covariance *= 2 * N
        covariance -= cross
        variance *= N
        variance -= power
        variance += covariance
        power += cross
        np.add(cross, LUMINANCE_CONSTANT, out=similarity)
        np.add(covariance, STRUCTURE_CONSTANT, out=factor)
        similarity *= factor
        np.add(power, LUMINANCE_CONSTANT, out=norm)
        np.add(variance, STRUCTURE_CONSTANT, out=factor)
        norm *= factor
        similarity /= norm
        return similarity
