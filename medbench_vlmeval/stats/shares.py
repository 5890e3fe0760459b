"""Shares of samples with Wilson's interval, which also has a width at 0 and at 1."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from .intervals import Interval
from .resampling import cluster_positions, tail_percents


def share_interval(
    hits: ArrayLike, clusters: Sequence[Hashable] | None = None, *, level: float = 0.95
) -> Interval:
    """The share of samples that are hits, with Wilson's interval.

    Where all samples are hits, or none, a bootstrap has nothing to draw from and would claim
    certainty.

    Args:
        hits: shape (N,), boolean.
        clusters: as for `mean_interval`. The interval is as wide as that of one sample a cluster:
            right where samples of a cluster agree, too wide where they do not.
        level: coverage aimed at, in (0, 1).

    Raises:
        ValueError: no samples, labels of another length, or a level outside (0, 1).

    References:
        Wilson, JASA 22 (1927), doi:10.1080/01621459.1927.10502953.
    """
    array = np.asarray(hits, dtype=bool)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"expected a non-empty 1-D array of hits, got shape {array.shape}")
    n = int(cluster_positions(clusters, len(array)).max()) + 1
    share = float(array.mean())
    _, upper = tail_percents(level)
    z = NormalDist().inv_cdf(upper / 100)
    middle = share + z**2 / (2 * n)
    reach = z * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    low, high = ((middle + sign * reach) / (1 + z**2 / n) for sign in (-1, 1))
    # Rounding may leave an end a little outside.
    return Interval(share, max(low, 0.0), min(high, 1.0), n)
