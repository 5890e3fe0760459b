"""The page that leads to the boards of several data sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import quote

from ..html_text import rendered
from ..safe_text import visible
from .board import Board, Row
from .leaderboard import BoardReport
from .text import shown_cell

INDEX = "index"
"""Its name; a data set called like that has no such page beside it."""


def index_page(reports: Iterable[BoardReport], names: Iterable[str]) -> str:
    """One line a board: samples, runs, and the first of the measured and of the published models.

    Args:
        reports: of different data sets.
        names: their files, without folder.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    lines = [_line(report.board, name) for report, name in zip(reports, names, strict=True)]
    return rendered("boards_index.html", lines=lines)


def _line(board: Board, name: str) -> dict[str, Any]:
    return {
        "href": quote(name),
        "dataset": visible(board.dataset),
        "n_samples": board.n_samples,
        "n_runs": sum(row.run is not None for row in board.rows),
        "n_left_out": len(board.comparison.left_out),
        "column": board.sorted_by.label,
        "measured": _first(board.of_kind("measured"), board),
        "published": _first(board.of_kind("published"), board),
    }


def _first(rows: Iterable[Row], board: Board) -> str:
    """The best row in words; empty where none has a value in the column the board is sorted by."""
    for row in rows:
        cell = row.cell(board.sorted_by.name)
        if cell is not None and cell.value is not None:
            return f"{visible(row.name)}: {shown_cell(cell, board.sorted_by)}"
    return ""
