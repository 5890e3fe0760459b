from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from medbench_vlmeval.stats import (
    detectable_between_models,
    detectable_from_fixed,
    smallest_detectable_difference,
)

from .boards import made_board, with_gaps

QUANTILES = 1.959963984540054 + 0.8416212335729143
"""Of the normal distribution at 0.975 and 0.8, from printed tables."""


def test_single_samples_give_the_textbook_formula() -> None:
    values, _ = made_board(n_models=2)
    differences = values[:, 0] - values[:, 1]
    expected = QUANTILES * differences.std(ddof=1) / np.sqrt(120)
    assert smallest_detectable_difference(*values.T) == pytest.approx(expected, rel=1e-12)


def test_it_does_not_depend_on_the_order_or_on_a_shift() -> None:
    values, clusters = made_board(n_models=2)
    ours = smallest_detectable_difference(*values.T, clusters)
    assert smallest_detectable_difference(*values.T[::-1], clusters) == pytest.approx(ours)
    assert smallest_detectable_difference(values[:, 0] + 5, values[:, 1], clusters) == (
        pytest.approx(ours)
    )


def test_clusters_of_one_size_give_the_formula_over_their_means() -> None:
    generator = np.random.default_rng(1)
    differences = np.repeat(generator.normal(size=30), 4) + generator.normal(size=120)
    clusters = np.repeat(np.arange(30), 4).tolist()
    means = differences.reshape(30, 4).mean(axis=1)
    ours = smallest_detectable_difference(differences, np.zeros(120), clusters)
    assert ours == pytest.approx(QUANTILES * means.std(ddof=1) / np.sqrt(30), rel=1e-12)
    assert ours > 1.3 * smallest_detectable_difference(differences, np.zeros(120))


def test_the_standard_error_is_the_bootstraps() -> None:
    values, clusters = made_board(n_samples=600, n_clusters=200, n_models=2)
    differences = values[:, 0] - values[:, 1]
    order = np.argsort(clusters, kind="stable")
    members = np.split(order, np.unique(np.array(clusters)[order], return_index=True)[1][1:])
    generator = np.random.default_rng(0)
    means = [
        differences[np.concatenate([members[it] for it in generator.integers(200, size=200)])]
        .mean()
        for _ in range(3000)
    ]  # fmt: skip
    ours = smallest_detectable_difference(*values.T, clusters) / QUANTILES
    assert ours == pytest.approx(np.std(means), rel=0.05)


def test_gaps_count_for_nothing() -> None:
    values, clusters = made_board(n_models=2)
    holed = with_gaps(values, 0.3)
    known = ~np.isnan(holed).any(axis=1)
    labels = [label for label, is_known in zip(clusters, known, strict=True) if is_known]
    ours = smallest_detectable_difference(*holed.T, clusters)
    assert ours == pytest.approx(smallest_detectable_difference(*holed[known].T, labels))


def test_degenerate_runs() -> None:
    one, other = np.array([0.5, 0.25]), np.array([0.25, 0.0])
    assert smallest_detectable_difference(one, other) == 0.0
    assert smallest_detectable_difference(one, one) == 0.0
    assert smallest_detectable_difference(one, other, ["a", "a"]) is None
    assert smallest_detectable_difference([1.0, np.nan], [np.nan, 1.0]) is None
    two = smallest_detectable_difference([1.0, 0.0], [0.0, 0.0])
    assert two == pytest.approx(QUANTILES * 0.5)


def test_the_planned_difference_is_the_closed_form() -> None:
    deviation = np.sqrt(0.6 * 0.4)
    unpaired = detectable_between_models(1305, deviation)
    assert unpaired == pytest.approx(QUANTILES * np.sqrt(2 * 0.24 / 1305), rel=1e-12)
    paired = detectable_between_models(1305, deviation, correlation=0.75)
    assert paired == pytest.approx(unpaired / 2, rel=1e-12)
    assert detectable_between_models(10, 1.0, correlation=1.0) == 0.0
    assert detectable_from_fixed(400, 0.5) == pytest.approx(QUANTILES * 0.025, rel=1e-12)
    wide = detectable_from_fixed(400, 0.5, power=0.9, alpha=0.01)
    assert wide == pytest.approx((2.5758293035489 + 1.2815515655446) * 0.025, rel=1e-12)


def test_a_run_and_the_plan_for_it_agree() -> None:
    generator = np.random.default_rng(5)
    scores = generator.multivariate_normal([0, 0], [[1, 0.6], [0.6, 1]], 20_000)
    planned = detectable_between_models(20_000, 1.0, correlation=0.6)
    assert smallest_detectable_difference(*scores.T) == pytest.approx(planned, rel=0.02)


@pytest.mark.parametrize(("power", "alpha"), [(0.8, 0.05), (0.5, 0.05), (0.9, 0.01)])
def test_the_power_is_what_was_asked_for(power: float, alpha: float) -> None:
    """4,000 runs of 200 samples: the share found significant is within 0.025 of the power."""
    generator = np.random.default_rng(6)
    difference = detectable_from_fixed(200, 1.0, power=power, alpha=alpha)
    runs = generator.normal(difference, 1.0, (4000, 200))
    errors = runs.std(axis=1, ddof=1) / np.sqrt(200)
    p_values = 2 * scipy_stats.norm.sf(np.abs(runs.mean(axis=1) / errors))
    assert np.mean(p_values <= alpha) == pytest.approx(power, abs=0.025)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"power": 0.05}, "expected 0 < alpha < power < 1, got alpha 0.05 and power 0.05"),
        ({"alpha": 0.0}, "expected 0 < alpha < power < 1"),
        ({"n_samples": 0}, "expected at least 1 sample, got 0"),
        ({"deviation": -1.0}, "expected a deviation of at least 0"),
        ({"deviation": float("nan")}, "expected a deviation of at least 0"),
        ({"correlation": 2.0}, "expected a correlation in"),
    ],
    ids=["power", "alpha", "samples", "deviation", "nan", "correlation"],
)
def test_plans_outside_their_range_are_refused(arguments: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        detectable_between_models(**({"n_samples": 10, "deviation": 1.0} | arguments))


def test_arrays_over_other_samples_are_refused() -> None:
    with pytest.raises(ValueError, match="over the same samples"):
        smallest_detectable_difference([0.1, 0.2], [0.1])
    with pytest.raises(ValueError, match="infinity"):
        smallest_detectable_difference([np.inf, 0.2], [np.inf, 0.1])
