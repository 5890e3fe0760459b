"""Means with intervals: cluster bootstrap over samples, and a metric's summary over a group."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from math import fsum

import numpy as np
from numpy.typing import ArrayLike

from ..types import MetricInfo, Score, Summary
from .resampling import RESAMPLES, cluster_positions, resample_weights, tail_percents


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
        ValueError: no values, values that are not finite, labels of another length, or a level
            outside (0, 1).

    Notes:
        The mean of a resample is a ratio of sums, so clusters of different size keep their weight.
        Resamples are drawn as counts per cluster (`numpy.bincount`), many at once.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"expected a non-empty 1-D array of values, got shape {array.shape}")
    if not np.isfinite(array).all():
        raise ValueError("expected finite values, got NaN or infinity; leave unscored samples out")
    positions = cluster_positions(clusters, len(array))
    sums = np.bincount(positions, weights=array)
    sizes = np.bincount(positions).astype(np.float64)
    value = float(array.mean())
    if len(sums) < 2:
        return Interval(value, None, None, len(sums))
    drawn = resample_weights(len(sums), n_resamples, seed)
    means = np.concatenate([(weights @ sums) / (weights @ sizes) for weights in drawn])
    low, high = np.percentile(means, tail_percents(level))
    return Interval(value, float(low), float(high), len(sums))


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
    taken = [value_in_mean(score, metric) for score in scores]
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


def value_in_mean(score: Score, metric: MetricInfo) -> float | None:
    """The number with which a score enters its metric's mean; None where it stays out of it."""
    if score.value is None and score.model_fault and metric.protocol == "strict":
        return metric.worst
    return score.value


def _with_open(values: Sequence[float], n_open: int, fill: float) -> float | None:
    total = len(values) + n_open
    return (sum(values) + fill * n_open) / total if total else None


def sum_of_means(total: Summary, parts: Sequence[Summary]) -> Summary:
    """`total` with the sum of the parts' means as its value, and so its floor and ceiling.

    None where there is no part, or one has no mean. Interval and counts stay those of `total`.
    """
    return replace(
        total,
        value=_sum([part.value for part in parts]),
        floor=_sum([part.floor for part in parts]),
        ceiling=_sum([part.ceiling for part in parts]),
    )


def _sum(numbers: Sequence[float | None]) -> float | None:
    known = [number for number in numbers if number is not None]
    return fsum(known) if known and len(known) == len(numbers) else None
