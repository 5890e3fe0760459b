from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from medbench_vlmeval.stats import NeighbourOrder, RankSpread, rank_stability
from medbench_vlmeval.stats.resampling import resample_weights
from medbench_vlmeval.stats.score_matrix import score_matrix

from .boards import made_board


def test_models_far_apart_never_change_places() -> None:
    values = np.random.default_rng(0).random((60, 1)) + np.array([0.0, 2.0, 1.0])
    stable = rank_stability(values)
    assert stable.spreads == [
        RankSpread(1, 1.0, 1.0, 1.0, 1.0, 1.0),
        RankSpread(2, 2.0, 2.0, 2.0, 2.0, 0.0),
        RankSpread(0, 3.0, 3.0, 3.0, 3.0, 0.0),
    ]
    assert stable.neighbours == [NeighbourOrder(1, 2, 0.0, 0.0), NeighbourOrder(2, 0, 0.0, 0.0)]
    assert (stable.kendall_tau, stable.n_resamples) == (pytest.approx(1.0), 2000)


def test_lower_is_better_turns_the_board_round() -> None:
    values, clusters = made_board()
    ahead = rank_stability(values, clusters)
    behind = rank_stability(values, clusters, higher_is_better=False)
    assert [it.model for it in behind.spreads] == [it.model for it in reversed(ahead.spreads)]
    assert behind.kendall_tau == pytest.approx(ahead.kendall_tau, abs=1e-12)
    for one, other in zip(ahead.spreads, reversed(behind.spreads), strict=True):
        assert one.mean_rank + other.mean_rank == pytest.approx(6)
        assert (one.low, one.high) == (6 - other.high, 6 - other.low)
    mirrored = rank_stability(-values, clusters, higher_is_better=False)
    assert mirrored.spreads == ahead.spreads


def test_ranks_and_tau_agree_with_scipy_on_the_same_resamples() -> None:
    values, clusters = made_board(n_models=6)
    stable = rank_stability(values, clusters, n_resamples=300, seed=8)
    scores = score_matrix(values, clusters)
    sums, sizes = scores.summed(scores.values), scores.summed(scores.scored)
    (weights,) = resample_weights(scores.n_clusters, 300, 8)
    means = (weights @ sums) / (weights @ sizes)
    ranks = np.array([scipy_stats.rankdata(-row) for row in means])
    taus = [scipy_stats.kendalltau(-values.mean(axis=0), -row).statistic for row in means]
    assert stable.kendall_tau == pytest.approx(np.mean(taus), abs=1e-12)
    for spread in stable.spreads:
        drawn = ranks[:, spread.model]
        assert spread.mean_rank == pytest.approx(drawn.mean())
        assert spread.first == pytest.approx((drawn == 1).mean())
        assert (drawn < spread.low).mean() <= 0.025 <= (drawn <= spread.low).mean()
        assert (drawn <= spread.high).mean() >= 0.975
        assert spread.low <= spread.mean_rank <= spread.high
    for pair in stable.neighbours:
        assert pair.flipped == (means[:, pair.upper] < means[:, pair.lower]).mean()
    assert any(pair.flipped > 0 for pair in stable.neighbours)


def test_equal_models_share_ranks_and_the_first_place() -> None:
    values, clusters = made_board(n_models=1)
    stable = rank_stability(np.repeat(values, 3, axis=1) - [0.0, 0.0, 1.0], clusters)
    assert [(it.rank, it.low, it.high) for it in stable.spreads[:2]] == [(1.5, 1.5, 1.5)] * 2
    assert [it.first for it in stable.spreads] == [0.5, 0.5, 0.0]
    assert stable.neighbours[0] == NeighbourOrder(0, 1, flipped=0.0, tied=1.0)
    assert stable.kendall_tau == pytest.approx(1.0)


def test_models_that_rounding_alone_parts_are_tied() -> None:
    # 0.1 + 0.2 + 0.3 and 0.3 + 0.2 + 0.1 have different last bits
    values = np.tile([[0.1, 0.3], [0.2, 0.2], [0.3, 0.1]], (20, 1))
    stable = rank_stability(values, np.arange(20).repeat(3).tolist())
    assert stable.neighbours == [NeighbourOrder(0, 1, flipped=0.0, tied=1.0)]
    assert [it.first for it in stable.spreads] == [0.5, 0.5]


def test_tau_of_boards_with_ties_is_tau_b() -> None:
    values = np.random.default_rng(1).integers(0, 3, (9, 4)).astype(np.float64)
    values[:, 1] = values[:, 0]
    assert len(set(values.sum(axis=0))) == 3
    (weights,) = resample_weights(9, 200, 0)
    taus = [
        scipy_stats.kendalltau(values.sum(axis=0), row).statistic
        for row in weights @ values
        if len(set(row)) > 1
    ]
    stable = rank_stability(values, n_resamples=200)
    assert stable.kendall_tau == pytest.approx(np.mean(taus), abs=1e-12)


def test_a_board_on_which_all_are_equal_has_no_order() -> None:
    stable = rank_stability(np.full((20, 3), 0.4))
    assert stable.kendall_tau is None
    assert {(it.rank, it.mean_rank) for it in stable.spreads} == {(2.0, 2.0)}
    assert [it.first for it in stable.spreads] == pytest.approx([1 / 3] * 3)


def test_two_samples_that_disagree_leave_the_order_open() -> None:
    stable = rank_stability([[1.0, 0.0], [0.0, 0.9]], n_resamples=4000)
    assert stable.neighbours[0].flipped == pytest.approx(0.25, abs=0.03)
    assert stable.spreads[0].first == pytest.approx(0.75, abs=0.03)


def test_one_model_is_first() -> None:
    stable = rank_stability([[0.1], [0.2]])
    assert stable.spreads == [RankSpread(0, 1.0, 1.0, 1.0, 1.0, 1.0)]
    assert (stable.neighbours, stable.kendall_tau) == ([], None)


def test_one_cluster_says_nothing_about_the_order() -> None:
    stable = rank_stability([[0.1, 0.2], [0.3, 0.1]], ["a", "a"])
    assert (stable.spreads, stable.neighbours, stable.n_resamples) == ([], [], 0)
    assert stable.kendall_tau is None


def test_models_without_scores_are_not_ranked() -> None:
    values, clusters = made_board(n_models=4)
    values[:, 1] = np.nan
    stable = rank_stability(values, clusters)
    assert sorted(it.model for it in stable.spreads) == [0, 2, 3]
    assert stable.n_resamples == 2000
    assert rank_stability(np.full((5, 2), np.nan)).spreads == []


def test_resamples_in_which_a_model_has_no_score_are_left_out() -> None:
    values, _ = made_board(n_samples=40, n_models=3)
    values[1:, 0] = np.nan
    stable = rank_stability(values, n_resamples=4000)
    # (1 - 1/40)^40 of them hold nothing of the first model
    assert stable.n_resamples / 4000 == pytest.approx(1 - (1 - 1 / 40) ** 40, abs=0.04)
