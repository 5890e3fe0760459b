"""A board as Markdown: tables with marks, and below each what the marks mean."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ...types import MetricInfo
from ..direction import better
from ..safe_text import markdown_text
from .board import Board, Cell, Row
from .leaderboard import BoardReport
from .markdown_checks import firmness, reproduction
from .markdown_parts import bullets, grid, section
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


def board_markdown(report: BoardReport) -> str:
    """Everything a reader of one board needs, as GitHub shows Markdown.

    Every name and note that others wrote is escaped.
    """
    board = report.board
    parts = [
        f"# {markdown_text(board.dataset)}",
        bullets(_head(board)),
        _overall(board),
        *(_group_table(board, group_by) for group_by in board.groups),
        firmness(report.statistics),
        reproduction(report),
        _left_out(board),
        _unmatched(board),
        _columns(board),
        _sources(board),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _head(board: Board) -> Iterator[str]:
    data = board.comparison.standing[0].run.manifest.get("data", {})
    yield (
        f"{board.n_samples} samples, data fingerprint `{str(data.get('fingerprint'))[:12]}`, "
        f"revision {markdown_text(str(data.get('revision') or 'not stated'))}"
    )
    yield f"best first by {markdown_text(board.sorted_by.name)}, published figures apart"
    if judge := judge_line(board):
        yield markdown_text(judge)
    for note in board.notes:
        yield markdown_text(note)
    yield (
        "value [95 % interval]; “all: a – b” is the value if what could not be scored had got the "
        "worst or the best one; “?” marks a published figure that is probably wrong"
    )


_COUNTS = ("expected", "answered", "scored")


class _Marks:
    """Letters for notes, each note once."""

    def __init__(self) -> None:
        self._letters: dict[str, str] = {}

    def of(self, notes: Iterable[str]) -> str:
        found = [self._letters.setdefault(note, letters(len(self._letters))) for note in notes]
        return f" ({', '.join(found)})" if found else ""

    def legend(self) -> str:
        return bullets(
            f"({letter}) {markdown_text(note)}" for note, letter in self._letters.items()
        )


def _overall(board: Board) -> str:
    marks = _Marks()
    first, further = overall_metrics(board)
    with_judge = any(row.judge for row in board.overall_rows)
    head = ["model", "", *(it.label for it in first), *_COUNTS, *(it.label for it in further)]
    rows = []
    for row in board.overall_rows:
        name = markdown_text(row.name) + marks.of(row.notes)
        cells = [_cell(row.cell(it.name), it, marks) for it in first]
        cells += counts_of(row.cell(it.name) for it in board.headline)
        cells += [_cell(row.cell(it.name), it, marks) for it in further]
        cells += [markdown_text(row.judge)] if with_judge else []
        rows.append([name, row.kind, *cells])
    table = grid([*head, *["judge"] * with_judge], rows)
    return section("Overall", table, markdown_text(groups_only_line(board)), marks.legend())


def _group_table(board: Board, group_by: str) -> str:
    marks = _Marks()
    metrics = [
        metric
        for metric in board.headline
        if any(
            (cell := row.cell(metric.name, group_by, group)) is not None and cell.value is not None
            for row in board.rows
            for group in board.groups[group_by]
        )
    ]
    rows = []
    for group in board.groups[group_by]:
        for row in board.rows:
            cells = [row.cell(metric.name, group_by, group) for metric in metrics]
            if any(cell is not None for cell in cells):
                rows.append(_group_line(group, row, cells, metrics, marks))
    head = [group_by, "model", "", *(it.label for it in metrics), *_COUNTS]
    title = f"By {group_by.replace('_', ' ')}"
    return section(markdown_text(title), grid(head, rows), marks.legend())


def _group_line(
    group: str,
    row: Row,
    cells: Sequence[Cell | None],
    metrics: Sequence[MetricInfo],
    marks: _Marks,
) -> list[str]:
    shown = [_cell(cell, metric, marks) for cell, metric in zip(cells, metrics, strict=True)]
    names = markdown_text(group), markdown_text(row.name)
    return [*names, row.kind, *shown, *counts_of(cells)]


def _cell(cell: Cell | None, metric: MetricInfo, marks: _Marks) -> str:
    return shown_cell(cell, metric) + marks.of(cell_notes(cell))


def _left_out(board: Board) -> str:
    left = [markdown_text(left_out_line(it)) for it in board.comparison.left_out]
    older = [markdown_text(left_out_line(it)) for it in board.comparison.older]
    return "\n\n".join(
        part
        for part in (
            section("Left out", bullets(left)) if left else "",
            section("Older runs", bullets(older)) if older else "",
        )
        if part
    )


def _unmatched(board: Board) -> str:
    by_table: dict[str, list[str]] = {}
    for cell in board.unmatched:
        by_table.setdefault(cell.table, []).append(cell.column)
    lines = [
        f"`{table}`: {markdown_text(', '.join(dict.fromkeys(columns)))}; {len(columns)} in all"
        for table, columns in by_table.items()
    ]
    head = "No result of a run is defined like these; they are in the CSV and JSON files."
    return section("Published, without a counterpart", head, bullets(lines)) if lines else ""


def _columns(board: Board) -> str:
    rows = [
        [
            markdown_text(it.name), it.protocol, better(it),
            "yes" if it.judged else "no", markdown_text(it.source),
        ]
        for it in board.metrics
    ]  # fmt: skip
    return section("Columns", grid(["column", "protocol", "better", "judged", "source"], rows))


def _sources(board: Board) -> str:
    return section("Sources", bullets(map(markdown_text, sources_of(board))))
