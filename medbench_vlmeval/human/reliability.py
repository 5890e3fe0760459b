"""How far two columns of ratings of the same items agree, with intervals and with reasons.

As the benchmarks report it: quadratic weighted kappa and the share of equal grades (MedQ-Bench,
three specialists over 200 cases against the judge), rank correlation (MedEBench).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import spearmanr

from ..metrics import quadratic_weighted_kappa
from ..stats import RESAMPLES
from ..stats.bootstrap import percentile_ends
from ..stats.resampling import cluster_positions, resample_weights
from .weighted import Columns, weighted_kappa, weighted_means, weighted_spearman

FEWEST_CLUSTERS = 10
"""Source images below which no interval is given: a bootstrap of a handful is too narrow."""


@dataclass(frozen=True)
class Measure:
    """One number about agreement, its 95 % interval, and why either is absent."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Items behind it."""
    why: str = ""
    """Empty when both value and interval are there."""


@dataclass(frozen=True)
class Agreement:
    """Two raters, or a rater and the judge, over the items that both rated."""

    n: int
    n_clusters: int
    kappa: Measure
    """Quadratic weighted, at most 1, higher is better."""
    spearman: Measure
    """In [-1, 1], higher is better."""
    exact: Measure
    """Share of items with equal grades."""
    within_one: Measure
    """Share of items whose grades are at most 1 apart."""
    mean_difference: Measure
    """First minus second, in grades; 0 is best."""


def agreement(
    first: Sequence[float],
    second: Sequence[float],
    clusters: Sequence[Hashable],
    *,
    step: float = 1.0,
    averaged: bool = False,
    names: tuple[str, str] = ("the first", "the second"),
    seed: int = 0,
) -> Agreement:
    """How far two columns of ratings agree.

    Args:
        first: N grades.
        second: as `first`, item by item.
        clusters: N labels; items that share one (the source image) are drawn together.
        step: the smallest distance between two grades of the scale.
        averaged: one of the columns holds means of several raters, which lie between the grades.
        names: of the two, for reasons.
        seed: the same seed and data give the same intervals.

    Returns:
        Every measure with a percentile bootstrap interval over whole clusters. A column that says
        the same of every item leaves kappa and Spearman undefined: nothing then depends on the
        item. (The formula of kappa gives 0 if just one is constant, whatever the other says.)

    Raises:
        ValueError: columns or labels of different length.

    References:
        Cohen (1968), doi:10.1037/h0026256; Spearman (1904), doi:10.2307/1412159.
    """
    columns = Columns.of(first, second)
    positions = cluster_positions(clusters, columns.n)
    n_clusters = int(positions.max(initial=-1)) + 1
    reasons = _reasons(columns, names, step, averaged)
    values = _values(columns, {name for name, why in reasons.items() if not why})
    resampled = _resampled(columns, positions, n_clusters, seed)
    no_interval = _no_interval(n_clusters)
    measures = {}
    for name, why in reasons.items():
        if why:
            measures[name] = Measure(None, n=columns.n, why=why)
        else:
            ends = _ends(resampled.get(name), no_interval)
            measures[name] = Measure(values[name], *ends[:2], columns.n, ends[2])
    return Agreement(columns.n, n_clusters, **measures)


def rank_correlation(
    first: Sequence[float], second: Sequence[float], names: tuple[str, str]
) -> Measure:
    """Spearman's correlation alone, for columns on scales of their own; ties get mean ranks."""
    columns = Columns.of(first, second)
    why = _constant(columns, names)
    return Measure(None if why else _spearman(columns), n=columns.n, why=why)


def _reasons(
    columns: Columns, names: tuple[str, str], step: float, averaged: bool
) -> dict[str, str]:
    """Why a measure has no value, by its name; empty where it has one."""
    constant = _constant(columns, names)
    empty = "no items rated by both" if not columns.n else ""
    unequal = "means of raters lie between the grades" if averaged else ""
    coarse = f"grades are {step:g} apart, so it is the share of equal ones" if step > 1 else ""
    return {
        "kappa": constant,
        "spearman": constant,
        "exact": empty or unequal,
        "within_one": empty or coarse,
        "mean_difference": empty,
    }


def _values(columns: Columns, defined: set[str]) -> dict[str, float | None]:
    found: dict[str, float | None] = {}
    if "mean_difference" in defined:
        means = weighted_means(columns, np.ones((1, columns.n)))
        found |= {name: float(values[0]) for name, values in means.items()}
    if "kappa" in defined:
        found["kappa"] = quadratic_weighted_kappa(columns.first.tolist(), columns.second.tolist())
        found["spearman"] = _spearman(columns)
    return found


def _spearman(columns: Columns) -> float:
    return float(spearmanr(columns.first, columns.second).statistic)


def _constant(columns: Columns, names: tuple[str, str]) -> str:
    if columns.n == 0:
        return "no items rated by both"
    if columns.n == 1:
        return "one item only"
    same = [
        f"{name} gave {values[0]:g} to every item"
        for name, values in zip(names, (columns.first, columns.second), strict=True)
        if (values == values[0]).all()
    ]
    return " and ".join(same)


def _no_interval(n_clusters: int) -> str:
    if n_clusters >= FEWEST_CLUSTERS:
        return ""
    return f"no interval: {n_clusters} source images, fewer than {FEWEST_CLUSTERS}"


def _resampled(
    columns: Columns, positions: NDArray[np.intp], n_clusters: int, seed: int
) -> dict[str, NDArray[np.float64]]:
    if n_clusters < FEWEST_CLUSTERS:
        return {}
    found: dict[str, list[NDArray[np.float64]]] = {}
    for block in resample_weights(n_clusters, RESAMPLES, seed):
        weights = block[:, positions]
        values = weighted_means(columns, weights)
        values["kappa"] = weighted_kappa(columns, weights)
        values["spearman"] = weighted_spearman(columns, weights)
        for name, drawn in values.items():
            found.setdefault(name, []).append(drawn)
    return {name: np.concatenate(parts) for name, parts in found.items()}


def _ends(
    drawn: NDArray[np.float64] | None, no_interval: str
) -> tuple[float | None, float | None, str]:
    if drawn is None:
        return None, None, no_interval
    low, high = percentile_ends(drawn)
    share = 1 - np.isfinite(drawn).mean()
    why = f"no interval: undefined in {share:.0%} of the resamples" if low is None else ""
    return low, high, why
