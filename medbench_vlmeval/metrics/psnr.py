"""Peak signal-to-noise ratio of two 8-bit images, over all of them or a region."""

from __future__ import annotations

import math

import cv2
import numpy as np

_PEAK = 255


def psnr(a: np.ndarray, b: np.ndarray, region: np.ndarray | None = None) -> float | None:
    """Peak signal-to-noise ratio in dB.

    Args:
        a: (H, W, 3) uint8.
        b: As `a`; the order does not matter.
        region: (H, W) bool; only its True pixels count. None means the whole image.

    Returns:
        dB, higher is more alike; ``math.inf`` where the images are equal, None for an empty region.

    Raises:
        ValueError: Another dtype, or shapes that do not fit.
    """
    for name, image in (("a", a), ("b", b)):
        if image.dtype != np.uint8 or image.ndim != 3 or image.shape[2] != 3:
            raise ValueError(
                f"expected {name} to be uint8 of shape (H, W, 3), got {image.dtype} {image.shape}"
            )
    if a.shape != b.shape:
        raise ValueError(f"expected b of the shape of a, {a.shape}, got {b.shape}")
    difference = cv2.absdiff(a, b)
    if region is None:
        return psnr_from_error(squared_sum(difference), a.size)
    if region.dtype != np.bool_ or region.shape != a.shape[:2]:
        raise ValueError(
            f"expected region to be bool of shape {a.shape[:2]}, got {region.dtype} {region.shape}"
        )
    inside = region.view(np.uint8)
    return psnr_from_error(squared_sum(difference, inside), 3 * int(np.count_nonzero(region)))


def squared_sum(difference: np.ndarray, inside: np.ndarray | None = None) -> int:
    """Exact sum of squares of a uint8 array, over the pixels where `inside` is not 0 if given."""
    if not difference.size:
        return 0
    return round(cv2.norm(difference, cv2.NORM_L2SQR, mask=inside))


def psnr_from_error(error: int, n_values: int) -> float | None:
    """PSNR of `n_values` channel values whose squared differences sum to `error`."""
    if n_values == 0:
        return None
    if error == 0:
        return math.inf
    return 10 * math.log10(_PEAK**2 * n_values / error)
