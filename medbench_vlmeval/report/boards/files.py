"""Writing boards: Markdown, CSV, JSON and HTML, one file a board and format, never half a file."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from ... import __version__
from ...files import write_json_atomic, write_text_atomic
from ...naming import file_stem
from ..html_text import needed_for_reports
from ..published import PublishedCell
from ..safe_text import spreadsheet_text, visible
from .board import Board, Cell, CellKey, Row
from .comparability import LeftOut
from .index_page import INDEX, index_page
from .leaderboard import BoardReport
from .markdown import board_markdown
from .page import board_page

SCHEMA = 1
FORMATS = ("md", "csv", "json", "html")

_COLUMNS = (
    "dataset", "kind", "model", "group_by", "group", "metric", "protocol", "judged", "value", "low",
    "high", "floor", "ceiling", "n_expected", "n_answered", "n_scored", "comparable", "doubtful",
    "printed", "half_unit", "caveats", "table", "judge", "date", "source", "note",
)  # fmt: skip


def write_boards(
    reports: Iterable[BoardReport], folder: Path, formats: Sequence[str] = FORMATS
) -> list[Path]:
    """Write every board in every format.

    Args:
        reports: of different data sets.
        folder: made where it is not there. A file is ``<data set>.<format>``, the name
            percent-encoded where a file system might not take it.
        formats: of `FORMATS`.

    Returns:
        The files, in the order of the boards; then ``index.html``, which leads to the pages of
        several boards.

    Raises:
        ValueError: an unknown format, or a name too long for a file.
        ImportError: a page is asked for and Jinja2 is not installed; nothing is written then.
    """
    for name in formats:
        if name not in _WRITERS:
            raise ValueError(f"expected formats of {', '.join(_WRITERS)}, got {name!r}")
    for name in formats:
        if missing := missing_for(name):
            raise ImportError(missing)
    made = list(reports)
    paths = [
        _WRITERS[name](report, folder / f"{file_name(report.board.dataset)}.{name}")
        for report in made
        for name in formats
    ]
    pages = [path.name for path in paths if path.suffix == ".html"]
    if len(pages) > 1 and f"{INDEX}.html" not in pages:
        paths.append(write_text_atomic(folder / f"{INDEX}.html", index_page(made, pages)))
    return paths


def missing_for(format_name: str) -> str:
    """What a format needs that is not installed, with the remedy; empty where nothing lacks."""
    if format_name != "html":
        return ""
    try:
        needed_for_reports("jinja2")
    except ImportError as error:
        return str(error)
    return ""


def file_name(dataset: str) -> str:
    """A data set's name as a file name: safe, and distinct for distinct names."""
    return file_stem("board", dataset).partition("@")[2]


def _write_markdown(report: BoardReport, path: Path) -> Path:
    return write_text_atomic(path, board_markdown(report))


def _write_csv(report: BoardReport, path: Path) -> Path:
    stream = io.StringIO()
    writer = csv.DictWriter(stream, _COLUMNS, lineterminator="\n")
    writer.writeheader()
    for line in csv_lines(report.board):
        writer.writerow({name: _csv_cell(value) for name, value in line.items()})
    return write_text_atomic(path, stream.getvalue())


def csv_lines(board: Board) -> Iterator[dict[str, Any]]:
    """One line a cell: all of a row's cells, then published figures without a counterpart."""
    for row in board.rows:
        for key, cell in row.cells.items():
            yield _csv_line(board, row, key, cell)
    for figure in board.unmatched:
        yield _unmatched_line(board, figure)


def _csv_line(board: Board, row: Row, key: CellKey, cell: Cell) -> dict[str, Any]:
    metric = board.metric(key.metric)
    return {
        "dataset": board.dataset,
        "kind": row.kind,
        "model": row.name,
        **key._asdict(),
        "protocol": metric.protocol,
        "judged": metric.judged,
        **{name: value for name, value in asdict(cell).items() if name in _COLUMNS},
        "comparable": row.kind != "published" or "other_protocol" not in cell.caveats,
        "doubtful": cell.is_doubtful,
        "judge": row.judge if metric.judged else "",
        "date": row.created,
        "source": row.source,
    }


def _unmatched_line(board: Board, cell: PublishedCell) -> dict[str, Any]:
    return {
        "dataset": board.dataset,
        "kind": "published",
        "model": cell.model,
        "group_by": cell.group_by,
        "group": cell.group,
        "metric": cell.metric,
        "value": cell.value,
        "n_scored": cell.n,
        "comparable": False,
        "doubtful": cell.is_doubtful,
        "printed": cell.as_printed,
        "half_unit": cell.half_unit,
        "caveats": cell.caveats,
        "table": cell.table,
        "note": cell.note,
    }


def _csv_cell(value: Any) -> Any:
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, (tuple, list)):
        value = "; ".join(map(str, value))
    return spreadsheet_text(visible(value)) if isinstance(value, str) else value


def _write_page(report: BoardReport, path: Path) -> Path:
    return write_text_atomic(path, board_page(report))


def _write_json(report: BoardReport, path: Path) -> Path:
    return write_json_atomic(path, board_facts(report))


def board_facts(report: BoardReport) -> dict[str, Any]:
    """Everything about a board, from types that JSON knows or `files.to_plain` turns into them.

    A cell has its place and ``value``; its other fields only where they say something.
    """
    board, comparison = report.board, report.board.comparison
    judge = comparison.judge
    reference = comparison.standing[0].run
    return {
        "schema": SCHEMA,
        "medbench_vlmeval": __version__,
        "dataset": board.dataset,
        "data": reference.manifest.get("data", {}),
        "n_samples": board.n_samples,
        "sorted_by": board.sorted_by.name,
        "headline": [metric.name for metric in board.headline],
        "metrics": board.metrics,
        "groups": board.groups,
        "judge": None if judge is None else dict(judge.facts),
        "judge_snapshots": comparison.snapshots,
        "notes": board.notes,
        "rows": [_row_facts(row) for row in board.rows],
        "unmatched": board.unmatched,
        "statistics": [
            {**asdict(it), "metric": it.metric.name, "detectable": it.detectable}
            for it in report.statistics
        ],
        "reproduction": {
            "tables": [it.line for it in report.reproduced_tables],
            "cells": [
                {**asdict(it), "key": it.key._asdict(), "delta": it.delta}
                for it in report.reproduced
            ],
        },
        "left_out": [_left_facts(it) for it in comparison.left_out],
        "older": [_left_facts(it) for it in comparison.older],
    }


def _row_facts(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "kind": row.kind,
        "source": row.source,
        "judge": row.judge,
        "date": row.created,
        "notes": row.notes,
        "zoo": row.zoo,
        "manifest": None if row.run is None else row.run.manifest_path.name,
        "cells": [
            {**key._asdict(), "value": cell.value, **_stated(asdict(cell))}
            for key, cell in row.cells.items()
        ],
    }


def _stated(facts: Mapping[str, Any]) -> dict[str, Any]:
    # Of some ten thousand cells most leave most fields open.
    # A zero says something, so `in` will not do: 0.0 == False.
    is_open = {name: it is None or it is False or it in ("", ()) for name, it in facts.items()}
    return {name: it for name, it in facts.items() if not is_open[name]}


def _left_facts(left: LeftOut) -> Mapping[str, str]:
    return {
        "model": left.run.model,
        "place": left.run.place,
        "created": left.run.created,
        "reason": left.reason,
    }


_WRITERS: Mapping[str, Callable[[BoardReport, Path], Path]] = {
    "md": _write_markdown,
    "csv": _write_csv,
    "json": _write_json,
    "html": _write_page,
}
