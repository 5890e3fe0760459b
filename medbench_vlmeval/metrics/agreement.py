"""How far two raters agree on ordinal grades."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

Grades = Sequence[float] | NDArray[np.float64]


def quadratic_weighted_kappa(a: Grades, b: Grades) -> float | None:
    """Cohen's kappa with quadratic weights, of two raters over the same cases.

    Args:
        a: N grades as numbers whose distances mean something, such as 0, 1, 2.
        b: As `a`, case by case; the order of the raters does not matter.

    Returns:
        1.0 for equal grades, 0.0 for as much agreement as chance gives, negative for less; never
        above 1. 0.0 when only one rater is constant: nothing then depends on the case. None where
        it is undefined: no cases, or all grades of both raters the same.

    Raises:
        ValueError: sequences of different length, not flat, or with numbers that are not finite.

    Notes:
        With squared distances the weighted sums over the table of grades have a closed form,
        ``1 - E[(a - b)^2] / (var a + var b + (mean a - mean b)^2)``, so no table and no list of
        categories is needed. Distances are those of the grades themselves; an implementation that
        numbers the categories first gives another value for grades of uneven distance.

    References:
        Cohen, "Weighted kappa", Psychological Bulletin 70 (1968), doi:10.1037/h0026256.
    """
    first, second = _paired(a, b)
    if not first.size or ((first == first[0]).all() and (second == first[0]).all()):
        return None
    if (first == first[0]).all() or (second == second[0]).all():
        return 0.0  # which rounding would miss
    observed = np.square(first - second).mean()
    by_chance = first.var() + second.var() + (first.mean() - second.mean()) ** 2
    return float(1.0 - observed / by_chance)


def cohen_kappa(a: Grades, b: Grades) -> float | None:
    """Cohen's kappa, of two raters over the same cases, for grades that are names only.

    Args:
        a: N grades; they are equal or not, and how far they lie apart does not matter.
        b: As `a`, case by case; the order of the raters does not matter.

    Returns:
        1.0 for equal grades, 0.0 for as much agreement as chance gives, negative for less. None
        where it is undefined: no cases, or all grades of both raters the same.

    Raises:
        ValueError: as `quadratic_weighted_kappa`.

    References:
        Cohen, "A coefficient of agreement for nominal scales", Educational and Psychological
        Measurement 20 (1960), doi:10.1177/001316446002000104.
    """
    first, second = _paired(a, b)
    if not first.size or ((first == first[0]).all() and (second == first[0]).all()):
        return None
    grades = np.union1d(first, second)
    shares = [(rater[:, None] == grades).mean(axis=0) for rater in (first, second)]
    by_chance = float(shares[0] @ shares[1])
    observed = float((first == second).mean())
    return (observed - by_chance) / (1.0 - by_chance)


def agreement_rate(a: Grades, b: Grades) -> float | None:
    """The share of cases to which two raters give the same grade.

    Args:
        a: N grades.
        b: As `a`, case by case.

    Returns:
        A fraction in [0, 1]; None without cases.

    Raises:
        ValueError: as `quadratic_weighted_kappa`.
    """
    first, second = _paired(a, b)
    return float((first == second).mean()) if first.size else None


def _paired(a: Grades, b: Grades) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    if first.ndim != 1 or first.shape != second.shape:
        raise ValueError(
            f"expected two flat sequences of one length, got shapes {first.shape} and "
            f"{second.shape}; give one grade a case from each rater"
        )
    if not (np.isfinite(first).all() and np.isfinite(second).all()):
        raise ValueError("expected finite grades, got NaN or infinity; leave such cases out")
    return first, second
