"""Feature arrays as the distances between sets of images take them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray


def feature_pair(a: ArrayLike, b: ArrayLike) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Two sets of features as float64, checked.

    Raises:
        ValueError: as `feature_set`, or features of different length.
    """
    first, second = feature_set("a", a), feature_set("b", b)
    if first.shape[1] != second.shape[1]:
        raise ValueError(
            f"expected features of one dimension, got {first.shape[1]} in a and "
            f"{second.shape[1]} in b; extract both with the same network"
        )
    return first, second


def feature_set(name: str, features: ArrayLike) -> NDArray[np.float64]:
    """One set of features, shape (N, D), as float64.

    Raises:
        ValueError: another shape, fewer than two rows, no columns, or a number that is not finite.
    """
    array = np.asarray(features)
    if array.ndim != 2 or not array.shape[1]:
        raise ValueError(f"expected {name} of shape (N, D), got {array.shape}")
    if len(array) < 2:
        raise ValueError(
            f"expected at least 2 images in each set, got a count of n={len(array)} in {name}; "
            "one image has no spread"
        )
    if array.dtype.kind not in "fiub":
        raise ValueError(f"expected {name} to hold real numbers, got {array.dtype}")
    whole = array.astype(np.float64)
    damaged = ~np.isfinite(whole).all(axis=1)
    if damaged.any():
        rows = np.flatnonzero(damaged)
        raise ValueError(
            f"expected finite features, got NaN or infinity in {len(rows)} rows of {name}, "
            f"first row {rows[0]}; leave out the images that the network cannot read"
        )
    return whole


def finite(value: float) -> float:
    """`value`, unless sums of the features left the range of float64.

    Raises:
        ValueError: infinite or NaN.
    """
    if not np.isfinite(value):
        raise ValueError("expected features whose squares float64 can hold; scale them down")
    return float(value)
