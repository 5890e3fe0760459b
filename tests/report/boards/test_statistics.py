from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from medbench_vlmeval.report.boards.comparability import compared
from medbench_vlmeval.report.boards.firmness import MetricStatistics
from medbench_vlmeval.report.boards.rows import board_of
from medbench_vlmeval.report.boards.statistics import board_statistics, score_columns
from medbench_vlmeval.report.runs import Run
from medbench_vlmeval.stats import holm, mcnemar, paired_differences, rank_stability, summarise

from ...evaluation.medq_reasoning_cases import judge_script
from ...judging.server import JudgeServer
from ..made_runs import boxes, choices, descriptions

DRAWS = {"n_resamples": 200, "n_permutations": 2000}


def statistics(*runs: Run, metric: str, coverage: float = 0.5) -> MetricStatistics:
    made = board_of(compared(runs, least_coverage=coverage))
    return next(it for it in board_statistics(made, **DRAWS) if it.metric.name == metric)


def drawn(seed: int, share: float, n: int = 40) -> list[bool | None]:
    return [bool(it) for it in np.random.default_rng(seed).random(n) < share]


def test_the_numbers_behind_a_column_are_those_of_its_mean(tmp_path: Path) -> None:
    runs = [
        choices(tmp_path, "A", [True, None, False, True]),
        boxes(tmp_path, "B", [0.0, 30.0, None, 200.0]),
    ]
    for run in runs:
        for metric in run.metrics:
            values, clusters = score_columns([run], metric)
            scores = [it for it in run.scores_of(metric.name) if it is not None]
            summary = summarise(scores, metric)
            assert np.nanmean(values) == pytest.approx(summary.value)
            assert (~np.isnan(values)).sum() == summary.n_scored
            assert len(clusters) == len(run.rows)


def test_rows_are_matched_by_index_and_not_by_place(tmp_path: Path) -> None:
    one = choices(tmp_path, "A", [True, False, False])
    other = choices(tmp_path, "B", [True, False, False])
    turned = Run(other.manifest_path, other.manifest)
    object.__setattr__(turned, "rows", tuple(reversed(other.rows)))
    values, _ = score_columns([one, turned], one.metrics[0])
    assert (values[:, 0] == values[:, 1]).all()


def test_hits_on_images_of_their_own_are_compared_by_mcnemar(tmp_path: Path) -> None:
    hits = {"A": drawn(1, 0.8), "B": drawn(2, 0.5), "C": drawn(3, 0.3)}
    found = statistics(*(choices(tmp_path, *it) for it in hits.items()), metric="accuracy")
    assert {pair.test for pair in found.pairs} == {"McNemar"}
    tables = {
        (pair.first, pair.second): mcnemar(hits[pair.first], hits[pair.second])
        for pair in found.pairs
    }
    for pair in found.pairs:
        assert pair.discordant == tables[pair.first, pair.second]
        assert pair.p_value == tables[pair.first, pair.second].p_value
    assert [pair.p_adjusted for pair in found.pairs] == pytest.approx(
        holm([pair.p_value for pair in found.pairs]).tolist()
    )


def test_questions_that_share_images_are_compared_by_flips_of_whole_clusters(
    tmp_path: Path,
) -> None:
    hits = {"A": drawn(1, 0.8), "B": drawn(2, 0.5)}
    runs = [choices(tmp_path, *it, per_image=4) for it in hits.items()]
    found = statistics(*runs, metric="accuracy")
    (pair,) = found.pairs
    clusters = [row["cluster"] for row in runs[0].rows]
    values = np.array([hits[pair.first], hits[pair.second]], dtype=float).T
    (expected,) = paired_differences(values, clusters, **DRAWS)
    assert (pair.test, pair.discordant) == ("flips", None)
    assert (found.n_samples, found.n_clusters, pair.n_clusters) == (40, 10, 10)
    assert (pair.difference, pair.low, pair.high) == (
        expected.difference, expected.low, expected.high,
    )  # fmt: skip
    assert pair.p_value == expected.p_value


def test_graded_scores_are_compared_by_flips(tmp_path: Path) -> None:
    runs = [boxes(tmp_path, "A", [0.0, 5.0, 20.0, 9.0]), boxes(tmp_path, "B", [3.0, 1.0, 7.0, 2.0])]
    assert statistics(*runs, metric="IoU").pairs[0].test == "flips"
    assert statistics(*runs, metric="ACC@0.5").pairs[0].test == "McNemar"


def test_ranks_are_those_of_the_models_and_baselines_are_only_compared(tmp_path: Path) -> None:
    hits = {"A": drawn(1, 0.8), "B": drawn(2, 0.5), "Baseline-FirstOption": [True] * 40}
    found = statistics(*(choices(tmp_path, *it) for it in hits.items()), metric="accuracy")
    assert [it.name for it in found.ranked] == ["A", "B"]
    assert len(found.pairs) == 3
    values = np.array([hits["A"], hits["B"]], dtype=float).T
    expected = rank_stability(values, n_resamples=200)
    assert [(it.rank, it.low, it.high, it.first) for it in found.ranked] == [
        (it.rank, it.low, it.high, it.first) for it in expected.spreads
    ]
    (neighbour,) = found.neighbours
    assert (neighbour.upper, neighbour.lower) == ("A", "B")
    assert neighbour.flipped == expected.neighbours[0].flipped
    assert found.detectable == neighbour.detectable
    assert found.detectable is not None
    assert found.detectable > 0


def test_a_strict_column_holds_what_the_model_did_not_answer(tmp_path: Path) -> None:
    runs = [choices(tmp_path, "A", [True, None, True, True]), choices(tmp_path, "B", [True] * 4)]
    (pair,) = statistics(*runs, metric="accuracy_strict").pairs
    assert (pair.better, pair.difference, pair.n_samples) == ("B", 0.25, 4)


def test_published_rows_have_no_part_in_tests(tmp_path: Path) -> None:
    found = statistics(choices(tmp_path, "A", drawn(1, 0.8)), metric="accuracy")
    assert found.pairs == ()
    assert [it.name for it in found.ranked] == ["A"]


def test_one_cluster_gives_no_ranks(tmp_path: Path) -> None:
    runs = [choices(tmp_path, model, [True, False], per_image=2) for model in ("A", "B")]
    found = statistics(*runs, metric="accuracy")
    assert (found.ranked, found.neighbours, found.detectable) == ((), (), None)
    assert found.pairs[0].p_value == 1.0


def test_verdicts_of_another_snapshot_are_not_ranked(tmp_path: Path) -> None:
    with JudgeServer(judge_script({1: (0,) * 4})) as server:
        runs = [descriptions(tmp_path, model, server) for model in ("A", "B")]
        later = descriptions(tmp_path, "C", server, judge={"models_returned": ["judge-later"]})
    found = statistics(*runs, later, metric="Overall")
    assert [it.name for it in found.ranked] == ["A", "B"]
    assert found.not_ranked == ("C",)
    assert len(found.pairs) == 1
    unjudged = statistics(*runs, later, metric="quality_accuracy_read")
    assert len(unjudged.ranked) == 3


def test_a_column_that_nobody_has_values_in_has_no_statistics(tmp_path: Path) -> None:
    made = board_of(compared([descriptions(tmp_path, "A", None)]))
    assert [it.metric.name for it in board_statistics(made, **DRAWS)] == ["quality_accuracy_read"]
