"""Cases of public reports about boards: what must not be mixed, hidden or called finished."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medbench_vlmeval.cli import main
from medbench_vlmeval.report.boards.files import write_boards
from medbench_vlmeval.report.boards.leaderboard import BoardReport, leaderboard
from medbench_vlmeval.report.boards.markdown import board_markdown
from medbench_vlmeval.report.published import tables

from ...evaluation.medq_reasoning_cases import judge_script
from ...judging.server import JudgeServer
from ...shared import shared_cases
from ..made_runs import boxes, choices, descriptions, write_predictions

HITS = [True, False, True, True]


def report(*runs: Any) -> BoardReport:
    (made,) = leaderboard(runs).reports
    return made


def cells(made: BoardReport, folder: Path) -> list[dict[str, str]]:
    (path,) = write_boards([made], folder, ["csv"])
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def names_the_protocol(required: dict[str, Any], folder: Path) -> None:
    assert required["table_names_protocol"] == "plain, 1 pass"
    text = board_markdown(report(choices(folder, "A", HITS)))
    assert "accuracy is plain: every question once" in text.split("## Overall")[0]


def an_empty_result_is_an_error(required: dict[str, Any], folder: Path) -> None:
    run = boxes(folder, "A", [0.0])
    run.beside("_scores.jsonl").write_text("", encoding="utf-8")
    result = CliRunner().invoke(main, ["leaderboard", str(folder), "--out", str(folder / "out")])
    assert (result.exit_code != 0) is required["raises"]
    assert ("None" in result.output) is required["prints_None"]


def a_few_answers_are_no_run(required: dict[str, Any], folder: Path) -> None:
    n, n_open = 60, round(60 * required["rows_to_do"] / 1182)
    hits: list[bool | None] = [*[True] * (n - n_open), *[None] * n_open]
    (comparison,) = leaderboard([choices(folder, "A", hits)]).without_board
    assert f"{n_open} of {n} samples have no reply" in comparison.left_out[0].reason


def two_snapshots(required: dict[str, Any], folder: Path) -> None:
    with JudgeServer(judge_script({1: (0,) * 4})) as server:
        runs = [
            descriptions(folder, f"{snapshot} {number}", server, judge={key: value})
            for key in ("model_requested", "models_returned")
            for snapshot in ("gpt-4o-2024-05-13", "gpt-4o-2024-11-20")
            for number in (1, 2)
            for value in ([snapshot] if key == "models_returned" else snapshot,)
        ]
    by_request, by_answer = runs[:4], runs[4:]
    for group in (by_request, by_answer):
        made = report(*group)
        overall = next(it for it in made.statistics if it.metric.name == "Overall")
        ranked = {it.name.partition(" ")[0] for it in overall.ranked}
        assert len(ranked) == 1
        shown = [it for it in cells(made, folder / "out") if it["judged"] == "1" and it["value"]]
        assert required["every_cell_has"] == "judge model and date"
        assert all(it["judge"] and it["date"] for it in shown)


def the_ledger_says_what_a_figure_is_of(required: dict[str, Any], folder: Path) -> None:
    assert required["ledger_cell_has"] == ["subset", "judge", "source"]
    for table in tables():
        assert table.source.citation
        for cell in table.cells():
            assert cell.n is None or cell.n > 0
            assert (table.judge is None) or table.judge.name
    unknown = report(boxes(folder, "A", [0.0])).board.of_kind("published")
    marked = [cell for row in unknown for cell in row.cells.values() if cell.n_scored is None]
    assert all("denominator_unknown" in cell.caveats for cell in marked)


def tracks_are_apart(required: dict[str, Any], folder: Path) -> None:
    assert required["field"].startswith("track")
    made = report(choices(folder, "A", HITS), choices(folder, "B", HITS, track="rewrite"))
    assert (len(made.board.of_kind("measured")) > 1) is required["mixed_ranking"]
    assert "another track" in made.board.comparison.left_out[0].reason


def any_judge_and_boards_that_separate_them(required: dict[str, Any], folder: Path) -> None:
    with JudgeServer(judge_script({})) as server:
        runs = [descriptions(folder, name, server) for name in ("A", "B")]
        weights = {"weights_sha256": "1" * 64}
        other = descriptions(folder, "C", server, settings=weights)
    assert runs[0].manifest["judge"]["model_requested"] == "judge"
    assert other.manifest["judge"]["weights_sha256"] == "1" * 64
    made = report(*runs, other)
    shown = {it["model"] for it in cells(made, folder / "out")
             if it["kind"] == "measured" and it["judged"] == "1" and it["value"]}  # fmt: skip
    assert (shown == {"A", "B"}) is required["board_separates_judges"]


CHECKS: dict[str, Callable[[dict[str, Any], Path], None]] = {
    "B15b": names_the_protocol,
    "B105a": an_empty_result_is_an_error,
    "B113a": a_few_answers_are_no_run,
    "B125a": two_snapshots,
    "B127a": the_ledger_says_what_a_figure_is_of,
    "B129a": tracks_are_apart,
    "B131a": any_judge_and_boards_that_separate_them,
}
"""The cases of runs.jsonl that are about boards; the others are about resuming and pages."""

BOARDS = [it for it in shared_cases("runs.jsonl") if it.id in CHECKS or it.id == "absent"]


@pytest.mark.parametrize("case", BOARDS)
def test_cases_of_boards(case: dict[str, Any], tmp_path: Path) -> None:
    CHECKS[case["id"]](case["required"], tmp_path)


def test_every_case_of_boards_is_looked_at() -> None:
    assert {it.id for it in BOARDS} in ({*CHECKS}, {"absent"})


def test_predictions_alone_are_no_run(tmp_path: Path) -> None:
    write_predictions(tmp_path / "M_MedSG_test.jsonl", {})
    result = CliRunner().invoke(main, ["leaderboard", str(tmp_path)])
    assert result.exit_code == 1
    assert "not evaluated" in result.output
