"""Verdicts in Markdown tables."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from .labels import Labels, is_generic_key
from .marks import Mark, Strength
from .scale import Found, Kind, Scale
from .values import adjacent_value, whole_value

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


@dataclass(frozen=True)
class _Table:
    """One table: its header (empty if it has none) and the rubric it is read for."""

    header: Row
    labels: Labels
    scale: Scale

    @cached_property
    def score_columns(self) -> list[int]:
        return [column for column, cell in enumerate(self.header) if is_generic_key(cell)]

    @cached_property
    def is_on_other_scale(self) -> bool:
        return any(self.scale.states_other(self.header[column]) for column in self.score_columns)

    def row_marks(self, number: int, row: Row) -> Iterator[Mark]:
        """The verdicts of one row: a name in a cell, or values below names in the header."""
        for owner, cell in enumerate(row):
            name = self.labels.named(cell)
            if name is not None:
                yield from self._mark(name, number, owner, self._named_value(row, owner), cell)
                return
        for column, heading in enumerate(self.header[: len(row)]):
            name = self.labels.named(heading)
            if name is not None:
                reading = _leading_value(row[column], self.scale)
                yield from self._mark(name, number, column, reading, heading)

    def _mark(
        self, name: str, number: int, column: int, reading: Found | None, heading: str
    ) -> Iterator[Mark]:
        if reading is not None:
            is_on_other_scale = self.is_on_other_scale or self.scale.states_other(heading)
            value = None if is_on_other_scale else reading.value
            yield Mark(name, value, Strength.LABELLED, (number, column))

    def _named_value(self, row: Row, owner: int) -> Found | None:
        """The value in a row whose cell `owner` is a name."""
        columns = [column for column in self.score_columns[:2] if column != owner]
        # More than one column of scores is several candidates.
        if len(columns) == 1 and columns[0] < len(row):
            return _leading_value(row[columns[0]], self.scale)
        whole = [whole_value(cell, self.scale) for cell in row[owner + 1 :]]
        readings = [reading for reading in whole if reading is not None]
        if not readings and owner + 1 < len(row):
            return _leading_value(row[owner + 1], self.scale)
        if len({reading.value for reading in readings}) > 1:
            return Found(Kind.UNUSABLE, 0)
        return readings[0] if readings else None


def _block_marks(rows: Sequence[tuple[int, Row]], labels: Labels, scale: Scale) -> Iterator[Mark]:
    header: Row = []
    if len(rows) > 1 and _RULE.fullmatch("|".join(rows[1][1])):
        header, rows = rows[0][1], rows[2:]
    table = _Table(header, labels, scale)
    for number, row in rows:
        yield from table.row_marks(number, row)


def _leading_value(cell: str, scale: Scale) -> Found | None:
    reading = adjacent_value(cell, 0, scale)
    return reading if reading.kind in (Kind.VALUE, Kind.UNUSABLE) else None
