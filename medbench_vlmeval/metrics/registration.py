"""Is the edited image aligned with its input? Whole-image shifts and black bands.

Both lower every pixel-wise score without any edit being wrong: ICEdit's published outputs, for
instance, end in black rows and sit a few pixels too high.
"""

from __future__ import annotations

from functools import cached_property
from typing import NamedTuple

import cv2
import numpy as np

from ._translation import TranslationFit, fine_detail
from .ssim import check_edit_arrays

_WORKING_SIDE = 256
"""Images are reduced to this long side; a pixel of a 512-pixel image is half a pixel there."""
_LARGEST_SHIFT = 0.1
"""Of a side; larger shifts are not looked for."""
_MARGIN = 8
"""Working pixels left out along the frame, where a shifted image holds padding."""
_ROI_MARGIN = 9
"""Side of the dilation of the ROI in working pixels: the detail filter smears the edit outwards."""
_FAINT = 1e-2
_FEWEST_PIXELS = 200
_SMALLEST_SIDE = 32

_LEAST_CONFIDENCE = 0.1
_LEAST_PIXELS = 0.75
_LEAST_SHARE = 0.0015

_BLACK = 4
"""Largest level that counts as black in a band."""


class Shift(NamedTuple):
    """A translation of the whole image, in pixels of the input."""

    dx: float
    """Positive when the content of the edited image lies further right."""
    dy: float
    """Positive when it lies further down."""
    confidence: float
    """In [0, 1]: the share of the mismatch outside the ROI that the translation explains."""


_NO_SHIFT = Shift(0.0, 0.0, 0.0)


def estimated_shift(previous: np.ndarray, edited: np.ndarray, roi: np.ndarray) -> Shift:
    """Translation of the surroundings of the ROI from `previous` to `edited`.

    Args:
        previous: (H, W, 3) uint8 RGB.
        edited: As `previous`, already of the same size.
        roi: (H, W) uint8; pixels above 0 are left out.

    Returns:
        The shift, up to a tenth of each side. Zero with confidence 0 when nothing can be said: an
        image below 32 pixels, too little outside the ROI, or no detail there.

    Raises:
        ValueError: Another dtype or shape.

    Notes:
        Phase correlation of the fine detail at reduced size proposes a whole-pixel shift; a least
        squares fit of gain and translation then decides between it and no shift, and refines it to
        a fraction of a pixel. A zoom or a local warp is not a translation and may be reported as
        one with the confidence it earns.
    """
    check_edit_arrays(previous, edited, roi)
    return ShiftReference(previous, roi).shift_of(edited)


def is_shifted(shift: Shift, size_wh: tuple[int, int]) -> bool:
    """Whether a shift is large and sure enough to be told to a reader.

    Args:
        shift: What `estimated_shift` found.
        size_wh: Width and height of the input; the working resolution, hence the smallest shift
            that can be trusted, scales with its long side.
    """
    least = max(_LEAST_PIXELS, _LEAST_SHARE * max(size_wh))
    return shift.confidence >= _LEAST_CONFIDENCE and max(abs(shift.dx), abs(shift.dy)) >= least


def border_rows(edited: np.ndarray) -> int:
    """Thickness in pixels of the black band along the bottom or the right edge, the thicker one.

    Args:
        edited: (H, W, 3) uint8. Levels up to 4 count as black.

    Returns:
        0 when the last row and the last column hold a brighter pixel. An image that is black by
        itself there (an X-ray, an endoscope's frame) has a band too: compare with the input's.
    """
    bottom = _black_lines(edited)
    right = _black_lines(edited.transpose(1, 0, 2))
    return max(bottom, right)


def _black_lines(image: np.ndarray) -> int:
    length = image.shape[0]
    for n_black in range(length):
        if image[length - 1 - n_black].max() > _BLACK:
            return n_black
    return length


class ShiftReference:
    """The half of the estimate that depends on the input only, shared by all edits of a sample."""

    def __init__(self, previous: np.ndarray, roi: np.ndarray) -> None:
        height, width = roi.shape
        factor = max(1.0, max(width, height) / _WORKING_SIDE)
        # A side with a large prime factor would make the transforms ten times slower.
        working_width, working_height = (
            cv2.getOptimalDFTSize(round(side / factor)) for side in (width, height)
        )
        self._size_wh = (working_width, working_height)
        self._scale_xy = np.array([width / working_width, height / working_height])
        self._is_usable = min(width, height) / factor >= _SMALLEST_SIDE
        if self._is_usable:
            self._detail = fine_detail(previous, self._size_wh)
            self._outside = self._weights(roi)

    def shift_of(self, edited: np.ndarray) -> Shift:
        """As `estimated_shift`, for an edited image of the size of the input."""
        if not self._is_usable:
            return _NO_SHIFT
        detail = fine_detail(edited, self._size_wh)
        unshifted = self._unshifted_fit(detail)
        if unshifted is None or not unshifted.mismatch:
            return _NO_SHIFT
        best, whole_xy = unshifted, (0, 0)
        if not unshifted.is_aligned:
            proposed_xy = self._proposed(detail)
            proposed = self._fit(detail, *proposed_xy)
            if proposed is not None and proposed.remaining < unshifted.remaining:
                best, whole_xy = proposed, proposed_xy
        if not best.is_linear:
            return _NO_SHIFT
        dx, dy = (np.array(whole_xy) + best.fraction_xy) * self._scale_xy
        confidence = max(0.0, 1 - best.remaining / unshifted.mismatch)
        return Shift(float(dx), float(dy), float(confidence))

    def _weights(self, roi: np.ndarray) -> np.ndarray:
        inside = cv2.resize(
            (roi > 0).astype(np.float32), self._size_wh, interpolation=cv2.INTER_AREA
        )
        near = cv2.dilate(inside, np.ones((_ROI_MARGIN, _ROI_MARGIN), np.uint8))
        return (near == 0).astype(np.float32)

    @cached_property
    def _window(self) -> np.ndarray:
        fade = cv2.createHanningWindow(self._size_wh, cv2.CV_32F)
        return fade * cv2.GaussianBlur(self._outside, (0, 0), 3)

    @cached_property
    def _phases(self) -> np.ndarray:
        # The input's spectrum with equal strength at all frequencies, in OpenCV's packed form.
        spectrum = cv2.dft(self._detail * self._window, flags=cv2.DFT_COMPLEX_OUTPUT)
        strength = np.hypot(spectrum[..., 0], spectrum[..., 1])
        # Keeps frequencies without energy from being blown up to full weight.
        strength += _FAINT * strength.mean() + np.float32(1e-20)
        whitened = cv2.idft(
            spectrum / strength[..., None], flags=cv2.DFT_SCALE | cv2.DFT_REAL_OUTPUT
        )
        return cv2.dft(whitened)

    @cached_property
    def _basis(self) -> np.ndarray:
        # The input's detail and its derivatives along x and y, (3, h, w).
        along_x = cv2.Sobel(self._detail, -1, 1, 0, ksize=3, scale=1 / 8)
        along_y = cv2.Sobel(self._detail, -1, 0, 1, ksize=3, scale=1 / 8)
        return np.stack([self._detail, along_x, along_y]) * self._outside

    def _proposed(self, detail: np.ndarray) -> tuple[int, int]:
        spectrum = cv2.dft(detail * self._window)
        cross = cv2.mulSpectrums(spectrum, self._phases, 0, conjB=True)
        correlation = cv2.idft(cross, flags=cv2.DFT_SCALE)
        reach_x, reach_y = (max(1, int(_LARGEST_SHIFT * side)) for side in self._size_wh)
        rows = np.arange(-reach_y, reach_y + 1)
        columns = np.arange(-reach_x, reach_x + 1)
        near_zero = cv2.GaussianBlur(correlation[np.ix_(rows, columns)], (0, 0), 0.8)
        _, _, _, (column, row) = cv2.minMaxLoc(near_zero)
        return column - reach_x, row - reach_y

    @cached_property
    def _inner(self) -> tuple[tuple[slice, slice], np.ndarray, np.ndarray, np.ndarray]:
        # What the unshifted fit needs of the input: area, weights, basis as rows, their products.
        width, height = self._size_wh
        area = slice(_MARGIN, height - _MARGIN), slice(_MARGIN, width - _MARGIN)
        rows = np.ascontiguousarray(self._basis[:, area[0], area[1]]).reshape(3, -1)
        return area, self._outside[area], rows, rows @ rows.T

    def _unshifted_fit(self, detail: np.ndarray) -> TranslationFit | None:
        area, weights, rows, products = self._inner
        if np.count_nonzero(weights) < _FEWEST_PIXELS:
            return None
        edited = (detail[area] * weights).ravel()
        return TranslationFit.solved(products, rows @ edited, float(edited @ edited))

    def _fit(self, detail: np.ndarray, whole_x: int, whole_y: int) -> TranslationFit | None:
        """Least squares of the edited detail, moved back by a whole shift, on `_basis`."""
        width, height = self._size_wh
        here = (
            slice(max(0, -whole_y) + _MARGIN, min(height, height - whole_y) - _MARGIN),
            slice(max(0, -whole_x) + _MARGIN, min(width, width - whole_x) - _MARGIN),
        )
        there = (
            slice(here[0].start + whole_y, here[0].stop + whole_y),
            slice(here[1].start + whole_x, here[1].stop + whole_x),
        )
        weights = self._outside[here] * self._outside[there]
        if np.count_nonzero(weights) < _FEWEST_PIXELS:
            return None
        rows = (self._basis[:, here[0], here[1]] * weights).reshape(3, -1)
        edited = (detail[there] * weights).ravel()
        return TranslationFit.solved(rows @ rows.T, rows @ edited, float(edited @ edited))
