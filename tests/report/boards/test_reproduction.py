from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.report.boards.board import Board, Cell, CellKey
from medbench_vlmeval.report.boards.comparability import compared
from medbench_vlmeval.report.boards.reproduction import (
    ReproducedCell,
    reproduced_cells,
    reproduced_tables,
)
from medbench_vlmeval.report.boards.rows import board_of

from ...evaluation.medq_reasoning_cases import judge_script
from ...judging.server import JudgeServer
from ..made_runs import boxes, changed, choices, descriptions


def measuring(board: Board, cells: Mapping[CellKey, Cell]) -> Board:
    """The board with other numbers for its measured model."""
    return replace(
        board,
        rows=tuple(
            replace(row, cells={**row.cells, **cells}) if row.kind == "measured" else row
            for row in board.rows
        ),
    )


def cell_of(cells: tuple[ReproducedCell, ...], **place: str) -> ReproducedCell:
    (found,) = (cell for cell in cells if cell.key == CellKey(**place))
    return found


@pytest.fixture(scope="module")
def gpt_5(tmp_path_factory: pytest.TempPathFactory) -> Board:
    folder = tmp_path_factory.mktemp("gpt5")
    return board_of(compared([choices(folder, "gpt-5", [True, False, True])]))


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (0.60, 0.75, "agrees"),
        (0.68975, 0.75, "agrees"),
        (0.68976, 0.75, "differs"),
        (0.50, 0.68965, "agrees"),
        (0.50, 0.68964, "differs"),
        (None, None, "no interval"),
    ],
)
def test_a_figure_agrees_when_what_it_may_stand_for_reaches_into_the_interval(
    gpt_5: Board, low: float | None, high: float | None, verdict: str
) -> None:
    key = CellKey("accuracy")
    made = measuring(gpt_5, {key: Cell(0.70, low, high, 1305, 1305, 1305)})
    cell = cell_of(reproduced_cells(made), metric="accuracy")
    assert (cell.measured, cell.published) == ("gpt-5", "GPT-5")
    assert (cell.verdict, cell.as_printed, cell.table) == (verdict, "68.97", "medq-perception")
    assert cell.delta == pytest.approx(0.70 - 0.6897)


@pytest.mark.parametrize(
    ("n", "verdict", "why"),
    [
        (1305, "agrees", ""),
        (1300, "agrees", "over 1300 samples here, over 1305 published"),
        (1200, "not comparable", "over 1200 samples here, over 1305 published"),
        (3, "not comparable", "over 3 samples here, over 1305 published"),
    ],
)
def test_other_numbers_of_samples_are_said(gpt_5: Board, n: int, verdict: str, why: str) -> None:
    made = measuring(gpt_5, {CellKey("accuracy"): Cell(0.70, 0.6, 0.8, n, n, n)})
    cell = cell_of(reproduced_cells(made), metric="accuracy")
    assert (cell.verdict, cell.why) == (verdict, why)


def test_groups_are_compared_with_groups(gpt_5: Board) -> None:
    place = {"metric": "accuracy", "group_by": "question_type", "group": "What"}
    made = measuring(gpt_5, {CellKey(**place): Cell(0.60, 0.55, 0.65, 258, 258, 258)})
    assert cell_of(reproduced_cells(made), **place).verdict == "agrees"


def test_doubtful_figures_are_no_difference(tmp_path: Path) -> None:
    few = board_of(compared([choices(tmp_path, "GPT4o", [False] * 20)]))
    assert {it.verdict for it in reproduced_cells(few)} == {"not comparable"}
    sizes = {"Overall": 1305, "Yes-or-No": 558, "What": 258, "How": 489}
    by = {"Overall": "overall"}
    made = measuring(
        few,
        {
            CellKey("accuracy", by.get(group, "question_type"), group): Cell(0.1, 0, 0.2, n, n, n)
            for group, n in sizes.items()
        },
    )
    cells = reproduced_cells(made)
    assert {cell.verdict for cell in cells} == {"doubtful figure"}
    assert "The three columns give 64.85" in cell_of(cells, metric="accuracy").why
    (table,) = reproduced_tables(cells)
    assert table.line == (
        "medq-perception: GPT4o as GPT-4o: no figure can be held against it; 4 doubtful"
    )


def test_figures_without_a_counterpart_are_listed_and_never_compared(tmp_path: Path) -> None:
    data = choices(tmp_path, "gpt-5", [True] * 4, dataset="MedQDEG_test")
    cells = reproduced_cells(board_of(compared([data])))
    assert {cell.verdict for cell in cells} == {"not comparable"}
    average = [cell for cell in cells if cell.key == CellKey("accuracy")]
    assert len(average) == 2
    assert [cell.delta for cell in average] == [None, None]


def test_one_line_a_table(tmp_path: Path) -> None:
    made = board_of(compared([boxes(tmp_path, "Qwen2.5-VL-7B-Instruct", [0.0, 40.0, 90.0])]))
    numbers = {
        CellKey("IoU"): Cell(0.13, 0.12, 0.14, 9630, 9630, 9630),
        CellKey("IoU", "task", "referring"): Cell(0.20, 0.19, 0.21, 1482, 1482, 1482),
        CellKey("IoU", "task", "patch"): Cell(0.20, None, None, 1000, 1000, 1000),
    }
    made = measuring(made, numbers)
    iou, accuracy = reproduced_tables(reproduced_cells(made))
    assert iou.line == (
        "medsg-iou: Qwen2.5-VL-7B-Instruct as Qwen2.5-VL-7B: 1 of 2 figures agree, mean difference "
        "+0.041; 1 without an interval; 6 not comparable (the run has no such figure)"
    )
    assert accuracy.line.startswith("medsg-accuracy: ")


@pytest.mark.parametrize("name", ["GeminiPro2-5", "gemini-2.5-pro"])
def test_a_model_is_known_by_its_zoo_name_and_its_published_one(tmp_path: Path, name: str) -> None:
    made = board_of(compared([choices(tmp_path, name, [True, False])]))
    assert {cell.published for cell in reproduced_cells(made)} == {"Gemini-2.5-Pro"}


def test_a_model_of_another_name_is_the_one_that_the_user_says(tmp_path: Path) -> None:
    made = board_of(compared([choices(tmp_path, "mine", [True, False])]))
    assert reproduced_cells(made) == ()
    same = reproduced_cells(made, {"mine": "Grok-4"})
    assert {cell.published for cell in same} == {"Grok-4"}
    assert reproduced_cells(made, {"mine": "of another board"}) == ()


def test_questions_in_our_own_words_are_not_the_published_ones(tmp_path: Path) -> None:
    run = choices(tmp_path, "gpt-5", [True, False], asked={"wording": {"own": 2}})
    cell = cell_of(reproduced_cells(board_of(compared([run]))), metric="accuracy")
    assert (cell.verdict, cell.delta is not None) == ("not comparable", True)
    assert "our own words" in cell.why


@pytest.mark.parametrize(
    ("manifest", "verdict", "why"),
    [
        ({"judge": {"model_requested": "gpt-4o"}}, "differs", ""),
        ({"judge": {"model_requested": "gpt-4o-2024-08-06"}}, "differs", ""),
        ({"judge": {"model_requested": "gpt-4o-mini"}}, "not comparable", "judged by gpt-4o-mini"),
        ({}, "not comparable", "judged by judge, published with GPT-4o"),
        (
            {
                "judge": {"model_requested": "gpt-4o"},
                "prompts": {"medq_judge": {"comparable": False, "note": "own questions"}},
            },
            "not comparable",
            "own questions",
        ),
    ],
    ids=["alias", "snapshot", "another", "local", "own questions"],
)
def test_verdicts_are_compared_with_those_of_the_published_judge_only(
    tmp_path: Path, manifest: dict[str, Any], verdict: str, why: str
) -> None:
    with JudgeServer(judge_script({})) as server:
        run = descriptions(tmp_path, "gpt-5", server)
    published = {"prompts": {"medq_judge": {"comparable": True}}}
    run = changed(changed(run, **published), **manifest)
    made = measuring(
        board_of(compared([run])), {CellKey("Overall"): Cell(7.9, 7.8, 8.0, 221, 221, 221)}
    )
    cell = cell_of(reproduced_cells(made), metric="Overall")
    assert cell.verdict == verdict
    assert why in cell.why


def test_a_run_that_was_not_judged_reproduces_no_verdicts(tmp_path: Path) -> None:
    made = board_of(compared([descriptions(tmp_path, "gpt-5", None)]))
    cell = cell_of(reproduced_cells(made), metric="Overall")
    assert (cell.verdict, cell.delta) == ("not comparable", None)
    assert "no judge is configured" in cell.why
