from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.report.boards.files import FORMATS, file_name, write_boards
from medbench_vlmeval.report.boards.leaderboard import BoardReport, leaderboard
from medbench_vlmeval.report.published import tables

from ...evaluation.medq_reasoning_cases import judge_script
from ...judging.server import JudgeServer
from ..made_runs import boxes, choices, descriptions

EVIL = "=cmd|' /C calc'!A0<script>alert(1)</script>\x1b[31m\u202e"
HITS = [True, False, True, True, False, True]


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> tuple[BoardReport, ...]:
    folder = tmp_path_factory.mktemp("runs")
    with JudgeServer(judge_script({})) as server:
        runs = [
            choices(folder, "gpt-5", HITS),
            choices(folder, f"org/{EVIL}", HITS[::-1]),
            choices(folder, EVIL.replace("/", ""), HITS),
            choices(folder, "part", HITS, complete=False),
            boxes(folder, "Qwen2.5-VL-7B-Instruct", [0.0, 3.0, 50.0, None]),
            descriptions(folder, "GPT4o", server),
            descriptions(folder, "other", server, judge={"model_requested": "another"}),
        ]
    made = leaderboard(runs)
    assert made.problems == ()
    return made.reports


def written(reports: tuple[BoardReport, ...], folder: Path) -> dict[str, str]:
    paths = write_boards(reports, folder)
    assert len(paths) == len(reports) * len(FORMATS) + 1  # the page that leads to the others
    return {path.name: path.read_text(encoding="utf-8") for path in paths}


def csv_rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(text.splitlines(keepends=True)))


def test_one_file_a_board_and_format(reports: tuple[BoardReport, ...], tmp_path: Path) -> None:
    names = set(written(reports, tmp_path / "new" / "folder"))
    boards = ("MedQ_Caption_test", "MedQ_MCQ_test", "MedSG_test")
    assert names >= {f"{board}.{kind}" for board in boards for kind in ("md", "csv", "json")}
    assert not [path for path in tmp_path.rglob("*") if path.suffix == ".part"]


def test_csv_has_one_line_a_cell_and_numbers_as_they_are(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    texts = written(reports, tmp_path)
    for report in reports:
        rows = csv_rows(texts[f"{report.board.dataset}.csv"])
        n_cells = sum(len(row.cells) for row in report.board.rows)
        assert len(rows) == n_cells + len(report.board.unmatched)
        places = {(it["kind"], it["model"], it["metric"], it["group_by"], it["group"], it["table"])
                  for it in rows}  # fmt: skip
        assert len(places) == len(rows)
    rows = csv_rows(texts["MedQ_MCQ_test.csv"])
    cell = next(it for it in rows if (it["kind"], it["model"]) == ("measured", "gpt-5"))
    assert float(cell["value"]) == pytest.approx(4 / 6)
    assert (cell["protocol"], cell["judged"], cell["comparable"]) == ("official", "0", "1")


def test_no_text_of_a_csv_is_a_formula_and_negative_numbers_stay_numbers(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    texts = written(reports, tmp_path)
    seen = set()
    for name, text in texts.items():
        if not name.endswith(".csv"):
            continue
        for row in csv_rows(text):
            for column, value in row.items():
                assert value.isprintable()
                if value.startswith(("=", "+", "-", "@", "\t", "\r")):
                    float(value)
                    seen.add(column)
            if row["model"].startswith("'="):
                seen.add("evil")
    assert "evil" in seen
    assert "model" not in seen


def test_every_published_figure_says_judge_source_and_samples(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    rows = csv_rows(written(reports, tmp_path)["MedQ_Caption_test.csv"])
    published = [row for row in rows if row["kind"] == "published"]
    assert published
    for row in published:
        assert row["judge"] == "GPT-4o (version not published)"
        assert "arXiv 2510.01691" in row["source"]
        assert (row["n_scored"], row["table"]) == ("221", "medq-description")
    judged = [row for row in rows if row["kind"] == "measured" and row["judged"] == "1"]
    assert {bool(row["judge"] and row["date"]) for row in judged} == {True}


def test_verdicts_of_two_judges_are_not_in_one_column(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    rows = csv_rows(written(reports, tmp_path)["MedQ_Caption_test.csv"])
    by_judge = {row["judge"] for row in rows if row["metric"] == "Overall" and row["value"]}
    assert len(by_judge - {"GPT-4o (version not published)"}) == 1
    blank = [row for row in rows if row["metric"] == "Overall" and not row["value"]]
    assert blank
    assert all("judged otherwise than the board" in row["note"] for row in blank)


def test_markdown_holds_no_markup_of_others(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    for name, text in written(reports, tmp_path).items():
        if name.endswith(".md"):
            assert "<script" not in text
            assert "\x1b" not in text
            assert "\u202e" not in text
            tables_of = [line for line in text.splitlines() if line.startswith("|")]
            assert tables_of


def test_markdown_tables_have_as_many_cells_in_every_line(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    for name, text in written(reports, tmp_path).items():
        if not name.endswith(".md"):
            continue
        widths: list[int] = []
        for line in text.splitlines():
            if not line.startswith("|"):
                widths = []
                continue
            widths.append(line.replace(r"\|", "").count("|"))
            assert len(set(widths)) == 1, line


def test_markdown_says_what_was_left_out_and_why_cells_are_blank(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    texts = written(reports, tmp_path)
    assert "## Left out" in texts["MedQ_MCQ_test.md"]
    assert "the judge stopped before the end" in texts["MedQ_MCQ_test.md"]
    caption = texts["MedQ_Caption_test.md"]
    assert "judged otherwise than the board: judge model:" in caption
    assert "judge: " in caption.split("## Overall")[0]
    for heading in ("Overall", "By modality", "How firm the order is", "Columns", "Sources"):
        assert f"## {heading}" in caption
    assert "## Against the published figures" in texts["MedSG_test.md"]


def test_json_holds_everything(reports: tuple[BoardReport, ...], tmp_path: Path) -> None:
    texts = written(reports, tmp_path)
    for report in reports:
        facts: dict[str, Any] = json.loads(texts[f"{report.board.dataset}.json"])
        assert facts["schema"] == 1
        assert [row["name"] for row in facts["rows"]] == [row.name for row in report.board.rows]
        assert sum(len(row["cells"]) for row in facts["rows"]) == sum(
            len(row.cells) for row in report.board.rows
        )
        assert [it["metric"] for it in facts["statistics"]] == [
            it.metric.name for it in report.statistics
        ]
        assert len(facts["reproduction"]["cells"]) == len(report.reproduced)
        assert len(facts["left_out"]) == len(report.board.comparison.left_out)
        assert facts["data"]["fingerprint"] == "f" * 64
        for row, written_row in zip(report.board.rows, facts["rows"], strict=True):
            for (key, cell), fields in zip(row.cells.items(), written_row["cells"], strict=True):
                assert (fields["metric"], fields["group"]) == (key.metric, key.group)
                for name in ("value", "low", "high", "floor", "n_scored", "note", "printed"):
                    assert fields.get(name) == (getattr(cell, name) or fields.get(name))
                assert (fields.get("low") is None) == (cell.low is None)
                assert fields.get("is_doubtful", False) == cell.is_doubtful
    perception = json.loads(texts["MedQ_MCQ_test.json"])
    assert perception["statistics"][0]["pairs"][0]["test"] == "McNemar"
    assert any(row["name"].endswith(EVIL) for row in perception["rows"])


@pytest.mark.parametrize(
    "name", ["../../etc/x", "a/b", "CON", "with space", "=x", ".hidden", "a@b", "\x1b"]
)
def test_a_data_sets_name_is_a_safe_file_name(name: str, tmp_path: Path) -> None:
    safe = file_name(name)
    assert (tmp_path / f"{safe}.md").resolve().parent == tmp_path.resolve()
    assert "/" not in safe
    assert not safe.startswith(".")


def test_file_names_of_known_data_sets_are_their_names() -> None:
    for table in tables():
        assert file_name(table.dataset) == table.dataset


def test_an_unknown_format_is_an_error_before_anything_is_written(
    reports: tuple[BoardReport, ...], tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=r"expected formats of md, csv, json.*got 'pdf'"):
        write_boards(reports, tmp_path / "out", ("md", "pdf"))
    assert not (tmp_path / "out").exists()
