from __future__ import annotations

import numpy as np
import pytest
from scipy import stats as scipy_stats

from medbench_vlmeval.stats import mean_interval, summarise
from medbench_vlmeval.types import MetricInfo, Score, Status

STRICT = MetricInfo("M", "M", protocol="strict")
OFFICIAL = MetricInfo("M", "M")


def test_the_value_is_the_plain_mean() -> None:
    values = [0.1, 0.5, 0.9, 0.2]
    assert mean_interval(values).value == pytest.approx(np.mean(values), abs=0)


def test_the_interval_agrees_with_scipy() -> None:
    values = np.random.default_rng(3).beta(4, 2, size=400)
    ours = mean_interval(values, n_resamples=4000)
    theirs = scipy_stats.bootstrap(
        (values,), np.mean, n_resamples=4000, method="percentile", rng=np.random.default_rng(1)
    ).confidence_interval
    width = theirs.high - theirs.low
    assert abs(ours.low - theirs.low) < 0.06 * width
    assert abs(ours.high - theirs.high) < 0.06 * width


def test_the_same_seed_gives_the_same_interval() -> None:
    values = np.linspace(0, 1, 50)
    assert mean_interval(values, seed=5) == mean_interval(values, seed=5)
    assert mean_interval(values, seed=5) != mean_interval(values, seed=6)


def test_copies_of_a_cluster_do_not_narrow_the_interval() -> None:
    values = np.random.default_rng(0).random(40)
    repeated = np.repeat(values, 10)
    clusters = [str(i) for i in np.repeat(np.arange(40), 10)]
    plain = mean_interval(values, n_resamples=4000)
    clustered = mean_interval(repeated, clusters, n_resamples=4000)
    naive = mean_interval(repeated, n_resamples=4000)
    assert clustered.high - clustered.low == pytest.approx(plain.high - plain.low, rel=0.1)
    assert naive.high - naive.low < 0.5 * (clustered.high - clustered.low)
    assert clustered.n_clusters == 40


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    generator = np.random.default_rng(11)
    hits = 0
    for trial in range(300):
        interval = mean_interval(generator.normal(0.5, 0.2, 60), n_resamples=400, seed=trial)
        hits += interval.low <= 0.5 <= interval.high
    assert 0.90 <= hits / 300 <= 0.985


def test_one_cluster_has_no_interval() -> None:
    interval = mean_interval([0.2, 0.4], ["a", "a"])
    assert (interval.value, interval.low, interval.high) == (pytest.approx(0.3), None, None)


@pytest.mark.parametrize("values", [[], [[1.0]], [float("nan")]], ids=["empty", "2-D", "nan"])
def test_unusable_values_are_refused(values: list[object]) -> None:
    with pytest.raises(ValueError, match="expected"):
        mean_interval(values)


def test_labels_of_another_length_are_refused() -> None:
    with pytest.raises(ValueError, match="expected 2 cluster labels, got 1"):
        mean_interval([1.0, 2.0], ["a"])


def test_a_refusal_counts_worst_in_strict_and_nothing_in_official() -> None:
    scores = [Score(0.8), Score.unanswered(Status.REFUSAL)]
    assert summarise(scores, STRICT).value == pytest.approx(0.4)
    assert summarise(scores, OFFICIAL).value == pytest.approx(0.8)
    assert summarise(scores, STRICT).n_answered == 1
    assert summarise(scores, STRICT).n_scored == 2
    assert summarise(scores, OFFICIAL).n_scored == 1


def test_what_we_could_not_score_leaves_every_mean_and_shows_as_bounds() -> None:
    info = MetricInfo("VQ", "VQ", bounds=(0.0, 10.0))
    scores = [Score(8.0), Score.unscored(Status.REFUSAL), Score.unscored(Status.API_FAIL)]
    for protocol in ("official", "strict"):
        metric = MetricInfo("VQ", "VQ", bounds=info.bounds, protocol=protocol)
        summary = summarise(scores, metric)
        assert summary.value == 8.0
        assert (summary.n_expected, summary.n_scored) == (3, 1)
        assert (round(summary.floor, 2), round(summary.ceiling, 2)) == (2.67, 9.33)
        assert summary.status_counts == {"answer": 1, "refusal": 1, "api_fail": 1}


def test_nothing_scored_is_no_number() -> None:
    summary = summarise([Score.unscored(Status.API_FAIL)], OFFICIAL)
    assert summary.value is None
    assert summary.low is None


def test_a_fully_scored_group_has_equal_bounds() -> None:
    summary = summarise([Score(0.5), Score(0.7)], OFFICIAL)
    assert summary.floor == pytest.approx(summary.value)
    assert summary.ceiling == pytest.approx(summary.value)
