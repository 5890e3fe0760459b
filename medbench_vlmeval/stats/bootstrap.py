"""The cluster bootstrap of any statistic, for those that are no mean."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .intervals import Interval
from .resampling import RESAMPLES, cluster_positions, resample_weights, tail_percents

Statistic = Callable[[NDArray[np.float64]], float | None]

_MOST_UNDEFINED = 0.05
"""Share of resamples without a value above which there is no interval."""


def statistic_interval(
    statistic: Statistic,
    rows: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval | None:
    """A statistic of `rows` with its percentile bootstrap interval over whole clusters.

    Args:
        statistic: takes rows of shape (n, …) and gives a number, or None where it is undefined.
        rows: shape (N, …), one row a sample.
        clusters: as for `mean_interval`.
        level: coverage aimed at, in (0, 1).
        n_resamples: bootstrap resamples.
        seed: the same seed and data give the same interval; the resamples are those of
            `mean_interval`.

    Returns:
        The value and its interval; no interval with fewer than two clusters, or where the statistic
        is undefined in more than one resample of twenty. None where it is undefined on all rows.

    Raises:
        ValueError: labels of another length, or a level outside (0, 1).
    """
    table = np.asarray(rows, dtype=np.float64)
    value = statistic(table)
    if value is None:
        return None
    positions = cluster_positions(clusters, len(table))
    n_clusters = int(positions.max()) + 1
    if n_clusters < 2:
        return Interval(value, None, None, n_clusters)
    draws = (w for block in resample_weights(n_clusters, n_resamples, seed) for w in block)
    found = [
        statistic(np.repeat(table, weights.astype(np.intp)[positions], axis=0)) for weights in draws
    ]
    drawn = np.array([np.nan if number is None else number for number in found])
    low, high = percentile_ends(drawn, level=level)
    return Interval(value, low, high, n_clusters)


def percentile_ends(
    drawn: NDArray[np.float64], *, level: float = 0.95
) -> tuple[float, float] | tuple[None, None]:
    """The ends of a percentile interval, from the values of a statistic in resamples.

    Args:
        drawn: shape (resamples,), NaN where the statistic is undefined.
        level: coverage aimed at, in (0, 1).

    Returns:
        None and None where it is undefined in more than one resample of twenty.

    Raises:
        ValueError: a level outside (0, 1).
    """
    percents = tail_percents(level)
    defined = drawn[np.isfinite(drawn)]
    if len(defined) < (1 - _MOST_UNDEFINED) * len(drawn):
        return None, None
    low, high = np.percentile(defined, percents)
    return float(low), float(high)
