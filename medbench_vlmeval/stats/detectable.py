"""The smallest difference that a number of samples can show."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from .score_matrix import score_matrix


def smallest_detectable_difference(
    values_a: ArrayLike,
    values_b: ArrayLike,
    clusters: Sequence[Hashable] | None = None,
    *,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float | None:
    """The true difference of two models' means that a run like this one shows with that power.

    Args:
        values_a: shape (N,), one model's scores; NaN for none.
        values_b: shape (N,), the other model's on the same samples.
        clusters: N labels, see `mean_interval`.
        power: probability to find the difference significant, in (alpha, 1).
        alpha: significance level of the two-sided paired test, in (0, 1).

    Returns:
        The difference, at least 0, in the unit of the scores; 0.0 when both models differ by the
        same amount everywhere. None when fewer than two clusters have scores of both.

    Raises:
        ValueError: shapes that differ, infinite values, labels of another length, or a power or
            level outside its range.

    Notes:
        (z(1 - alpha / 2) + z(power)) x SE, with z the quantiles of the normal distribution and SE
        the standard error of the mean paired difference over clusters: with D_c the sum and N_c
        the number of differences in cluster c of C, d the mean difference, and e_c = D_c - d N_c,

            SE^2 = C / (C - 1) x sum(e_c^2) / (sum N_c)^2

        A normal approximation: for fewer than about 20 clusters it is too small. It depends on the
        spread of the differences, not on their mean.
    """
    left, right = np.asarray(values_a, dtype=np.float64), np.asarray(values_b, dtype=np.float64)
    if left.shape != right.shape or left.ndim != 1:
        raise ValueError(
            f"expected two 1-D arrays over the same samples, got shapes {left.shape} and "
            f"{right.shape}; give NaN where a model has no score"
        )
    factor = _quantiles(power, alpha)
    scores = score_matrix(np.stack([left, right], axis=1), clusters)
    shared = scores.scored[:, :1] & scores.scored[:, 1:]
    differences = np.where(shared, scores.values[:, :1] - scores.values[:, 1:], 0.0)
    counts = scores.summed(shared)[:, 0]
    sums = scores.summed(differences)[counts > 0, 0]
    counts = counts[counts > 0]
    if len(counts) < 2:
        return None
    residuals = sums - sums.sum() / counts.sum() * counts
    variance = len(counts) / (len(counts) - 1) * (residuals**2).sum() / counts.sum() ** 2
    return factor * math.sqrt(variance)


def detectable_between_models(
    n_samples: int,
    deviation: float,
    *,
    correlation: float = 0.0,
    power: float = 0.8,
    alpha: float = 0.05,
) -> float:
    """The smallest detectable difference of two models' means, planned without their scores.

    Args:
        n_samples: independent samples of each model, at least 1; of clustered data the clusters.
        deviation: standard deviation of one model's scores over samples, at least 0; for hits with
            accuracy p it is sqrt(p (1 - p)).
        correlation: between the two models' scores of a sample, in [-1, 1]. 0 when the models saw
            different samples, or when only their means are known: the unpaired comparison.
        power: probability to find the difference significant, in (alpha, 1).
        alpha: significance level of the two-sided test, in (0, 1).

    Returns:
        The difference, at least 0, in the unit of the deviation.

    Raises:
        ValueError: an argument outside its range.

    Notes:
        (z(1 - alpha / 2) + z(power)) x deviation x sqrt(2 (1 - correlation) / n_samples), a normal
        approximation with the same deviation for both models.
    """
    if not -1 <= correlation <= 1:
        raise ValueError(f"expected a correlation in [-1, 1], got {correlation!r}")
    spread = deviation * math.sqrt(2 * (1 - correlation))
    return detectable_from_fixed(n_samples, spread, power=power, alpha=alpha)


def detectable_from_fixed(
    n_samples: int, deviation: float, *, power: float = 0.8, alpha: float = 0.05
) -> float:
    """The smallest detectable distance of one mean from a value that is known exactly, as chance.

    Args:
        n_samples: independent samples, at least 1; of clustered data the clusters.
        deviation: standard deviation of the scores over samples, at least 0.
        power: probability to find the distance significant, in (alpha, 1).
        alpha: significance level of the two-sided test, in (0, 1).

    Returns:
        The distance, at least 0: (z(1 - alpha / 2) + z(power)) x deviation / sqrt(n_samples).

    Raises:
        ValueError: an argument outside its range.
    """
    if n_samples < 1:
        raise ValueError(f"expected at least 1 sample, got {n_samples}")
    if not 0 <= deviation < math.inf:
        raise ValueError(f"expected a deviation of at least 0, got {deviation!r}")
    return _quantiles(power, alpha) * deviation / math.sqrt(n_samples)


def _quantiles(power: float, alpha: float) -> float:
    from scipy.special import ndtri

    if not 0 < alpha < power < 1:
        raise ValueError(
            f"expected 0 < alpha < power < 1, got alpha {alpha!r} and power {power!r}; "
            "0.05 and 0.8 are usual"
        )
    return float(ndtri(1 - alpha / 2) + ndtri(power))
