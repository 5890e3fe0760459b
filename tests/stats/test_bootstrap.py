from __future__ import annotations

import numpy as np
import pytest

from medbench_vlmeval.stats import mean_interval
from medbench_vlmeval.stats.bootstrap import statistic_interval

RNG = np.random.default_rng(3)
VALUES = RNG.normal(size=24)
CLUSTERS = [number // 2 for number in range(24)]


def test_of_a_mean_it_is_the_interval_of_the_mean() -> None:
    found = statistic_interval(lambda rows: float(rows.mean()), VALUES, CLUSTERS)
    expected = mean_interval(VALUES, CLUSTERS)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx(
        (expected.value, expected.low, expected.high), abs=1e-12
    )
    assert found.n_clusters == 12


def test_rows_of_one_cluster_are_drawn_together() -> None:
    rows = np.stack([np.arange(6.0), np.repeat([0.0, 1.0, 2.0], 2)], axis=1)

    def is_whole(drawn: np.ndarray) -> float:
        counts = np.bincount(drawn[:, 0].astype(int), minlength=6)
        return float((counts[::2] == counts[1::2]).all())

    found = statistic_interval(is_whole, rows, [0, 0, 1, 1, 2, 2], n_resamples=200)
    assert found is not None
    assert (found.low, found.high) == (1.0, 1.0)


def test_a_statistic_that_is_undefined_has_no_interval() -> None:
    assert statistic_interval(lambda rows: None, VALUES) is None


def test_many_undefined_resamples_leave_the_value_without_interval() -> None:
    rows = np.array([0.0, 0.0, 0.0, 1.0])
    found = statistic_interval(lambda drawn: float(drawn.std()) or None, rows)
    assert found is not None
    assert found.value == pytest.approx(rows.std())
    assert (found.low, found.high) == (None, None)


def test_one_cluster_has_no_interval() -> None:
    found = statistic_interval(lambda rows: float(rows.mean()), VALUES, ["one"] * 24)
    assert found is not None
    assert (found.low, found.high, found.n_clusters) == (None, None, 1)


def test_labels_must_match() -> None:
    with pytest.raises(ValueError, match="24 cluster labels"):
        statistic_interval(lambda rows: float(rows.mean()), VALUES, ["one"])
