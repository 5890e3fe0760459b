"""Every two models of a board compared on the samples that both have scores for."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .pair_columns import PairColumns, pair_columns
from .resampling import RESAMPLES, Floats, resample_weights, tail_percents
from .score_matrix import ScoreMatrix, interval_ends, score_matrix
from .sign_flips import PERMUTATIONS, flip_p_values


@dataclass(frozen=True)
class PairedDifference:
    """Two models compared on their common samples; None stands for what cannot be known."""

    first: int
    """Column of one model."""
    second: int
    """Column of the other, always greater."""
    difference: float | None
    """Mean of the first less mean of the second; None without a common sample."""
    low: float | None
    """Lower end of the bootstrap interval; None with fewer than two clusters."""
    high: float | None
    p_value: float | None
    """Two-sided, from flips of whole clusters; not adjusted for other pairs."""
    is_exact: bool
    """All flips were enumerated; otherwise they were drawn."""
    better: int | None
    """Column of the model with the better mean; None when the means are equal or unknown."""
    n_samples: int
    n_clusters: int


def paired_differences(
    values: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    n_resamples: int = RESAMPLES,
    n_permutations: int = PERMUTATIONS,
    seed: int = 0,
    level: float = 0.95,
    higher_is_better: bool = True,
) -> list[PairedDifference]:
    """All pairs of models compared: difference, bootstrap interval, permutation p-value.

    Args:
        values: shape (n_samples, n_models), finite; NaN for a sample without a score, which leaves
            the pairs of that model.
        clusters: one label a sample, see `mean_interval`.
        n_resamples: bootstrap resamples behind the intervals.
        n_permutations: flips of signs behind the p-values; see `PERMUTATIONS` before lowering it.
        seed: the same seed and data give the same results.
        level: coverage of the intervals aimed at, in (0, 1).
        higher_is_better: which of two means is the better one; changes nothing else.

    Returns:
        One comparison for every two columns, in the order (0, 1), (0, 2), …; empty for one model.
        One common cluster: no interval, p = 1. No common sample: neither difference nor p. Equal
        scores: difference and interval exactly 0, p = 1.

    Raises:
        ValueError: another shape, no sample or no model, infinite values, labels of another
            length, a level outside (0, 1), or fewer than one permutation.

    Notes:
        The p-value asks how often a difference as large would come about if the two models changed
        places by the toss of a coin, in all samples of a cluster at once. It is exact when the
        clusters in which the two differ are few enough to try all 2^n tosses within
        `n_permutations`, else (1 + as large) / (1 + n_permutations). Totals are compared with a
        tolerance for rounding, so that ties count as ties. Adjust the p-values of the pairs that
        you look at with `holm`.

        Interval and p-value are computed independently and may disagree at the edge.
    """
    if n_permutations < 1:
        raise ValueError(f"expected at least 1 permutation, got {n_permutations}")
    scores = score_matrix(values, clusters)
    percents = tail_percents(level)
    found: list[PairedDifference] = []
    for columns in pair_columns(scores):
        ends = interval_ends(_resampled_differences(scores, columns, n_resamples, seed), percents)
        p_values, is_exact = flip_p_values(columns, n_permutations, seed)
        found += _comparisons(columns, ends, p_values, is_exact, higher_is_better)
    return found


def _resampled_differences(
    scores: ScoreMatrix, columns: PairColumns, n_resamples: int, seed: int
) -> Floats:
    """Mean difference of every pair in every resample; NaN without a common sample in it."""
    means = np.full((len(columns.pairs), n_resamples), np.nan)
    start = 0
    for weights in resample_weights(scores.n_clusters, n_resamples, seed):
        stop = start + len(weights)
        totals = np.ascontiguousarray((weights @ columns.sums).T)
        counts = np.ascontiguousarray((weights @ columns.counts).T)[columns.mask]
        changed = totals[columns.left] - totals[columns.right]
        np.divide(changed, counts, out=means[:, start:stop], where=counts > 0)
        start = stop
    return means


def _comparisons(
    columns: PairColumns,
    ends: list[tuple[float | None, float | None]],
    p_values: Floats,
    is_exact: np.ndarray,
    higher_is_better: bool,
) -> Iterator[PairedDifference]:
    differences = columns.cluster_differences()
    totals, noise = differences.sum(axis=1), columns.noise
    are_equal = np.abs(differences).max(axis=1) <= noise
    n_samples = columns.counts.sum(axis=0)[columns.mask]
    n_clusters = (columns.counts > 0).sum(axis=0)[columns.mask]
    for number, (first, second) in enumerate(columns.pairs):
        size, n_known = int(n_samples[number]), int(n_clusters[number])
        if size == 0:
            yield PairedDifference(first, second, None, None, None, None, False, None, 0, 0)
            continue
        total = float(totals[number]) if abs(totals[number]) > noise[number] else 0.0
        low, high = (0.0, 0.0) if are_equal[number] else ends[number]
        if n_known < 2:
            low = high = None
        better = None if total == 0 else first if (total > 0) == higher_is_better else second
        yield PairedDifference(
            first, second, total / size, low, high, float(p_values[number]),
            bool(is_exact[number]), better, size, n_known,
        )  # fmt: skip
