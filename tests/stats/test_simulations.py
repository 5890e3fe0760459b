"""Intervals and tests on data whose truth is known.

Shares over R repetitions of a probability p have the standard error sqrt(p (1 - p) / R); every
tolerance below is about three of them plus what the method is known to miss at this size.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from medbench_vlmeval.stats import (
    detectable_from_fixed,
    mean_interval,
    paired_differences,
    rank_stability,
    smallest_detectable_difference,
)

N_CLUSTERS, SIZE = 60, 6
CLUSTERS = np.repeat(np.arange(N_CLUSTERS), SIZE).tolist()
REPETITIONS = 500
COVERAGES = 1000
"""Repetitions behind a coverage: standard error 0.007. Percentiles of 60 clusters and 400 resamples
are known to fall short by about 0.012."""


def clustered(generator: np.random.Generator, n_columns: int) -> np.ndarray:
    """Columns with mean 0, variance 1, and half of it common to a cluster's samples."""
    of_cluster = np.repeat(generator.normal(size=(N_CLUSTERS, n_columns)), SIZE, axis=0)
    own = generator.normal(size=(N_CLUSTERS * SIZE, n_columns))
    return np.sqrt(0.5) * (of_cluster + own)


def coverage(
    draw: Callable[[np.random.Generator], np.ndarray], clusters: list[int] | None
) -> float:
    generator, hits = np.random.default_rng(0), 0
    for trial in range(COVERAGES):
        interval = mean_interval(draw(generator), clusters, n_resamples=400, seed=trial)
        hits += interval.low <= 0 <= interval.high
    return hits / COVERAGES


def test_the_cluster_bootstrap_covers_as_often_as_it_says() -> None:
    share = coverage(lambda generator: clustered(generator, 1)[:, 0], CLUSTERS)
    assert share == pytest.approx(0.95, abs=0.035)


def test_clusters_of_different_size_are_covered_too() -> None:
    sizes = np.random.default_rng(1).integers(1, 12, N_CLUSTERS)
    clusters = np.repeat(np.arange(N_CLUSTERS), sizes)

    def draw(generator: np.random.Generator) -> np.ndarray:
        return generator.normal(size=N_CLUSTERS)[clusters] + generator.normal(size=len(clusters))

    assert coverage(draw, clusters.tolist()) == pytest.approx(0.95, abs=0.035)


def test_samples_taken_as_independent_cover_far_too_seldom() -> None:
    # the mean has 1 + (6 - 1) / 2 = 3.5 times the variance that single samples show, and
    # 2 Phi(1.96 / sqrt(3.5)) - 1 is
    share = coverage(lambda generator: clustered(generator, 1)[:, 0], None)
    assert share == pytest.approx(0.705, abs=0.045)


def p_values(shift: float, clusters: list[int] | None, seed: int) -> np.ndarray:
    """p-values of `REPETITIONS` comparisons of two models whose means differ by `shift`."""
    generator = np.random.default_rng(seed)
    found = []
    for trial in range(REPETITIONS):
        values = clustered(generator, 2) + np.array([shift, 0.0])
        (pair,) = paired_differences(
            values, clusters, n_resamples=1, n_permutations=499, seed=trial
        )
        found.append(pair.p_value)
    return np.array(found)


@pytest.mark.parametrize(("alpha", "tolerance"), [(0.05, 0.03), (0.2, 0.055)])
def test_the_flip_test_errs_as_often_as_it_says(alpha: float, tolerance: float) -> None:
    assert np.mean(p_values(0.0, CLUSTERS, 2) <= alpha) == pytest.approx(alpha, abs=tolerance)


def test_flips_of_single_samples_find_what_is_not_there() -> None:
    assert np.mean(p_values(0.0, None, 2) <= 0.05) > 0.2


def test_the_interval_of_a_difference_covers_it() -> None:
    generator, hits = np.random.default_rng(3), 0
    for trial in range(REPETITIONS):
        values = clustered(generator, 2) + np.array([0.3, 0.0])
        (pair,) = paired_differences(
            values, CLUSTERS, n_resamples=400, n_permutations=1, seed=trial
        )
        hits += pair.low <= 0.3 <= pair.high
    assert hits / REPETITIONS == pytest.approx(0.95, abs=0.045)


def test_the_smallest_detectable_difference_is_found_four_times_in_five() -> None:
    # differences of two such models: variance 1 + 1 / 6 of a cluster's mean
    planned = detectable_from_fixed(N_CLUSTERS, np.sqrt(1 + 1 / SIZE))
    assert np.mean(p_values(planned, CLUSTERS, 4) <= 0.05) == pytest.approx(0.8, abs=0.06)
    generator = np.random.default_rng(5)
    measured = [
        smallest_detectable_difference(*clustered(generator, 2).T, CLUSTERS) for _ in range(300)
    ]
    assert np.mean(measured) == pytest.approx(planned, rel=0.03)


def test_equal_models_are_first_equally_often_over_many_boards() -> None:
    generator = np.random.default_rng(6)
    shares = np.zeros(4)
    for trial in range(300):
        values = clustered(generator, 4)
        for spread in rank_stability(values, CLUSTERS, n_resamples=100, seed=trial).spreads:
            shares[spread.model] += spread.first / 300
    assert shares == pytest.approx([0.25] * 4, abs=0.06)
