"""Feature sets for the tests of distances, with moments known exactly."""

from __future__ import annotations

import numpy as np


def normal(n: int, d: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(n, d))


def with_moments(mean: np.ndarray, root: np.ndarray, n: int, seed: int = 0) -> np.ndarray:
    """n rows whose sample mean is `mean` and whose sample covariance is ``rootᵀ root``, exactly."""
    drawn = normal(n, len(root), seed)
    white, _ = np.linalg.qr(drawn - drawn.mean(axis=0))
    return white * np.sqrt(n - 1) @ root + mean


def rotation(d: int, seed: int = 0) -> np.ndarray:
    return np.linalg.qr(normal(d, d, seed))[0]
