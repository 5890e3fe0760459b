"""Intervals of all models of a board from one resampling."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .intervals import Interval
from .resampling import RESAMPLES, tail_percents
from .score_matrix import interval_ends, score_matrix


def board_intervals(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
) -> list[Interval | None]:
    """The mean of every model with its percentile bootstrap interval, on shared resamples.

    Args:
        values: shape (n_samples, n_models), finite; NaN for a sample without a score, which leaves
            that model's mean.
        clusters: one label a sample, see `mean_interval`.
        n_resamples: bootstrap resamples.
        seed: the same seed and data give the same intervals.
        level: coverage aimed at, in (0, 1).

    Returns:
        One interval a model, as `mean_interval` gives for a column without gaps; None for a model
        without a score. No ends where a model's scores lie in fewer than two clusters.

    Raises:
        ValueError: another shape, no sample or no model, infinite values, labels of another
            length, or a level outside (0, 1).

    Notes:
        Every resample holds the same clusters for all models, so differences of models can be
        read from it. A model's mean in a resample is the ratio of sum and count of its own scores.
        A resample without any of them, which happens only to models with scores in a few clusters,
        is left out of that model's interval.
    """
    scores = score_matrix(values, clusters)
    percents = tail_percents(level)
    n_scored_clusters = (scores.summed(scores.scored) > 0).sum(axis=0)
    ends = interval_ends(scores.resampled_means(n_resamples, seed), percents)
    return [
        _interval(scores.values[scores.scored[:, model], model], int(count), ends[model])
        for model, count in enumerate(n_scored_clusters)
    ]


def _interval(
    known: np.ndarray, n_clusters: int, ends: tuple[float | None, float | None]
) -> Interval | None:
    if n_clusters == 0:
        return None
    return Interval(float(known.mean()), *(ends if n_clusters > 1 else (None, None)), n_clusters)
