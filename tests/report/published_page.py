"""The tables of docs/published.md, made from the ledger.

``python -m tests.report.published_page`` writes them into the page anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from medbench_vlmeval.report.published import CAVEATS, Mark, PublishedTable, tables

PAGE = Path(__file__).resolve().parents[2] / "docs" / "published.md"
_PART = re.compile(r"(<!-- (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)


def parts() -> dict[str, str]:
    """Name of a part of the page to its lines."""
    return {"tables": _tables(), "codes": _codes(), "whole": _whole(), "cells": _cells()}


def filled(page: str) -> str:
    """`page` with its marked parts made anew."""
    made = parts()
    return _PART.sub(lambda found: found[1] + made[found[2]] + found[3], page)


def _table(head: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    head = list(head)
    lines = [head, ["---"] * len(head), *rows]
    return "".join(f"| {' | '.join(map(str, line))} |\n" for line in lines)


def _tables() -> str:
    return _table(
        ("id", "what", "source", "compared with", "models", "figures"),
        (
            (
                f"`{table.id}`",
                table.title,
                f"arXiv {table.source.arxiv}, {table.source.table}",
                f"`{table.dataset}`",
                len(table.rows),
                len([*table.cells()]),
            )
            for table in tables()
        ),
    )


def _codes() -> str:
    figures = [cell for table in tables() for cell in table.cells()]
    empty = [
        {mark.caveat for mark in table.marks_of(row.model, key)}
        for table in tables()
        for row in table.rows
        for key, printed in row.cells.items()
        if printed is None
    ]
    return _table(
        ("code", "means", "places"),
        (
            (
                f"`{code}`",
                meaning,
                sum(code in cell.caveats for cell in figures) + sum(code in it for it in empty),
            )
            for code, meaning in CAVEATS.items()
        ),
    )


def _whole() -> str:
    notes: dict[tuple[str, str], list[str]] = {}
    for table in tables():
        for mark in table.marks:
            if not mark.models:
                where = f"`{table.id}`" + _columns(mark, table)
                notes.setdefault((mark.caveat, mark.note), []).append(where)
    return _table(
        ("tables", "code", "why"),
        ((", ".join(where), f"`{code}`", note) for (code, note), where in notes.items()),
    )


def _cells() -> str:
    return _table(
        ("table", "model", "columns", "code", "why"),
        (
            (
                f"`{table.id}`",
                ", ".join(mark.models),
                _columns(mark, table).removeprefix(": ") or "all",
                f"`{mark.caveat}`",
                mark.note,
            )
            for table in tables()
            for mark in table.marks
            if mark.models
        ),
    )


def _columns(mark: Mark, table: PublishedTable) -> str:
    if not mark.columns:
        return ""
    if len(mark.columns) < 6:
        return ": " + ", ".join(mark.columns)
    others = [column.key for column in table.columns if column.key not in mark.columns]
    return ": all" + (f" but {', '.join(others)}" if others else "")


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
