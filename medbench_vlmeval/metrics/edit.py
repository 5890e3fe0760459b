"""Everything measured on an edited image without a judge; work on the input is done once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import cv2
import numpy as np

from .psnr import psnr_from_error, squared_sum
from .registration import Shift, ShiftReference, border_rows, is_shifted
from .ssim import check_edit_arrays, masked_and_context_ssim


@dataclass(frozen=True)
class EditMetrics:
    """One edited image against its input."""

    official: float
    """`ssim.masked_ssim`; at most 1, higher is better."""
    context: float | None
    """`ssim.context_ssim`; None when every window touches the ROI."""
    psnr_inside: float | None
    """dB inside the ROI, ``inf`` when nothing was changed there; None when the ROI is empty."""
    psnr_outside: float | None
    """dB outside the ROI, higher is better; None when the ROI is the whole image."""
    shift: Shift
    """Translation of the whole image (`registration.estimated_shift`)."""
    shifted: bool
    """Whether `shift` is worth telling (`registration.is_shifted`)."""
    border: int
    """Pixels by which a black band at the bottom or right is thicker than in the input."""
    roi_share: float
    """Fraction of the pixels with an ROI value above 0."""


@dataclass(frozen=True, eq=False)
class PreparedSample:
    """An input image with its ROI, and what all edits of it share; kept from edit to edit.

    Args:
        previous: (H, W, 3) uint8 RGB, H and W at least 7.
        roi: (H, W) uint8; 255 is ROI, 0 is not.

    Raises:
        ValueError: Another dtype or shape.
    """

    previous: np.ndarray
    roi: np.ndarray

    def __post_init__(self) -> None:
        check_edit_arrays(self.previous, self.previous, self.roi)

    @cached_property
    def n_inside(self) -> int:
        """Pixels with an ROI value above 0."""
        return int(np.count_nonzero(self.roi))

    @cached_property
    def reference(self) -> ShiftReference:
        """What estimating a shift needs of the input."""
        return ShiftReference(self.previous, self.roi)

    @cached_property
    def border(self) -> int:
        """Thickness of the input's own black band."""
        return border_rows(self.previous)


def edit_metrics(sample: PreparedSample, edited: np.ndarray) -> EditMetrics:
    """Measure one edited image.

    Args:
        sample: The input and its ROI.
        edited: (H, W, 3) uint8 RGB of the input's size; resize it before (`images.resize_like`).

    Raises:
        ValueError: Another dtype or shape.
    """
    similarity = masked_and_context_ssim(sample.previous, edited, sample.roi)
    difference = cv2.absdiff(sample.previous, edited)
    error = squared_sum(difference)
    error_inside = squared_sum(difference, sample.roi)
    n_pixels, n_inside = sample.roi.size, sample.n_inside
    height, width = sample.roi.shape
    shift = sample.reference.shift_of(edited)
    return EditMetrics(
        official=similarity.official,
        context=similarity.context,
        psnr_inside=psnr_from_error(error_inside, 3 * n_inside),
        psnr_outside=psnr_from_error(error - error_inside, 3 * (n_pixels - n_inside)),
        shift=shift,
        shifted=is_shifted(shift, (width, height)),
        border=max(0, border_rows(edited) - sample.border),
        roi_share=n_inside / n_pixels,
    )
