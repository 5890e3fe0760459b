"""The scores of a board, checked and summed over clusters."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .resampling import Floats, cluster_positions, resample_weights

Bools = NDArray[np.bool_]


@dataclass(frozen=True)
class ScoreMatrix:
    """Scores of several models for the same samples."""

    values: Floats
    """Shape (n_samples, n_models); 0 where a sample has no score."""
    scored: Bools
    """Shape (n_samples, n_models)."""
    positions: NDArray[np.intp]
    """The number of each sample's cluster."""
    n_clusters: int

    @property
    def n_models(self) -> int:
        return self.values.shape[1]

    def summed(self, columns: Floats | Bools) -> Floats:
        """Sums over clusters, shape (n_clusters, K), of columns of shape (n_samples, K)."""
        sums = np.empty((self.n_clusters, columns.shape[1]))
        for number, column in enumerate(columns.T):
            sums[:, number] = np.bincount(self.positions, column, minlength=self.n_clusters)
        return sums

    def resampled_means(self, n_resamples: int, seed: int) -> Floats:
        """Mean of every model in every resample of clusters, shape (n_models, n_resamples).

        NaN where a resample holds no sample that the model has a score for.
        """
        sums, counts = self.summed(self.values), self.summed(self.scored)
        blocks = resample_weights(self.n_clusters, n_resamples, seed)
        return np.concatenate([ratios(weights, sums, counts) for weights in blocks]).T.copy()


def ratios(weights: Floats, sums: Floats, counts: Floats) -> Floats:
    """Weighted sums over weighted counts; NaN where there is nothing to count."""
    totals = weights @ counts
    means = np.full_like(totals, np.nan)
    np.divide(weights @ sums, totals, out=means, where=totals > 0)
    return means


def score_matrix(values: ArrayLike, clusters: Sequence[Hashable] | None) -> ScoreMatrix:
    """The scores of a board, checked.

    Args:
        values: shape (n_samples, n_models), finite; NaN for a sample without a score.
        clusters: one label a sample, see `mean_interval`. None: each is its own cluster.

    Raises:
        ValueError: another shape, no sample or no model, infinite values, or labels of another
            length.
    """
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 2 or array.size == 0:
        raise ValueError(
            f"expected values of shape (n_samples, n_models), neither 0, got {array.shape}; "
            "give one row a sample and one column a model"
        )
    if np.isinf(array).any():
        row, column = np.argwhere(np.isinf(array))[0]
        raise ValueError(
            f"expected finite values or NaN, got infinity in row {row}, column {column}; "
            "give NaN for a sample that has no score"
        )
    scored = ~np.isnan(array)
    positions = cluster_positions(clusters, len(array))
    return ScoreMatrix(np.where(scored, array, 0.0), scored, positions, int(positions.max()) + 1)


def interval_ends(
    means: Floats, percents: tuple[float, float]
) -> list[tuple[float | None, float | None]]:
    """Percentiles of every row of resampled means; resamples without a mean (NaN) are left out."""
    ends: list[tuple[float | None, float | None]] = [(None, None)] * len(means)
    gaps = np.isnan(means).any(axis=1)
    whole = np.flatnonzero(~gaps)
    if len(whole):
        low, high = np.percentile(means[whole], percents, axis=1)
        for row, left, right in zip(whole, low, high, strict=True):
            ends[row] = (float(left), float(right))
    for row in np.flatnonzero(gaps):
        known = means[row][~np.isnan(means[row])]
        if len(known):
            left, right = np.percentile(known, percents)
            ends[row] = (float(left), float(right))
    return ends
