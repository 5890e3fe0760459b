"""How firm the order of a board is: ranks of the models over resamples of clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .resampling import RESAMPLES, Floats, tail_percents
from .score_matrix import score_matrix


@dataclass(frozen=True)
class RankSpread:
    """The ranks of one model; 1 is best, ties share their average rank."""

    model: int
    """Column of the model."""
    rank: float
    """On all samples."""
    mean_rank: float
    """Over the resamples."""
    low: float
    """The rank interval, ends included; half ranks come from ties."""
    high: float
    first: float
    """Share of the resamples in which the model is first; models that tie share it."""


@dataclass(frozen=True)
class NeighbourOrder:
    """Two models next to each other on the board."""

    upper: int
    lower: int
    flipped: float
    """Share of the resamples in which the lower one is ahead."""
    tied: float
    """Share of the resamples in which they are equal."""


@dataclass(frozen=True)
class RankStability:
    """How far the order of a board depends on the samples it happened to be taken from."""

    spreads: list[RankSpread]
    """One a ranked model, best first; models without a score are not in it."""
    neighbours: list[NeighbourOrder]
    kendall_tau: float | None
    """Mean of Kendall's tau-b between the order of a resample and the board's, in [-1, 1]; None
    with fewer than two models, or when all are equal."""
    n_resamples: int
    """Resamples behind it: those in which every ranked model has a score. 0 with one cluster."""


def rank_stability(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    n_resamples: int = RESAMPLES,
    seed: int = 0,
    level: float = 0.95,
    higher_is_better: bool = True,
) -> RankStability:
    """The ranks that the models take when the clusters are drawn again.

    Args:
        values: shape (n_samples, n_models), finite; NaN for a sample without a score.
        clusters: one label a sample, see `mean_interval`.
        n_resamples: bootstrap resamples, the same as those of `board_intervals`.
        seed: the same seed and data give the same results.
        level: share of the resamples that a rank interval holds at least, in (0, 1).
        higher_is_better: whether the largest mean is first.

    Returns:
        Rank intervals, the order of neighbours, and Kendall's tau. With fewer than two clusters
        nothing can be drawn again: no spreads, no neighbours, `n_resamples` 0.

    Raises:
        ValueError: another shape, no sample or no model, infinite values, labels of another
            length, or a level outside (0, 1).

    Notes:
        A model's mean is taken over its own scores. Models with scores for different samples are
        ranked as a board prints them, but `paired_differences` compares them fairly. Means that
        differ by less than 1e-12 of the largest are equal.

        Interval ends are ranks that occur: the lower end is the largest rank with at most half of
        1 - `level` of the resamples below it, the upper end its mirror image.

    References:
        M. G. Kendall, Biometrika 33, 239-251 (1945), https://doi.org/10.1093/biomet/33.3.239
        (tau-b).
    """
    scores = score_matrix(values, clusters)
    percents = tail_percents(level)
    models = np.flatnonzero(scores.scored.any(axis=0))
    if scores.n_clusters < 2 or not len(models):
        return RankStability([], [], None, 0)
    observed = scores.values.sum(axis=0)[models] / scores.scored.sum(axis=0)[models]
    means = scores.resampled_means(n_resamples, seed)[models]
    means = means[:, ~np.isnan(means).any(axis=0)]
    if means.shape[1] == 0:
        return RankStability([], [], None, 0)
    sign = -1.0 if higher_is_better else 1.0
    observed, means = _without_rounding(sign * observed, sign * means)
    spreads = _spreads(models, observed, means, percents)
    order = np.argsort(observed, kind="stable")
    return RankStability(
        [spreads[it] for it in order],
        _neighbours(models, order, means),
        _mean_tau(observed, means),
        means.shape[1],
    )


def _without_rounding(observed: Floats, means: Floats) -> tuple[Floats, Floats]:
    """Means in steps of 1e-12 of the largest, so that equal models are equal in every resample."""
    step = 1e-12 * max(np.abs(observed).max(), np.abs(means).max())
    if step == 0:
        return observed, means
    return np.rint(observed / step), np.rint(means / step)


def _spreads(
    models: NDArray[np.intp], observed: Floats, means: Floats, percents: tuple[float, float]
) -> list[RankSpread]:
    from scipy.stats import rankdata

    ranks = rankdata(means, axis=0)
    low = np.percentile(ranks, percents[0], axis=1, method="inverted_cdf")
    high = np.percentile(ranks, percents[1], axis=1, method="inverted_cdf")
    is_first = means == means.min(axis=0)
    first = (is_first / is_first.sum(axis=0)).mean(axis=1)
    columns = (models, rankdata(observed), ranks.mean(axis=1), low, high, first)
    return [
        RankSpread(int(model), *map(float, numbers))
        for model, *numbers in zip(*columns, strict=True)
    ]


def _neighbours(
    models: NDArray[np.intp], order: NDArray[np.intp], means: Floats
) -> list[NeighbourOrder]:
    upper, lower = means[order[:-1]], means[order[1:]]
    shares = zip((lower < upper).mean(axis=1), (lower == upper).mean(axis=1), strict=True)
    return [
        NeighbourOrder(int(models[above]), int(models[below]), float(flipped), float(tied))
        for above, below, (flipped, tied) in zip(order[:-1], order[1:], shares, strict=True)
    ]


def _mean_tau(observed: Floats, means: Floats) -> float | None:
    """Mean tau-b over the resamples in which not all models are equal."""
    n_resamples = means.shape[1]
    agreeing, n_apart = np.zeros(n_resamples), np.zeros(n_resamples)
    n_apart_observed = 0
    for model in range(1, len(means)):
        known = np.sign(observed[model] - observed[:model])
        drawn = np.sign(means[model] - means[:model])
        agreeing += known @ drawn
        n_apart += np.abs(drawn).sum(axis=0)
        n_apart_observed += int(np.abs(known).sum())
    usable = n_apart > 0
    if n_apart_observed == 0 or not usable.any():
        return None
    return float((agreeing[usable] / np.sqrt(n_apart[usable] * n_apart_observed)).mean())
