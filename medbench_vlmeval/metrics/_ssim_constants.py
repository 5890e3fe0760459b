"""What both SSIM kernels share: the constants of the integer form, and the blackening table.

With sums over the n = 49 pixels of a 7 x 7 window, ``P = Sx Sy``, ``D = (Sx - Sy)^2`` and ``Sdd``
the sum of squared differences, scikit-image's default for 8-bit images (uniform window, sample
covariance, K1 = 0.01, K2 = 0.03, range 255) is

    C = 2 (n Sxy - P)
    SSIM = (2 P + n^2 C1) (C + n (n - 1) C2) / ((D + 2 P + n^2 C1) (n Sdd - D + C + n (n - 1) C2))

Everything but the last few floating-point operations is then an integer of less than 2^31, hence
exact; two equal images give exactly 1.
"""

from __future__ import annotations

import numpy as np

WINDOW = 7
"""Side of the window in pixels."""

N = WINDOW * WINDOW
"""Pixels of a window."""

LUMINANCE_CONSTANT = N * N * (0.01 * 255) ** 2
STRUCTURE_CONSTANT = N * (N - 1) * (0.03 * 255) ** 2


def _blackened_levels() -> np.ndarray:
    # The released code goes through float32 tensors: x / 255, times 1 - mask / 255, times 255,
    # truncated. Integer or float64 arithmetic differs from that in hundreds of the 65,536 entries.
    levels = np.arange(256, dtype=np.float32) / np.float32(255)
    keep = np.float32(1) - levels
    return (levels[None, :] * keep[:, None] * np.float32(255)).astype(np.uint8)


BLACKENED_LEVELS = _blackened_levels()
"""(256, 256) uint8, by ROI value and pixel value: the level that the released code leaves."""
