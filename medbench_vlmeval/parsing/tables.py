"""Verdicts in Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from .labels import Labels, is_generic_key
from .lines import adjacent_value, whole_value
from .marks import Mark, Strength
from .scale import Found, Kind, Scale

_RULE = re.compile(r"[\s|:+=-]*-[\s|:+=-]*")

Row = list[str]


def table_marks(lines: Sequence[str], labels: Labels, scale: Scale) -> tuple[list[Mark], set[int]]:
    """The verdicts in tables, and the numbers of the lines that those tables fill."""
    marks: list[Mark] = []
    consumed: set[int] = set()
    for numbers in _blocks(lines):
        rows = [(number, _cells(lines[number])) for number in numbers]
        found = list(_block_marks(rows, labels, scale))
        if found:
            marks += found
            consumed.update(numbers)
    return marks, consumed


def _blocks(lines: Sequence[str]) -> Iterator[list[int]]:
    block: list[int] = []
    for number, line in enumerate(lines):
        if "|" in line:
            block.append(number)
        elif block:
            yield block
            block = []
    if block:
        yield block


def _cells(line: str) -> Row:
    cells = line.strip().split("|")
    if cells and not cells[0].strip():
        cells = cells[1:]
    if cells and not cells[-1].strip():
        cells = cells[:-1]
    return [cell.strip() for cell in cells]


def _block_marks(rows: Sequence[tuple[int, Row]], labels: Labels, scale: Scale) -> Iterator[Mark]:
    header: Row = []
    if len(rows) > 1 and _RULE.fullmatch("|".join(rows[1][1])):
        header, rows = rows[0][1], rows[2:]
    columns = {column: name for column, cell in enumerate(header) if (name := labels.named(cell))}
    score_columns = [column for column, cell in enumerate(header) if is_generic_key(cell)]
    for number, row in rows:
        owners = [column for column, cell in enumerate(row) if labels.named(cell)]
        if owners:
            yield from _row_mark(number, row, owners[0], header, score_columns, labels, scale)
            continue
        for column, name in columns.items():
            reading = _leading_value(row[column], scale) if column < len(row) else None
            if reading is not None:
                value = None if scale.states_other(header[column]) else reading.value
                yield Mark(name, value, Strength.LABELLED, (number, column))


def _row_mark(
    number: int,
    row: Row,
    owner: int,
    header: Row,
    score_columns: Sequence[int],
    labels: Labels,
    scale: Scale,
) -> Iterator[Mark]:
    name = labels.named(row[owner])
    reading = _row_value(row, owner, score_columns, scale)
    if name is None or reading is None:
        return
    headings = [row[owner], *(header[column] for column in score_columns)]
    is_other_scale = any(scale.states_other(heading) for heading in headings)
    yield Mark(name, None if is_other_scale else reading.value, Strength.LABELLED, (number, owner))


def _row_value(row: Row, owner: int, score_columns: Sequence[int], scale: Scale) -> Found | None:
    columns = [column for column in score_columns if column != owner and column < len(row)]
    if len(columns) == 1:
        return _leading_value(row[columns[0]], scale)
    whole = [whole_value(cell, scale) for cell in row[owner + 1 :]]
    readings = [reading for reading in whole if reading is not None]
    if not readings and owner + 1 < len(row):
        return _leading_value(row[owner + 1], scale)
    if len({reading.value for reading in readings}) > 1:
        return Found(Kind.UNUSABLE, 0)
    return readings[0] if readings else None


def _leading_value(cell: str, scale: Scale) -> Found | None:
    reading = adjacent_value(cell, 0, scale)
    return reading if reading.kind in (Kind.VALUE, Kind.UNUSABLE) else None
