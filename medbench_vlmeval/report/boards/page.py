"""A board as one HTML page that works from a folder, without a network."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ...types import MetricInfo
from ..direction import better
from ..html_text import asset, rendered
from ..safe_text import visible
from .board import Board, Cell
from .leaderboard import BoardReport
from .page_parts import Column, PageCell, PageRow, PageTable, firmness_parts, numbers_table
from .reproduction import ReproducedCell
from .text import (
    cell_notes,
    counts_of,
    groups_only_line,
    judge_line,
    left_out_line,
    letters,
    overall_metrics,
    shown_cell,
    sources_of,
)


@dataclass(frozen=True)
class Mark:
    """A note below the table, and the letter that leads to it."""

    letter: str
    text: str

    @property
    def id(self) -> str:
        return f"mark-{self.letter}"


def board_page(report: BoardReport) -> str:
    """The page of a board.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    board = report.board
    overall, marks = _overall(board)
    groups = _groups(board)
    return rendered(
        "board.html",
        styles=[asset("board.css")],
        scripts=[asset("board.js")],
        data={
            "board-data": {
                "rows": [{"name": visible(row.name), "kind": row.kind} for row in board.rows],
                "metrics": [metric.label for metric in board.headline],
                "groups": groups,
            }
        },
        dataset=visible(board.dataset),
        n_samples=board.n_samples,
        sorted_by=board.sorted_by.name,
        judge=judge_line(board),
        notes=[visible(note) for note in board.notes],
        kinds=list(dict.fromkeys(row.kind for row in board.rows)),
        overall=overall,
        groups_only=groups_only_line(board),
        marks=marks,
        groups=groups,
        firmness=[firmness_parts(it) for it in report.statistics],
        reproduced=_reproduced(report.reproduced),
        reproduced_lines=[visible(it.line) for it in report.reproduced_tables],
        left_out=[left_out_line(it) for it in board.comparison.left_out],
        older=[left_out_line(it) for it in board.comparison.older],
        columns=_columns(board),
        sources=[visible(line) for line in sources_of(board)],
    )


def _overall(board: Board) -> tuple[PageTable, tuple[Mark, ...]]:
    marks: dict[str, Mark] = {}
    first, further = overall_metrics(board)
    with_judge = any(row.judge for row in board.overall_rows)
    head = [Column("model"), Column("kind"), *(Column(it.label, True) for it in first)]
    head += [Column(name, True) for name in ("expected", "answered", "scored")]
    head += [Column(it.label, True) for it in further]
    head += [Column("judge")] if with_judge else []
    rows = []
    for row in board.overall_rows:
        cells = [PageCell(visible(row.name), marks=_marked(row.notes, marks)), PageCell(row.kind)]
        cells += [_page_cell(row.cell(it.name), it, marks) for it in first]
        counts = counts_of(row.cell(it.name) for it in board.headline)
        cells += [PageCell.number(text) for text in counts]
        cells += [_page_cell(row.cell(it.name), it, marks) for it in further]
        cells += [PageCell(visible(row.judge))] if with_judge else []
        rows.append(PageRow(tuple(cells), row.kind))
    return PageTable(tuple(head), tuple(rows)), tuple(marks.values())


def _page_cell(cell: Cell | None, metric: MetricInfo, marks: dict[str, Mark]) -> PageCell:
    if cell is None or cell.value is None:
        return PageCell("–", True, marks=_marked(cell_notes(cell), marks))
    text = shown_cell(cell, metric, with_interval=False).rstrip("?")
    return PageCell(
        text,
        True,
        order=cell.value,
        interval=interval_of(cell, metric),
        is_doubtful=cell.is_doubtful,
        marks=_marked(cell_notes(cell), marks),
    )


def interval_of(cell: Cell, metric: MetricInfo) -> str:
    """The interval, and the bounds where samples could not be scored."""
    whole = shown_cell(cell, metric)
    return whole.removeprefix(shown_cell(cell, metric, with_interval=False)).strip()


def _marked(notes: Iterable[str], marks: dict[str, Mark]) -> tuple[Mark, ...]:
    return tuple(marks.setdefault(note, Mark(letters(len(marks)), visible(note))) for note in notes)


def _groups(board: Board) -> list[dict[str, Any]]:
    """What the page's script lays out; cells by row, group and column number."""
    return [
        {
            "label": group_by.replace("_", " "),
            "names": [visible(group) for group in names],
            "sizes": [_size_of(board, group_by, group) for group in names],
            "cells": {
                f"{at_row}/{at_group}/{at_metric}": _group_cell(cell, metric)
                for at_row, row in enumerate(board.rows)
                for at_group, group in enumerate(names)
                for at_metric, metric in enumerate(board.headline)
                if (cell := row.cell(metric.name, group_by, group)) is not None
            },
        }
        for group_by, names in board.groups.items()
    ]


def _size_of(board: Board, group_by: str, group: str) -> int | None:
    """Samples of a group that a run is expected to answer; None where no run stands."""
    cells = (row.cell(it.name, group_by, group) for row in board.rows for it in board.headline)
    return max((it.n_expected for it in cells if it and it.n_expected is not None), default=None)


def _group_cell(cell: Cell, metric: MetricInfo) -> dict[str, Any]:
    facts: dict[str, Any] = {"text": shown_cell(cell, metric, with_interval=False)}
    facts["order"] = cell.value
    if interval := interval_of(cell, metric):
        facts["interval"] = interval
    if cell.n_expected is not None and cell.n_scored != cell.n_expected:
        facts["coverage"] = f"{cell.n_scored or 0}/{cell.n_expected}"
    if notes := cell_notes(cell):
        facts["note"] = visible("; ".join(notes))
    return facts


def _reproduced(cells: Sequence[ReproducedCell]) -> PageTable:
    head = (
        Column("model"), Column("table"), Column("figure"), Column("printed", True),
        Column("measured", True), Column("difference", True), Column("verdict"), Column("why"),
    )  # fmt: skip
    return PageTable(head, tuple(_reproduced_row(cell) for cell in cells))


def _reproduced_row(cell: ReproducedCell) -> PageRow:
    key = cell.key
    place = key.metric if key.group_by == "overall" else f"{key.metric}, {key.group}"
    return PageRow(
        (
            PageCell(visible(cell.measured)),
            PageCell(cell.table),
            PageCell(visible(place)),
            PageCell(cell.as_printed, True, order=cell.figure),
            PageCell.number("–" if cell.value is None else f"{cell.value:.3f}", cell.value),
            PageCell.number("" if cell.delta is None else f"{cell.delta:+.3f}", cell.delta),
            PageCell(cell.verdict, is_doubtful=cell.verdict == "doubtful figure"),
            PageCell(visible(cell.why)),
        )
    )


def _columns(board: Board) -> PageTable:
    return numbers_table(
        ("column", "protocol", "better", "judged", "source"),
        (
            (
                it.name, it.protocol, better(it),
                "yes" if it.judged else "no", it.source,
            )
            for it in board.metrics
        ),
    )  # fmt: skip
