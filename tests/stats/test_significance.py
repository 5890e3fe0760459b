from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats as scipy_stats

from medbench_vlmeval.stats import DiscordantPairs, holm, mcnemar, paired_differences


def test_mcnemar_counts_and_sums_the_tails_of_the_binomial() -> None:
    first = [1, 1, 1, 1, 1, 1, 0, 1, 0, np.nan]
    second = [0, 0, 0, 0, 0, 0, 1, 1, 0, 1]
    # one of seven or fewer, on both sides: 2 (1 + 7) / 2^7
    assert mcnemar(first, second) == DiscordantPairs(6, 1, 1, 1, pytest.approx(0.125))
    assert mcnemar(first, second).n_samples == 9


@pytest.mark.parametrize(("n_first", "n_second"), [(0, 5), (3, 3), (2, 12), (40, 61)])
def test_mcnemar_agrees_with_the_sum_over_the_binomial(n_first: int, n_second: int) -> None:
    first = [1] * n_first + [0] * n_second + [1, 0]
    second = [0] * n_first + [1] * n_second + [1, 0]
    n = n_first + n_second
    tail = sum(math.comb(n, it) for it in range(min(n_first, n_second) + 1)) / 2**n
    assert mcnemar(first, second).p_value == pytest.approx(min(1.0, 2 * tail), abs=1e-12)


def test_mcnemar_is_the_exact_flip_test_of_single_samples() -> None:
    generator = np.random.default_rng(2)
    outcomes = generator.integers(0, 2, (24, 2))
    (pair,) = paired_differences(outcomes, n_permutations=1 << 24)
    assert pair.is_exact
    assert pair.p_value == pytest.approx(mcnemar(*outcomes.T).p_value, abs=1e-12)


def test_mcnemar_of_the_same_model_is_one() -> None:
    assert mcnemar([1, 0, 1], [1, 0, 1]).p_value == 1.0


def test_mcnemar_without_a_common_sample_is_no_number() -> None:
    assert mcnemar([1, np.nan], [np.nan, 0]) == DiscordantPairs(0, 0, 0, 0, None)
    assert mcnemar([], []).p_value is None


def test_mcnemar_refuses_graded_scores_and_other_lengths() -> None:
    with pytest.raises(ValueError, match=r"expected outcomes 0, 1 or NaN in second, got 0\.5"):
        mcnemar([1.0], [0.5])
    with pytest.raises(ValueError, match="same samples"):
        mcnemar([1, 0], [1])
    with pytest.raises(ValueError, match="expected first of shape"):
        mcnemar([[1, 0]], [1])


@pytest.mark.parametrize(
    ("given_p", "adjusted"),
    [
        ([0.01, 0.04, 0.03, 0.005], [0.03, 0.06, 0.06, 0.02]),
        ([0.04, 0.01], [0.04, 0.02]),
        ([0.5, 0.6, 0.7], [1.0, 1.0, 1.0]),
        ([0.02, 0.02, 0.02], [0.06, 0.06, 0.06]),
        ([0.2], [0.2]),
        ([np.nan, 0.01, None, 0.02], [np.nan, 0.02, np.nan, 0.02]),
        ([], []),
        ([np.nan], [np.nan]),
    ],
    ids=["closed example", "two", "capped", "ties", "one", "gaps", "none", "only a gap"],
)
def test_holm_by_hand(given_p: list[float | None], adjusted: list[float]) -> None:
    np.testing.assert_allclose(holm(given_p), np.array(adjusted, dtype=np.float64), atol=1e-15)


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.floats(0.001, 0.2))
def test_holm_keeps_the_order_and_rejects_what_stepping_down_rejects(
    p_values: list[float], alpha: float
) -> None:
    adjusted = holm(p_values)
    assert ((adjusted >= p_values) & (adjusted <= 1)).all()
    for one, other in product(range(len(p_values)), repeat=2):
        if p_values[one] < p_values[other]:
            assert adjusted[one] <= adjusted[other]
    rejected = set()
    for step, place in enumerate(np.argsort(p_values, kind="stable")):
        if p_values[place] * (len(p_values) - step) > alpha:
            break
        rejected.add(int(place))
    assert set(np.flatnonzero(adjusted <= alpha).tolist()) == rejected


def test_holm_is_never_above_bonferroni_nor_below_benjamini_hochberg() -> None:
    p_values = np.random.default_rng(0).random(40) ** 3
    adjusted = holm(p_values)
    assert (adjusted <= np.minimum(1, 40 * p_values) + 1e-15).all()
    assert (adjusted >= scipy_stats.false_discovery_control(p_values) - 1e-15).all()


def test_holm_refuses_what_is_no_probability() -> None:
    with pytest.raises(ValueError, match=r"expected p-values in \[0, 1\]"):
        holm([0.1, 1.2])
    with pytest.raises(ValueError, match="expected p-values of shape"):
        holm([[0.1]])
