from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.report.boards.board import Board, CellKey
from medbench_vlmeval.report.boards.comparability import compared
from medbench_vlmeval.report.boards.rows import board_of
from medbench_vlmeval.report.boards.text import board_table, counts_of, shown_cell
from medbench_vlmeval.report.published import published_cells
from medbench_vlmeval.report.runs import Run

from ...evaluation.medq_reasoning_cases import judge_script
from ...judging.server import Answer, JudgeServer
from ..made_runs import boxes, changed, choices, descriptions

HITS = [True, False, True, True, None, True, False, True, True, True]


def board(*runs: Run, with_published: bool = True) -> Board:
    return board_of(compared(runs, least_coverage=0.5), with_published=with_published)


def names(made: Board, kind: str) -> list[str]:
    return [row.name for row in made.rows if row.kind == kind]


@pytest.fixture(scope="module")
def perception(tmp_path_factory: pytest.TempPathFactory) -> Board:
    folder = tmp_path_factory.mktemp("perception")
    models = {"A": HITS, "B": [True] * 10, "Baseline-FirstOption": [False] * 9 + [True]}
    return board(*(choices(folder, model, hits) for model, hits in models.items()))


def test_measured_rows_come_first_best_first_then_baselines_then_published(
    perception: Board,
) -> None:
    assert perception.sorted_by.name == "accuracy"
    kinds = [row.kind for row in perception.rows]
    assert kinds == sorted(kinds, key=["measured", "baseline", "published"].index)
    assert names(perception, "measured") == ["B", "A"]
    assert names(perception, "baseline") == ["Baseline-FirstOption"]
    values = [
        cell.value
        for row in perception.of_kind("published")
        if (cell := row.cell("accuracy")) is not None and cell.value is not None
    ]
    assert values == sorted(values, reverse=True)


def test_every_cell_is_the_line_of_the_runs_own_table(perception: Board) -> None:
    row = next(row for row in perception.rows if row.name == "A")
    assert row.run is not None
    assert len(row.cells) == len(row.run.table)
    for line in row.run.table:
        cell = row.cells[CellKey(line["metric"], line["group_by"], line["group"])]
        numbers = (cell.value, cell.low, cell.high, cell.floor, cell.ceiling)
        written = [line[name] for name in ("value", "low", "high", "floor", "ceiling")]
        assert numbers == tuple(float(text) if text else None for text in written)
        counts = (cell.n_expected, cell.n_answered, cell.n_scored)
        assert counts == tuple(int(line[f"n_{it}"]) for it in ("expected", "answered", "scored"))


def test_official_and_strict_stand_side_by_side_with_coverage(perception: Board) -> None:
    assert [metric.name for metric in perception.headline] == ["accuracy", "accuracy_strict"]
    row = next(row for row in perception.rows if row.name == "A")
    assert counts_of(row.cell(it.name) for it in perception.headline) == ("10", "9", "10")
    assert perception.n_samples == 10


def test_groups_are_those_of_runs_and_tables(perception: Board) -> None:
    assert set(perception.groups) == {"question_type", "modality"}
    assert perception.groups["question_type"] == ("Yes-or-No", "What", "How")
    published = next(row for row in perception.of_kind("published") if row.name == "GPT-5")
    cell = published.cell("accuracy", "question_type", "What")
    assert cell is not None
    assert (cell.value, cell.printed, cell.n_scored) == (0.6047, "60.47", 258)


def test_published_cells_keep_their_caveats_and_what_has_no_counterpart_is_apart(
    perception: Board,
) -> None:
    doubtful = next(row for row in perception.of_kind("published") if row.name == "GPT-4o")
    cell = doubtful.cell("accuracy")
    assert cell is not None
    assert cell.is_doubtful
    assert "does_not_add_up" in cell.caveats
    assert shown_cell(cell, perception.metrics[0]).endswith("?")
    assert {it.table for it in perception.unmatched} == {"medq-human-gap", "medq-degradation"}
    on_rows = sum(len(row.cells) for row in perception.of_kind("published"))
    everything = published_cells(dataset="MedQ_MCQ_test")
    assert on_rows + len(perception.unmatched) == len(everything)


def test_the_board_names_its_protocol(perception: Board) -> None:
    assert any("accuracy is plain: every question once" in note for note in perception.notes)


def test_answers_without_looking_are_baseline_rows(tmp_path: Path) -> None:
    made = board(boxes(tmp_path, "A", [0.0, 5.0, None]))
    assert set(names(made, "baseline")) == {"whole image", "centre box"}
    row = next(row for row in made.rows if row.name == "whole image")
    cell = row.cell("IoU")
    assert cell is not None
    assert cell.value == pytest.approx(100 * 100 / 336**2)
    assert (cell.low, cell.high) == (None, None)


def test_boards_without_published_rows(tmp_path: Path) -> None:
    made = board(choices(tmp_path, "A", HITS), with_published=False)
    assert names(made, "published") == []
    assert made.unmatched == ()


def test_a_board_of_a_part_of_the_samples_shows_no_published_figures(tmp_path: Path) -> None:
    part = choices(tmp_path, "A", HITS, expected=[1, 2, 3])
    made = board_of(compared([part], like=part))
    assert names(made, "published") == []
    assert "about 3 of 10 samples only; published figures are over all" in made.notes[-1]


def test_judged_cells_of_another_judge_are_blank_and_the_others_stay(tmp_path: Path) -> None:
    with JudgeServer(judge_script({})) as server:
        runs = [descriptions(tmp_path, model, server) for model in ("A", "B")]
        odd = descriptions(tmp_path, "Odd", server, settings={"model": "other"})
    never = descriptions(tmp_path, "Never", None)
    made = board(*runs, odd, never)
    by_name = {row.name: row for row in made.rows}
    for row in (by_name["Odd"], by_name["Never"]):
        for metric in made.metrics:
            cell = row.cell(metric.name)
            assert cell is not None
            assert (cell.value is None) == metric.judged
    blank = by_name["Odd"].cell("Overall")
    assert blank is not None
    assert "judge model: other, on the board judge" in blank.note
    assert by_name["A"].judge == "judge (judge-2026-01-01)"
    assert made.sorted_by.name == "Overall"
    assert [metric.name for metric in made.headline] == [
        "Overall", "Overall_strict", "quality_accuracy_read",
    ]  # fmt: skip
    assert names(made, "measured")[:2] == ["A", "B"]


def test_without_a_judge_the_board_is_sorted_by_what_needs_none(tmp_path: Path) -> None:
    made = board(descriptions(tmp_path, "A", None))
    assert made.sorted_by.name == "quality_accuracy_read"
    cell = made.rows[0].cell("Overall")
    assert cell is not None
    assert "no judge is configured" in cell.note


def test_what_could_not_be_judged_is_shown_as_bounds(tmp_path: Path) -> None:
    with JudgeServer(judge_script({2: (Answer.says("I cannot say."),) * 4})) as server:
        made = board(descriptions(tmp_path, "A", server))
    cell = made.rows[0].cell("completeness")
    assert cell is not None
    assert cell.is_bounded
    assert "(all: 1.33 – 2.00)" in shown_cell(cell, made.metric("completeness"))


def test_the_table_names_models_without_markup_and_control_characters(tmp_path: Path) -> None:
    made = board(choices(tmp_path, "[red]x\x1b[31m\u202e", HITS), with_published=False)
    text = board_table(made)
    assert "[red]x<U+001B>[31m<U+202E>" in text
    assert "\x1b" not in text


def test_a_board_needs_a_run(tmp_path: Path) -> None:
    run = choices(tmp_path, "A", HITS, complete=False)
    with pytest.raises(ValueError, match="expected a run that can stand"):
        board_of(compared([run]))


def test_signs_that_scores_were_not_earned_stand_beside_the_model(tmp_path: Path) -> None:
    run = changed(choices(tmp_path, "M", [True] * 6), gaming=["no_edit in 62% of 6 samples: none"])
    (row,) = board(run, with_published=False).of_kind("measured")
    assert row.notes == ("no_edit in 62% of 6 samples: none",)


def test_runs_under_the_hosts_names_stand_beside_the_published_figures(tmp_path: Path) -> None:
    ours = board(choices(tmp_path / "ours", "M", [True] * 6)).of_kind("published")
    run = choices(tmp_path / "host", "M", [True] * 6)
    renamed = changed(run, data={**run.manifest["data"], "name": "MedqbenchMCQ_test"})
    theirs = board(renamed)
    assert theirs.dataset == "MedqbenchMCQ_test"
    assert [row.name for row in theirs.of_kind("published")] == [row.name for row in ours]
    assert ours
