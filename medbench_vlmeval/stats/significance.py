"""McNemar's exact test of two models' hits, and Holm's correction for many comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .resampling import Floats


@dataclass(frozen=True)
class DiscordantPairs:
    """How often two models agree and disagree on the same samples, and how likely that is."""

    only_first: int
    """Samples that only the first model has right."""
    only_second: int
    both: int
    neither: int
    p_value: float | None
    """Exact and two-sided; 1.0 when the models never disagree, None without a common sample."""

    @property
    def n_samples(self) -> int:
        return self.only_first + self.only_second + self.both + self.neither


def mcnemar(first: ArrayLike, second: ArrayLike) -> DiscordantPairs:
    """McNemar's exact two-sided test on the samples that both models have an outcome for.

    Args:
        first: shape (N,), outcomes 0 or 1; NaN for no outcome.
        second: shape (N,), the other model's on the same samples.

    Returns:
        The four counts and the p-value: under the hypothesis that neither model is better, a sample
        that only one of them has right is either's with probability 1/2 (`scipy.stats.binomtest`).

    Raises:
        ValueError: outcomes other than 0, 1 and NaN, or shapes that differ or are not 1-D.

    Notes:
        Samples are taken as independent. Where several share an image, the p-value is too small:
        use `paired_differences`, which flips whole clusters. With one sample a cluster that test
        and this one are the same.

    References:
        Q. McNemar, Psychometrika 12, 153-157 (1947), https://doi.org/10.1007/BF02295996.
    """
    from scipy.stats import binomtest

    left, right = _outcomes("first", first), _outcomes("second", second)
    if left.shape != right.shape:
        raise ValueError(
            f"expected outcomes for the same samples, got shapes {left.shape} and {right.shape}; "
            "give NaN where a model has none"
        )
    known = ~(np.isnan(left) | np.isnan(right))
    hit, other_hit = left[known] == 1, right[known] == 1
    only_first, only_second = int((hit & ~other_hit).sum()), int((~hit & other_hit).sum())
    n_discordant = only_first + only_second
    p_value = float(binomtest(only_first, n_discordant).pvalue) if n_discordant else 1.0
    return DiscordantPairs(
        only_first,
        only_second,
        int((hit & other_hit).sum()),
        int((~hit & ~other_hit).sum()),
        p_value if known.any() else None,
    )


def _outcomes(name: str, values: ArrayLike) -> Floats:
    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected {name} of shape (n_samples,), got {array.shape}")
    odd = array[~np.isnan(array) & (array != 0) & (array != 1)]
    if odd.size:
        raise ValueError(
            f"expected outcomes 0, 1 or NaN in {name}, got {odd[0]}; "
            "use paired_differences for graded scores"
        )
    return array


def holm(p_values: ArrayLike | Sequence[float | None]) -> Floats:
    """p-values adjusted for all comparisons made, by Holm's step-down procedure.

    Args:
        p_values: shape (N,), in [0, 1]; NaN or None for a comparison that could not be made, which
            does not count as one.

    Returns:
        Adjusted p-values in the given order, in [0, 1] and never below the given ones; NaN stays
        NaN. Calling those at or below alpha different keeps the probability of even one false
        statement at or below alpha, whatever the dependence between the comparisons.

    Raises:
        ValueError: another shape, or values outside [0, 1].

    References:
        S. Holm, Scandinavian Journal of Statistics 6, 65-70 (1979),
        https://www.jstor.org/stable/4615733.
    """
    array = np.asarray(p_values, dtype=np.float64)
    if array.ndim != 1:
        raise ValueError(f"expected p-values of shape (n,), got {array.shape}")
    known = np.flatnonzero(~np.isnan(array))
    if ((array[known] < 0) | (array[known] > 1)).any():
        raise ValueError(f"expected p-values in [0, 1], got {array[known].tolist()}")
    order = known[np.argsort(array[known], kind="stable")]
    adjusted = np.full_like(array, np.nan)
    steps = array[order] * np.arange(len(order), 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return adjusted
