"""The least squares behind `registration`: how much of one image is another one, moved a little."""

from __future__ import annotations

from typing import NamedTuple

import cv2
import numpy as np

_LEAST_GAIN = 1e-3
_LINEAR_PIXELS = 1.5
_ALIGNED_PIXELS = 0.5
_DAMPING = 1e-6


class TranslationFit(NamedTuple):
    """A fit of gain and sub-pixel shift; energies are relative to that of the edited detail."""

    fraction_xy: np.ndarray
    remaining: float
    """Energy left after gain and shift."""
    mismatch: float
    """Energy left after the gain alone."""

    @classmethod
    def solved(
        cls, products: np.ndarray, target: np.ndarray, energy: float
    ) -> TranslationFit | None:
        """Solve the normal equations of ``edited = gain * (detail - shift . gradient)``.

        Args:
            products: (3, 3), of the detail and its two derivatives with each other.
            target: (3,), of these three with the edited detail.
            energy: Of the edited detail.

        Returns:
            None when one of the two images has no detail.
        """
        normal, target = products.astype(np.float64), target.astype(np.float64)
        if normal[0, 0] <= 0 or energy <= 0:
            return None
        damping = _DAMPING * np.trace(normal) * np.eye(3)
        coefficients = np.linalg.solve(normal + damping, target)
        gain = coefficients[0]
        if gain <= _LEAST_GAIN:
            return cls(np.zeros(2), 1.0, 1.0)
        remaining = energy - 2 * coefficients @ target + coefficients @ normal @ coefficients
        mismatch = energy - target[0] ** 2 / normal[0, 0]
        return cls(
            -coefficients[1:] / gain, max(0.0, remaining / energy), max(0.0, mismatch / energy)
        )

    @property
    def is_linear(self) -> bool:
        """Whether the shift is so small that derivatives stand for it."""
        return bool(np.abs(self.fraction_xy).max() <= _LINEAR_PIXELS)

    @property
    def is_aligned(self) -> bool:
        """Whether more than half is explained nearly in place, so that no other place can be."""
        return self.remaining < 0.5 and bool(np.abs(self.fraction_xy).max() < _ALIGNED_PIXELS)


def fine_detail(image: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
    """Grey levels less their local mean, (h, w) float32 at the size given.

    Without the mean, because shading and contrast changes must not look like movement.
    """
    if (image.shape[1], image.shape[0]) != size_wh:
        image = cv2.resize(image, size_wh, interpolation=cv2.INTER_AREA)
    grey = cv2.cvtColor(image, cv2.COLOR_RGB2GRAY).astype(np.float32)
    smooth = cv2.GaussianBlur(grey, (5, 5), 1.0)
    return smooth - cv2.boxFilter(smooth, -1, (15, 15))
