"""Means with intervals: cluster bootstrap over samples, and a metric's summary over a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .types import MetricInfo, Score, Summary

RESAMPLES = 2000
"""Bootstrap resamples behind every published interval."""

_DRAWS_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Interval:
    """A mean and its interval; `low` and `high` are None when it cannot be estimated."""

    value: float
    low: float | None
    high: float | None
    n_clusters: int


def mean_interval(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    level: float = 0.95,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
) -> Interval:
    """The mean of `values` with its percentile bootstrap interval over whole clusters.

    Args:
        values: shape (N,), finite.
        clusters: N labels; samples that share one (the same source image) are drawn together, since
            they are not independent. None: every sample is its own cluster.
        level: coverage aimed at, in (0, 1).
        n_resamples: bootstrap resamples.
        seed: the same seed and data give the same interval.

    Returns:
        The mean, and the interval. With fewer than two clusters there is no interval.

    Raises:
        ValueError: no values, values that are not finite, or labels of another length.

    Notes:
        The mean of a resample is a ratio of sums, so clusters of different size keep their weight.
        Resamples are drawn as counts per cluster (`numpy.bincount`), many at once.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"expected a non-empty 1-D array of values, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("expected finite values, got NaN or infinity; leave unscored samples out")
    sums, sizes = _cluster_sums(array, clusters)
    value = float(array.mean())
    if len(sums) < 2:
        return Interval(value, None, None, len(sums))
    means = _resampled_means(sums, sizes, n_resamples, np.random.default_rng(seed))
    tail = 100 * (1 - level) / 2
    low, high = np.percentile(means, [tail, 100 - tail])
    return Interval(value, float(low), float(high), len(sums))


def _cluster_sums(
    values: NDArray[np.float64], clusters: Sequence[Hashable] | None
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    if clusters is None:
        return values, np.ones_like(values)
    if len(clusters) != len(values):
        raise ValueError(f"expected {len(values)} cluster labels, got {len(clusters)}")
    number: dict[Hashable, int] = {}
    positions = np.array([number.setdefault(label, len(number)) for label in clusters])
    sums = np.bincount(positions, weights=values).astype(np.float64)
    return sums, np.bincount(positions).astype(np.float64)


def _resampled_means(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    n_resamples: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    n_clusters = len(sums)
    block = max(1, _DRAWS_AT_ONCE // n_clusters)
    means = [
        _block_means(sums, sizes, min(block, n_resamples - start), generator)
        for start in range(0, n_resamples, block)
    ]
    return np.concatenate(means)


def _block_means(
    sums: NDArray[np.float64],
    sizes: NDArray[np.float64],
    n_resamples: int,
    generator: np.random.Generator,
) -> NDArray[np.float64]:
    n_clusters = len(sums)
    drawn = generator.integers(n_clusters, size=(n_resamples, n_clusters), dtype=np.int32)
    # One count for all resamples of the block: each has a range of numbers of its own.
    own_range = np.arange(n_resamples, dtype=np.int32)[:, None] * np.int32(n_clusters)
    counts = np.bincount((drawn + own_range).ravel(), minlength=n_resamples * n_clusters)
    weights = counts.reshape(n_resamples, n_clusters).astype(np.float64)
    means: NDArray[np.float64] = (weights @ sums) / (weights @ sizes)
    return means


def summarise(
    scores: Sequence[Score],
    metric: MetricInfo,
    *,
    clusters: Sequence[Hashable] | None = None,
    group: str = "Overall",
    group_by: str = "overall",
) -> Summary:
    """The summary of one metric over one group of samples.

    An official or extra mean is taken over the samples that have a value. A strict mean also holds
    the samples whose model gave nothing usable, at the metric's worst value. Samples that we could
    not score are in neither; `floor` and `ceiling` say what they could have changed.

    Args:
        scores: one per expected sample.
        metric: names, bounds and protocol.
        clusters: one label per score, see `mean_interval`.
        group: the group's name in tables.
        group_by: what the group is one of: ``overall``, ``organ``, ``task`` …

    Returns:
        A summary whose `value` is None when no sample could be scored.
    """
    taken = [_value_in_mean(score, metric) for score in scores]
    values = [value for value in taken if value is not None]
    labels = None
    if clusters is not None:
        labels = [label for label, value in zip(clusters, taken, strict=True) if value is not None]
    interval = mean_interval(values, labels) if values else None
    n_open = sum(1 for score in scores if score.value is None and not score.model_fault)
    return Summary(
        metric=metric.name,
        value=interval.value if interval else None,
        low=interval.low if interval else None,
        high=interval.high if interval else None,
        n_expected=len(scores),
        n_answered=sum(1 for score in scores if not score.model_fault),
        n_scored=len(values),
        floor=_with_open(values, n_open, metric.worst),
        ceiling=_with_open(values, n_open, metric.best),
        group=group,
        group_by=group_by,
        status_counts=dict(Counter(str(score.status) for score in scores)),
    )


def _value_in_mean(score: Score, metric: MetricInfo) -> float | None:
    if score.value is None and score.model_fault and metric.protocol == "strict":
        return metric.worst
    return score.value


def _with_open(values: Sequence[float], n_open: int, fill: float) -> float | None:
    total = len(values) + n_open
    return (sum(values) + fill * n_open) / total if total else None
