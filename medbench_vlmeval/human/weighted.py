"""Measures of agreement over items with weights: what resampling needs, many at once.

A resample is given by how often it holds each item, so `weights` has shape (resamples, N) and whole
numbers; each function gives the values that the plain measure has on the items so repeated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Columns:
    """Two columns of finite grades over the same N items."""

    first: Floats
    second: Floats

    @classmethod
    def of(cls, first: Sequence[float], second: Sequence[float]) -> Columns:
        """The columns as arrays.

        Raises:
            ValueError: not flat, of different length, or with numbers that are not finite.
        """
        a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
        if a.ndim != 1 or a.shape != b.shape:
            raise ValueError(
                f"expected two flat columns of one length, got shapes {a.shape} and {b.shape}; "
                "give one grade an item from each rater"
            )
        if not (np.isfinite(a).all() and np.isfinite(b).all()):
            raise ValueError("expected finite grades, got NaN or infinity; leave such items out")
        return cls(a, b)

    @property
    def n(self) -> int:
        return len(self.first)


def weighted_means(columns: Columns, weights: Floats) -> dict[str, Floats]:
    """Shares of equal grades and of grades at most 1 apart, and the mean difference."""
    difference = columns.first - columns.second
    parts = {
        "exact": (difference == 0).astype(np.float64),
        "within_one": (np.abs(difference) <= 1).astype(np.float64),
        "mean_difference": difference,
    }
    totals = weights.sum(axis=1)
    return {name: weights @ part / totals for name, part in parts.items()}


def weighted_kappa(columns: Columns, weights: Floats) -> Floats:
    """Quadratic weighted kappa, by its closed form; NaN where a column is constant."""
    totals = weights.sum(axis=1)
    a, b = columns.first, columns.second
    mean_a, mean_b = weights @ a / totals, weights @ b / totals
    # moments about the overall mean, because differences of large squares lose digits
    variance_a = weights @ np.square(a - a.mean()) / totals - np.square(mean_a - a.mean())
    variance_b = weights @ np.square(b - b.mean()) / totals - np.square(mean_b - b.mean())
    observed = weights @ np.square(a - b) / totals
    by_chance = variance_a + variance_b + np.square(mean_a - mean_b)
    constant = _is_constant(a, weights) | _is_constant(b, weights)
    return np.where(constant, np.nan, 1.0 - observed / np.where(constant, 1.0, by_chance))


def weighted_spearman(columns: Columns, weights: Floats) -> Floats:
    """Spearman's correlation with mean ranks for ties; NaN where a column is constant."""
    ranks_a, ranks_b = _ranks(columns.first, weights), _ranks(columns.second, weights)
    totals = weights.sum(axis=1, keepdims=True)
    middle = (totals + 1) / 2  # the mean of ranks, whatever the ties
    a, b = ranks_a - middle, ranks_b - middle
    covariance = (weights * a * b).sum(axis=1)
    spread = np.sqrt((weights * a * a).sum(axis=1) * (weights * b * b).sum(axis=1))
    constant = _is_constant(columns.first, weights) | _is_constant(columns.second, weights)
    return np.where(constant, np.nan, covariance / np.where(constant, 1.0, spread))


def _ranks(values: Floats, weights: Floats) -> Floats:
    """Mean ranks, from 1, of every item among the items as often as they are held."""
    grades, code = np.unique(values, return_inverse=True)
    held = weights @ (code[:, None] == np.arange(len(grades))).astype(np.float64)
    below = np.cumsum(held, axis=1) - held
    return (below + (held + 1) / 2)[:, code]


def _is_constant(values: Floats, weights: Floats) -> NDArray[np.bool_]:
    grades, code = np.unique(values, return_inverse=True)
    held = weights @ (code[:, None] == np.arange(len(grades))).astype(np.float64)
    return (held > 0).sum(axis=1) < 2
