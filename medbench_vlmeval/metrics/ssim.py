"""Masked SSIM: MedEBench's contextual preservation, as published and outside the ROI only."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from functools import cache
from typing import NamedTuple

import numpy as np

from ._ssim_constants import BLACKENED_LEVELS, WINDOW

logger = logging.getLogger(__name__)

KERNEL_VARIABLE = "MEDBENCH_SSIM_KERNEL"
"""Environment variable for the implementation: ``auto`` (default), ``numba`` or ``strips``."""

_Kernel = Callable[
    [np.ndarray, np.ndarray, np.ndarray, np.ndarray],
    "tuple[float, float, int]",
]


class SSIMPair(NamedTuple):
    """Both readings of one edit."""

    official: float
    """Mean over the whole frame with the ROI black in both images, as published."""
    context: float | None
    """Mean over the windows wholly outside the ROI; None when there is no such window."""
    n_context_windows: int
    """How many windows `context` averages, of ``(H - 6) * (W - 6)``."""


def masked_ssim(previous: np.ndarray, edited: np.ndarray, roi: np.ndarray) -> float:
    """Contextual preservation as the released MedEBench code computes it.

    The ROI is blackened in both images, then SSIM is averaged over the whole frame and the three
    channels.

    Args:
        previous: The input image, (H, W, 3) uint8 RGB, H and W at least 7.
        edited: The edited image, same shape; resize it before (`images.resize_like`).
        roi: (H, W) uint8; 255 is ROI, 0 is not, values between blacken in part.

    Returns:
        At most 1, higher is better; exactly 1.0 for equal images and for an ROI that is 255
        everywhere. Can be slightly negative.

    Raises:
        ValueError: Another dtype or shape, or a side below 7 pixels.

    Notes:
        Blackened windows score 1, so the value rises with the share of the ROI whatever was edited:
        see `context_ssim`. An ROI stored as 0 and 1 hardly blackens anything, as published
        (`images.read_roi` flags it).

    References:
        ``src/eval_metrics/traditional_metrics_eval.py`` of the released MedEBench code; SSIM is
        scikit-image's ``structural_similarity(previous, edited, channel_axis=-1)``.
    """
    return masked_and_context_ssim(previous, edited, roi).official


def context_ssim(previous: np.ndarray, edited: np.ndarray, roi: np.ndarray) -> float | None:
    """SSIM averaged only where the edit was not allowed: over windows without any ROI pixel.

    Args:
        previous: As for `masked_ssim`.
        edited: As for `masked_ssim`.
        roi: (H, W) uint8; every value above 0 is ROI.

    Returns:
        At most 1, higher is better, exactly 1.0 for equal surroundings; None when every 7 x 7
        window touches the ROI.

    Raises:
        ValueError: As for `masked_ssim`.

    Notes:
        This is what the paper's formula says; its code is `masked_ssim`.
    """
    return masked_and_context_ssim(previous, edited, roi).context


def masked_and_context_ssim(previous: np.ndarray, edited: np.ndarray, roi: np.ndarray) -> SSIMPair:
    """`masked_ssim` and `context_ssim` from one pass over the images.

    Raises:
        ValueError: As for `masked_ssim`.
    """
    check_edit_arrays(previous, edited, roi)
    height, width = roi.shape
    total, context, n_context = _kernel(_requested())[1](
        _frozen(previous), _frozen(edited), _frozen(roi), _frozen(BLACKENED_LEVELS)
    )
    n_windows = (height - WINDOW + 1) * (width - WINDOW + 1)
    return SSIMPair(
        official=total / (3 * n_windows),
        context=context / (3 * n_context) if n_context else None,
        n_context_windows=n_context,
    )


def _frozen(array: np.ndarray) -> np.ndarray:
    # numba compiles read-only and writable arrays apart, and decoded images are read-only.
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def check_edit_arrays(previous: np.ndarray, edited: np.ndarray, roi: np.ndarray) -> None:
    """Raise ValueError unless the three arrays are what the metrics of an edit take."""
    for name, image in (("previous", previous), ("edited", edited)):
        if image.dtype != np.uint8:
            raise ValueError(
                f"expected {name} to be uint8, got {image.dtype}; "
                "convert it with medbench_vlmeval.images.as_uint8"
            )
        if image.ndim != 3 or image.shape[2] != 3:
            raise ValueError(f"expected {name} of shape (H, W, 3), got {image.shape}")
    if edited.shape != previous.shape:
        raise ValueError(
            f"expected edited of the shape of previous {previous.shape}, got {edited.shape}; "
            "resize it with medbench_vlmeval.images.resize_like"
        )
    if roi.dtype != np.uint8:
        raise ValueError(
            f"expected roi to be uint8 with 255 inside, got {roi.dtype}; "
            "for a boolean mask: roi.astype(numpy.uint8) * 255"
        )
    if roi.shape != previous.shape[:2]:
        raise ValueError(f"expected roi of shape {previous.shape[:2]}, got {roi.shape}")
    if min(roi.shape) < WINDOW:
        raise ValueError(
            f"expected sides of at least {WINDOW} pixels, the SSIM window, "
            f"got {roi.shape[1]} x {roi.shape[0]}"
        )


def ssim_kernel() -> str:
    """Name of the implementation in use, ``numba`` or ``strips``; both give the same values.

    Raises:
        ImportError: `MEDBENCH_SSIM_KERNEL` asks for numba, which is not installed.
        ValueError: `MEDBENCH_SSIM_KERNEL` holds another word.
    """
    return _kernel(_requested())[0]


def _requested() -> str:
    return os.environ.get(KERNEL_VARIABLE, "").strip().lower() or "auto"


@cache
def _kernel(requested: str) -> tuple[str, _Kernel]:
    if requested not in ("auto", "numba", "strips"):
        raise ValueError(f"expected {KERNEL_VARIABLE}=auto, numba or strips, got {requested!r}")
    if requested != "strips":
        try:
            from ._ssim_numba import similarity_sums as compiled
        except ImportError as error:
            # Also what numba raises when it does not support the installed NumPy.
            if requested == "numba":
                raise ImportError(
                    f'numba cannot be imported ({error}): pip install "medbench-vlmeval[fast]"'
                ) from error
            logger.info("SSIM runs without numba (%s)", error)
        else:
            return "numba", compiled
    from ._ssim_strips import similarity_sums as strips

    return "strips", strips
