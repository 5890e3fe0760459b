from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.evaluation.medebench_metrics import CP, EA, PSNR_INSIDE
from medbench_vlmeval.evaluation.medq_perception_metrics import ACCURACY
from medbench_vlmeval.evaluation.medq_reasoning_metrics import OFFICIAL, QUALITY_READ
from medbench_vlmeval.evaluation.medsg_metrics import IOU, IOU_STRICT
from medbench_vlmeval.report.plots.data import (
    OVERALL,
    Series,
    bars_of,
    distributions_of,
    estimates_of,
)
from medbench_vlmeval.report.plots.kinds import (
    failure_of,
    group_link,
    kind_of,
    labels_of,
    sample_link,
)
from medbench_vlmeval.report.plots.pairs import agreement, confusion, model_points, trade_off
from medbench_vlmeval.report.runs import Run, RunUnreadable
from medbench_vlmeval.types import MetricInfo

from .plot_runs import box, choice, description, edit, made_run

FAILURES = [
    (edit(1, "missing", "missing"), EA, "missing"),
    (edit(1, "judge unparsed", 0.5), EA, "judge: unparsed"),
    (edit(1, "judge api_fail", 0.5), EA, "judge: call failed"),
    (edit(1, "not judged", 0.5), EA, "not judged"),
    (edit(1, "data_error", 0.5), EA, "data error"),
    (edit(1, 0.0, 0.5), EA, None),
    (edit(1, 0.0, 0.5), PSNR_INSIDE, "not in the file"),
    (box(1, "unparsed"), IOU, "unparsed"),
    (box(1, "refusal"), IOU_STRICT, "refusal"),
    (box(1, 0.0), IOU, None),
    (box(1, "unparsed", official=0.0), IOU, None),
    (choice(1, "refusal"), ACCURACY, "refusal"),
    (choice(1, 0.0), ACCURACY, None),
    ({**choice(1, 0.0), "official_letter": "Both"}, ACCURACY, "no answer by the published rule"),
]


@pytest.mark.parametrize(("row", "metric", "why"), FAILURES, ids=range(len(FAILURES)))
def test_a_row_fails_for_the_reason_that_its_files_give(
    row: dict[str, Any], metric: MetricInfo, why: str | None
) -> None:
    assert failure_of(row, metric) == why


def test_a_status_that_is_none_is_named() -> None:
    with pytest.raises(RunUnreadable, match=r"row 7: expected a status, got 'lost'"):
        failure_of(box(7, "lost"), IOU)


def test_a_table_with_something_else_than_numbers_is_named(tmp_path: Path) -> None:
    run = made_run(tmp_path, "MedSG_test", [box(1, 0.5)])
    path = run.beside("_acc.csv")
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], lines[1].replace("0.5", "o.5")]), encoding="utf-8")
    with pytest.raises(RunUnreadable, match=r"M_MedSG_test_acc.csv, line 2: expected .* 'o\."):
        estimates_of(Run.at(run.manifest_path))


def test_failures_are_never_in_the_bin_of_zero() -> None:
    rows = [box(1, 0.0), box(2, "unparsed"), box(3, "missing"), box(4, 0.02), box(5, "data_error")]
    (found,) = distributions_of({"all": rows}, IOU)
    assert found.bins[0].samples == (1, 4)
    assert found.failures == {"data error": (5,), "missing": (3,), "unparsed": (2,)}
    assert (found.n_scored, found.n) == (2, 5)


@pytest.mark.parametrize(
    ("value", "place"),
    [(0.0, 0), (0.049, 0), (0.05, 1), (0.3, 6), (0.5, 10), (0.7, 14), (0.6999, 13), (1.0, 19)],
)
def test_a_score_on_an_edge_is_in_the_bin_above(value: float, place: int) -> None:
    (found,) = distributions_of({"all": [box(7, value)]}, IOU)
    assert [at for at, it in enumerate(found.bins) if it.samples] == [place]
    assert len(found.bins) == 20
    assert found.bins[place].low <= value + 1e-9


@pytest.mark.parametrize("value", [-0.03, 1.0001])
def test_scores_out_of_bounds_get_bins_of_their_own(value: float) -> None:
    (found,) = distributions_of({"all": [edit(1, 0.5, value), edit(2, 0.5, 0.5)]}, CP)
    assert len(found.bins) == 21
    (held,) = (it for it in found.bins if it.samples == (1,))
    assert held.low <= value < held.high


def test_bins_are_single_values_where_every_score_is_a_step() -> None:
    rows = {"a": [edit(1, 0.3, 0.5)], "b": [edit(2, 1.0, 0.5), edit(3, 0.0, 0.5)]}
    a, b = distributions_of(rows, EA, 10)
    assert a.is_stepped
    assert [it.samples for it in a.bins if it.samples] == [(1,)]
    assert a.bins[3].low == pytest.approx(0.3)
    assert [it.samples for it in b.bins if it.samples] == [(3,), (2,)]
    between = distributions_of({**rows, "c": [edit(4, 0.35, 0.5)]}, EA, 10)
    assert not any(it.is_stepped for it in between)


def test_no_rows_give_empty_bins() -> None:
    (found,) = distributions_of({"all": []}, EA, 10)
    assert (found.n, dict(found.failures)) == (0, {})


def test_bars_hold_the_table_and_name_what_has_no_value(tmp_path: Path) -> None:
    rows = [
        edit(1, "not judged", 0.2),
        edit(2, "not judged", 0.6),
        edit(3, "missing", "missing", "Lung"),
    ]
    run = made_run(tmp_path, "MedEBench_test", rows)
    series = [
        Series("official", run, {"CP": "CP", "EA": "EA"}),
        Series("strict", run, {"CP": "CP_strict"}),
    ]
    bars = bars_of(series, [CP, EA], "organ")
    # a missing image is 0 in the strict mean of EA, which nobody judged otherwise
    assert bars.panels == (CP,)
    assert bars.empty == (EA.label,)
    assert bars.places == (OVERALL, ("organ", "Teeth"), ("organ", "Lung"))
    teeth = bars.estimates["CP", ("organ", "Teeth"), "official"]
    assert (teeth.value, teeth.n_scored, teeth.n_expected) == (pytest.approx(0.4), 2, 2)
    lung = bars.estimates["CP", ("organ", "Lung"), "official"]
    assert (lung.value, lung.interval, lung.n_scored) == (None, None, 0)
    assert bars.estimates["CP", OVERALL, "strict"].value == pytest.approx(0.8 / 3)
    assert bars.n_of(("organ", "Teeth")) == (2, 2)


def test_one_sample_has_a_mean_and_no_interval(tmp_path: Path) -> None:
    run = made_run(tmp_path, "MedEBench_test", [edit(1, 0.5, 0.25)])
    bars = bars_of([Series("official", run, {"CP": "CP"})], [CP], "organ")
    only = bars.estimates["CP", OVERALL, "official"]
    assert (only.value, only.interval) == (0.25, None)


def test_the_trade_off_leaves_out_what_lacks_a_score_and_says_why() -> None:
    rows = [edit(1, 0.5, 0.9), edit(2, "missing", "missing"), edit(3, "judge unparsed", 0.9)]
    found = trade_off(rows, CP, EA)
    assert [(it.index, it.x, it.y) for it in found.points] == [(1, 0.9, 0.5)]
    assert found.absent == ("missing", "judge: unparsed")


def test_models_without_one_of_the_means_are_named(tmp_path: Path) -> None:
    judged = made_run(tmp_path / "a", "MedEBench_test", [edit(1, 0.5, 0.9), edit(2, 0.7, 0.7)])
    blank = made_run(tmp_path / "b", "MedEBench_test", [edit(1, "not judged", 0.9)])
    points, absent = model_points(["a", "b"], [judged, blank], CP, EA)
    assert [(it.label, it.x.value, it.y.value) for it in points] == [("a", 0.8, 0.6)]
    assert absent == ("b",)


def test_conclusions_are_counted_by_reference_and_reply() -> None:
    rows = [
        description(1, "good", "good"),
        description(2, "good", "reject"),
        description(3, "usable", None),
        description(4, None, "good"),
        description(5, "good", "good"),
    ]
    matrix, left_out = confusion("M", rows)
    assert left_out == 1
    assert matrix.rows == ("good", "usable", "reject")
    assert matrix.columns == ("good", "usable", "reject", "none")
    assert matrix.cells == {
        ("good", "good"): (1, 5),
        ("good", "reject"): (2,),
        ("usable", "none"): (3,),
    }
    assert matrix.n_row("good") == 3


def test_paired_conclusions_have_their_own_labels_and_strange_ones_are_kept() -> None:
    facts = {"reference_conclusion": "first", "scores": {}}
    rows = [{"index": 1, **facts, "conclusion": "second"}, {"index": 2, **facts, "conclusion": "?"}]
    matrix, _ = confusion("M", rows)
    assert matrix.rows == ("first", "second", "?")
    assert (matrix.n("first", "second"), matrix.n("first", "?")) == (1, 1)


def test_agreement_counts_points_against_points() -> None:
    rows = [
        description(1, "good", "good", 2.0),
        description(2, "good", "usable", 2.0),
        description(3, "good", None, 0.0),
        description(4, "good", "reject", "judge unparsed"),
        description(5, "good", "good", 4 / 3),
    ]
    matrix = agreement("M", rows, OFFICIAL["quality_accuracy"], QUALITY_READ)
    assert matrix.rows == ("0", "1", "2", "no score")
    assert matrix.cells == {
        ("2", "2"): (1,),
        ("2", "1"): (2,),
        ("0", "no score"): (3,),
        ("no score", "0"): (4,),
        ("1", "2"): (5,),
    }


def test_links_are_fragments_that_hold_any_name() -> None:
    assert sample_link([12]) == "#sample=12"
    assert sample_link([1, 'a,"b']) == "#samples=1,a%2C%22b"
    assert sample_link([]) == ""
    assert group_link("organ", "Teeth & <gums>") == "#organ=Teeth%20%26%20%3Cgums%3E"
    assert group_link("organ", "\ud800") == "#organ=%ED%A0%80"
    assert group_link("overall", "Overall") == ""


def test_kinds_follow_from_metrics_and_models_of_one_name_are_numbered(tmp_path: Path) -> None:
    edits = made_run(tmp_path / "a", "MedEBench_test", [edit(1, 0.5, 0.9)])
    again = made_run(tmp_path / "b", "MedEBench_test", [edit(1, 0.5, 0.9)])
    other = made_run(tmp_path / "c", "MedSG_test", [box(1, 0.5)], model="N")
    assert [kind_of(run).name for run in (edits, other)] == ["edit", "boxes"]
    assert labels_of([edits, other, again]) == ("M (1)", "N", "M (2)")
