"""How far any number of raters agree on a scale: Krippendorff's alpha, intraclass correlation."""

from __future__ import annotations

from types import ModuleType
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Level = Literal["nominal", "ordinal", "interval", "ratio"]


class IntraclassCorrelation(NamedTuple):
    """Reliability of one rating by one rater, raters being the same for all cases."""

    agreement: float | None
    """ICC(2,1): raters are a sample, and a rater who is always one point lower counts as error."""
    consistency: float | None
    """ICC(3,1): these raters are all there are, and a constant distance between them is none."""


def krippendorff_alpha(ratings: ArrayLike, *, level: Level = "interval") -> float | None:
    """Krippendorff's alpha of raters who need not all have rated every case.

    Args:
        ratings: shape (raters, cases), NaN where a rater gave none.
        level: what distances between ratings mean; ``interval``: their difference.

    Returns:
        1.0 for equal ratings, 0.0 for what chance gives, negative for systematic disagreement. None
        where it is undefined: no case has two ratings, or all of those that have are equal
        throughout; `undefined_because` says which.

    Raises:
        ImportError: krippendorff is not installed.
        ValueError: not two-dimensional, or infinite ratings.

    References:
        Krippendorff, "Content Analysis" (2019), chapter 12; the package ``krippendorff``.
    """
    table = _table(ratings)
    if undefined_because(table):
        return None
    return float(krippendorff().alpha(reliability_data=table, level_of_measurement=level))


def intraclass_correlation(ratings: ArrayLike) -> IntraclassCorrelation:
    """Intraclass correlations of raters who all rated the same cases.

    Args:
        ratings: shape (raters, cases); cases that lack a rating (NaN) are left out.

    Returns:
        1.0 for equal ratings; near 0, or negative, where cases differ no more than ratings of one
        case do. None where undefined: fewer than two raters or whole cases, or a mean square of 0
        in the denominator, as when all ratings are equal.

    Raises:
        ValueError: not two-dimensional, or infinite ratings.

    Notes:
        From the mean squares of the two-way analysis of variance without replication. We compute
        it ourselves: pingouin, which has it, brings statsmodels, seaborn and xarray for this one
        table.

    References:
        Shrout and Fleiss, "Intraclass correlations: uses in assessing rater reliability",
        Psychological Bulletin 86 (1979), doi:10.1037/0033-2909.86.2.420.
    """
    table = _table(ratings)
    whole = table[:, ~np.isnan(table).any(axis=0)]
    n_raters, n_cases = whole.shape
    if n_raters < 2 or n_cases < 2 or (whole == whole[0, 0]).all():
        return IntraclassCorrelation(None, None)
    between_cases, between_raters, error = _mean_squares(whole)
    shared = between_cases + (n_raters - 1) * error
    absolute = shared + n_raters * (between_raters - error) / n_cases
    signal = between_cases - error
    return IntraclassCorrelation(_ratio(signal, absolute), _ratio(signal, shared))


def undefined_because(ratings: ArrayLike) -> str:
    """Why no agreement can be computed from `ratings`, in words; empty where one can.

    Args:
        ratings: shape (raters, cases), NaN where a rater gave none.

    Raises:
        ValueError: not two-dimensional, or infinite ratings.
    """
    table = _table(ratings)
    paired = table[:, (~np.isnan(table)).sum(axis=0) >= 2]
    if not paired.size:
        return "no case was rated twice"
    values = paired[~np.isnan(paired)]
    if (values == values[0]).all():
        return f"every rating is {values[0]:g}, so nothing can be told apart from chance"
    return ""


def krippendorff() -> ModuleType:
    """The package ``krippendorff``.

    Raises:
        ImportError: it is not installed.
    """
    try:
        import krippendorff
    except ImportError as error:
        raise ImportError(
            'Krippendorff\'s alpha needs krippendorff: pip install "medbench-vlmeval[agreement]"'
        ) from error
    module: ModuleType = krippendorff
    return module


def _table(ratings: ArrayLike) -> NDArray[np.float64]:
    table = np.asarray(ratings, dtype=np.float64)
    if table.ndim != 2:
        raise ValueError(
            f"expected ratings of shape (raters, cases), got {table.shape}; give one row a rater"
        )
    if np.isinf(table).any():
        raise ValueError("expected finite ratings, got infinity; put NaN where there is none")
    return table


def _mean_squares(table: NDArray[np.float64]) -> tuple[float, float, float]:
    """Between cases, between raters, and what is left."""
    n_raters, n_cases = table.shape
    of_case, of_rater = table.mean(axis=0), table.mean(axis=1)
    left = table - of_case - of_rater[:, None] + table.mean()
    return (
        float(n_raters * of_case.var(ddof=1)),
        float(n_cases * of_rater.var(ddof=1)),
        float(np.square(left).sum() / ((n_raters - 1) * (n_cases - 1))),
    )


def _ratio(signal: float, total: float) -> float | None:
    return None if abs(total) <= 1e-12 else float(signal / total)
