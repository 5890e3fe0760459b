from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
from scipy import stats as scipy_stats

from medbench_vlmeval.stats import mean_interval, paired_differences
from medbench_vlmeval.stats.pair_columns import pair_columns
from medbench_vlmeval.stats.score_matrix import score_matrix

from .boards import Floats, cluster_sums, made_board, with_gaps

FEW = 2000
"""Flips where nothing is said about p-values."""


def test_all_pairs_come_in_order_with_their_plain_differences() -> None:
    values, clusters = made_board()
    found = paired_differences(values, clusters, n_permutations=FEW)
    assert [(it.first, it.second) for it in found] == [*combinations(range(5), 2)]
    for pair in found:
        means = values[:, [pair.first, pair.second]].mean(axis=0)
        assert pair.difference == pytest.approx(means[0] - means[1], abs=1e-13)
        assert pair.better == [pair.first, pair.second][int(np.argmax(means))]
        assert (pair.n_samples, pair.n_clusters) == (120, 40)


def test_the_interval_is_that_of_the_differences() -> None:
    values, clusters = made_board()
    for pair in paired_differences(values, clusters, n_permutations=FEW, seed=4):
        alone = mean_interval(values[:, pair.first] - values[:, pair.second], clusters, seed=4)
        assert (pair.low, pair.high) == pytest.approx((alone.low, alone.high), abs=1e-13)


def enumerated_p(sums: Floats) -> float:
    totals = [abs(float(np.dot(signs, sums))) for signs in product((-1, 1), repeat=len(sums))]
    return float(np.mean(np.array(totals) >= abs(sums.sum()) - 1e-12))


def test_few_clusters_are_enumerated() -> None:
    values, clusters = made_board(n_samples=30, n_models=4, n_clusters=9)
    for pair in paired_differences(values, clusters, n_permutations=512):
        sums = cluster_sums(values[:, pair.first] - values[:, pair.second], clusters)
        assert pair.is_exact
        assert pair.p_value == pytest.approx(enumerated_p(sums), abs=1e-15)


def test_the_exact_p_value_is_scipys() -> None:
    values, clusters = made_board(n_samples=30, n_models=2, n_clusters=11, seed=2)
    (pair,) = paired_differences(values, clusters)
    theirs = scipy_stats.permutation_test(
        (cluster_sums(values[:, 0] - values[:, 1], clusters),),
        np.sum, permutation_type="samples", n_resamples=np.inf, vectorized=True,
    )  # fmt: skip
    assert pair.is_exact
    assert pair.p_value == pytest.approx(theirs.pvalue, abs=1e-12)


def test_drawn_flips_agree_with_enumerated_ones() -> None:
    values, clusters = made_board(n_samples=40, n_models=5, n_clusters=14)
    exact = paired_differences(values, clusters, n_permutations=1 << 14)
    drawn = paired_differences(values, clusters, n_permutations=(1 << 14) - 1)
    assert {it.is_exact for it in exact} == {True}
    assert {it.is_exact for it in drawn} == {False}
    for one, other in zip(exact, drawn, strict=True):
        error = np.sqrt(one.p_value * (1 - one.p_value) / (1 << 14))
        assert abs(one.p_value - other.p_value) < 4 * error + 1e-4


def test_drawn_p_values_agree_with_scipys() -> None:
    values, clusters = made_board(n_models=2, seed=1)
    (pair,) = paired_differences(values, clusters, n_permutations=20_000)
    theirs = scipy_stats.permutation_test(
        (cluster_sums(values[:, 0] - values[:, 1], clusters),), np.sum, vectorized=True,
        permutation_type="samples", n_resamples=20_000, rng=np.random.default_rng(0),
    )  # fmt: skip
    assert pair.p_value == pytest.approx(theirs.pvalue, abs=0.015)
    assert 0.02 < pair.p_value < 0.98


def test_a_drawn_p_value_is_never_zero() -> None:
    values = np.random.default_rng(0).normal(0, 0.1, (60, 2)) + np.array([0.0, 1.0])
    (pair,) = paired_differences(values, n_permutations=999)
    assert (pair.p_value, pair.is_exact) == (1 / 1000, False)


def test_gaps_leave_each_pair_what_both_models_have() -> None:
    values, clusters = made_board(n_samples=24, n_models=5, n_clusters=8)
    holed = with_gaps(values, 0.15)
    for pair in paired_differences(holed, clusters, n_permutations=256):
        differences = holed[:, pair.first] - holed[:, pair.second]
        known = ~np.isnan(differences)
        labels = [label for label, is_known in zip(clusters, known, strict=True) if is_known]
        assert (pair.n_samples, pair.n_clusters) == (known.sum(), len(set(labels)))
        assert pair.difference == pytest.approx(differences[known].mean(), abs=1e-13)
        sums = cluster_sums(differences[known], labels)
        assert pair.p_value == pytest.approx(enumerated_p(sums), abs=1e-15)


def test_shared_columns_and_columns_of_a_pair_give_the_same() -> None:
    values, clusters = made_board(n_models=6)
    values[:10, :4] = np.nan
    values[5:20, 4] = np.nan
    together = paired_differences(values, clusters, n_permutations=FEW)
    for pair in together:
        (alone,) = paired_differences(
            values[:, [pair.first, pair.second]], clusters, n_permutations=FEW
        )
        assert (alone.n_samples, alone.n_clusters) == (pair.n_samples, pair.n_clusters)
        assert alone.difference == pytest.approx(pair.difference, abs=1e-13)
        assert (alone.low, alone.high) == pytest.approx((pair.low, pair.high), abs=1e-13)
        assert alone.p_value == pytest.approx(pair.p_value, abs=1e-12)


def test_models_scored_on_the_same_samples_share_columns() -> None:
    values, clusters = made_board(n_models=20)
    values[:30, :10] = np.nan
    (columns,) = pair_columns(score_matrix(values, clusters))
    # on the second half of the samples all 20 models; on all of them the second ten
    assert columns.sums.shape[1] == 1 + 20 + 10
    assert columns.counts.shape[1] == 2


def test_many_pairs_are_taken_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    values, clusters = made_board(n_models=8)
    whole = paired_differences(values, clusters, n_permutations=FEW)
    monkeypatch.setattr("medbench_vlmeval.stats.pair_columns._MOST_PAIRS_AT_ONCE", 5)
    parts = paired_differences(values, clusters, n_permutations=FEW)
    assert [(it.first, it.second) for it in parts] == [(it.first, it.second) for it in whole]
    for one, other in zip(whole, parts, strict=True):
        assert other.low == pytest.approx(one.low, abs=1e-13)
        assert other.p_value == pytest.approx(one.p_value, abs=1e-12)


def test_one_better_cluster_of_many_copies_is_no_evidence() -> None:
    values = np.zeros((50, 2))
    values[:, 0] = 1.0
    (pair,) = paired_differences(values, ["one image"] * 50)
    assert (pair.difference, pair.low, pair.high, pair.p_value) == (1.0, None, None, 1.0)
    assert pair.n_clusters == 1


def test_the_direction_follows_the_metric() -> None:
    values = np.array([[0.1, 0.9], [0.2, 0.8]])
    assert paired_differences(values)[0].better == 1
    assert paired_differences(values, higher_is_better=False)[0].better == 0
    assert paired_differences(values)[0].p_value == 0.5


def test_the_same_model_twice_differs_by_nothing() -> None:
    values, clusters = made_board(n_models=7)
    values[:, 5] = values[:, 1]
    found = {(it.first, it.second): it for it in paired_differences(values, clusters)}
    same = found[1, 5]
    assert (same.difference, same.low, same.high) == (0.0, 0.0, 0.0)
    assert (same.p_value, same.better, same.is_exact) == (1.0, None, True)
    assert found[0, 1].p_value == found[0, 5].p_value


def test_models_that_rounding_alone_parts_differ_by_nothing() -> None:
    values = np.tile([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]], (20, 1))
    clusters = np.arange(20).repeat(3).tolist()
    (pair,) = paired_differences(values, clusters, n_permutations=FEW)
    assert (pair.difference, pair.low, pair.high, pair.p_value) == (0.0, 0.0, 0.0, 1.0)


def test_models_that_are_equal_on_average_only_are_tied() -> None:
    values = np.array([[0.1, 0.3], [0.3, 0.1]] * 30)
    (pair,) = paired_differences(values, n_permutations=FEW)
    assert (pair.difference, pair.better, pair.p_value) == (0.0, None, 1.0)
    assert pair.low < 0 < pair.high


def test_totals_that_tie_count_as_ties_in_spite_of_rounding() -> None:
    # every difference is 0.1, so that only the two extreme flips reach the observed total
    values = np.array([[0.1 * it + 0.1, 0.1 * it] for it in range(10)])
    assert paired_differences(values)[0].p_value == 2 / 1024


def test_models_without_a_common_sample_cannot_be_compared() -> None:
    values = np.array([[1.0, np.nan, np.nan], [np.nan, 2.0, np.nan]])
    for pair in paired_differences(values):
        assert (pair.difference, pair.low, pair.p_value, pair.better) == (None,) * 4
        assert (pair.n_samples, pair.n_clusters) == (0, 0)


def test_one_model_has_no_pair() -> None:
    assert paired_differences([[0.1], [0.2]]) == []


def test_the_same_seed_gives_the_same_comparisons() -> None:
    values, clusters = made_board(n_models=3)
    same = [paired_differences(values, clusters, n_permutations=FEW, seed=2) for _ in range(2)]
    assert same[0] == same[1]
    assert paired_differences(values, clusters, n_permutations=FEW, seed=3) != same[0]


def test_no_permutation_is_refused() -> None:
    with pytest.raises(ValueError, match="expected at least 1 permutation, got 0"):
        paired_differences([[0.1, 0.2]], n_permutations=0)
