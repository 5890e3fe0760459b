from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from medbench_vlmeval.stats import board_intervals, mean_interval

from .boards import made_board, with_gaps


def test_hits_get_the_interval_of_each_model_alone_to_the_last_bit() -> None:
    values, clusters = made_board()
    hits = (values > 0.5).astype(np.float64)
    alone = [mean_interval(column, clusters, seed=3) for column in hits.T]
    assert board_intervals(hits, clusters, seed=3) == alone


@pytest.mark.parametrize("is_clustered", [True, False], ids=["clusters", "single samples"])
def test_graded_scores_get_the_interval_of_each_model_alone(is_clustered: bool) -> None:
    values, labels = made_board(n_samples=700, n_clusters=600)
    clusters = labels if is_clustered else None
    for column, ours in zip(values.T, board_intervals(values, clusters, seed=7), strict=True):
        alone = mean_interval(column, clusters, seed=7)
        assert (ours.value, ours.n_clusters) == (alone.value, alone.n_clusters)
        assert (ours.low, ours.high) == pytest.approx((alone.low, alone.high), abs=1e-13)


def test_a_model_with_gaps_is_the_ratio_of_its_own_sums() -> None:
    values, clusters = made_board()
    holed = with_gaps(values, 0.3)
    numbers = {label: it for it, label in enumerate(dict.fromkeys(clusters))}
    known = ~np.isnan(holed[:, 1])
    sums, counts = np.zeros((2, len(numbers)))
    for label, value, is_known in zip(clusters, holed[:, 1], known, strict=True):
        sums[numbers[label]] += value if is_known else 0.0
        counts[numbers[label]] += is_known
    theirs = scipy_stats.bootstrap(
        (sums, counts),
        lambda sums, counts, axis: sums.sum(axis=axis) / counts.sum(axis=axis),
        paired=True, n_resamples=8000, method="percentile", rng=np.random.default_rng(5),
    ).confidence_interval  # fmt: skip
    ours = board_intervals(holed, clusters, n_resamples=8000)[1]
    width = theirs.high - theirs.low
    assert ours.value == holed[known, 1].mean()
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), abs=0.05 * width)


def test_gaps_of_one_model_change_no_other_model() -> None:
    values, clusters = made_board()
    holed = values.copy()
    holed[::2, 0] = np.nan
    whole, others = board_intervals(values, clusters), board_intervals(holed, clusters)
    assert others[0] != whole[0]
    for before, after in zip(whole[1:], others[1:], strict=True):
        assert (after.low, after.high) == pytest.approx((before.low, before.high), abs=1e-13)


def test_resamples_without_a_score_are_left_out() -> None:
    values = np.full((30, 2), 0.5)
    values[2:, 1] = np.nan
    values[:2, 1] = [0.0, 1.0]
    interval = board_intervals(values)[1]
    assert (interval.value, interval.low, interval.high) == (0.5, 0.0, 1.0)
    assert interval.n_clusters == 2


def test_a_model_without_scores_has_no_interval() -> None:
    values, clusters = made_board()
    values[:, 2] = np.nan
    intervals = board_intervals(values, clusters)
    assert [interval is None for interval in intervals] == [False, False, True, False, False]
    assert board_intervals(np.full((4, 2), np.nan)) == [None, None]


def test_scores_in_one_cluster_have_a_mean_and_no_ends() -> None:
    whole = board_intervals([[0.2], [0.4]], ["a", "a"])[0]
    assert (whole.value, whole.low, whole.high) == (pytest.approx(0.3), None, None)
    part = board_intervals([[0.2, 1.0], [0.4, np.nan]], ["a", "b"])[1]
    assert (part.value, part.low, part.high, part.n_clusters) == (1.0, None, None, 1)


def test_equal_scores_have_an_interval_without_width() -> None:
    interval = board_intervals(np.full((50, 1), 0.7))[0]
    assert (interval.low, interval.high) == pytest.approx((0.7, 0.7), abs=1e-15)


def test_two_samples_are_enough_for_an_interval() -> None:
    interval = board_intervals([[0.0], [1.0]])[0]
    assert (interval.value, interval.low, interval.high) == (0.5, 0.0, 1.0)


@pytest.mark.parametrize(
    ("values", "clusters", "level", "message"),
    [
        ([0.1, 0.2], None, 0.95, "n_samples, n_models"),
        (np.zeros((0, 3)), None, 0.95, "neither 0"),
        (np.zeros((3, 0)), None, 0.95, "neither 0"),
        ([[0.1, 0.3], [0.2, np.inf]], None, 0.95, "infinity in row 1, column 1"),
        ([[0.1], [0.2]], ["a"], 0.95, "expected 2 cluster labels, got 1"),
        ([[0.1], [0.2]], None, 95, "expected a level between 0 and 1, got 95"),
    ],
    ids=["1-D", "no sample", "no model", "infinite", "labels", "level"],
)
def test_unusable_input_is_refused(
    values: object, clusters: list[str] | None, level: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        board_intervals(values, clusters, level=level)
