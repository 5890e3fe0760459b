"""Reading a file of the ledger, strictly: whatever the schema does not know is an error."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from types import MappingProxyType

from .entries import Entry, all_different, parse
from .tables import (
    CAVEATS,
    WITHOUT_VALUE,
    Column,
    Judge,
    Mark,
    PublishedTable,
    Row,
    Source,
)

_SCALES = (1, 0.01)
_DATE = re.compile(r"\d{4}(-\d{2}(-\d{2})?)?")
_ARXIV = re.compile(r"\d{4}\.\d{5}")
_PRINTED = re.compile(r"-?\d+(?:\.(\d+))?")
_SOURCE = ("table", "date", "read_from")
_PAPER = ("title", "authors", "venue", "arxiv")
_TABLE = (
    "id", "title", "source", "judge", "dataset", "n", "scale", "decimals", "note", "columns",
    "rows", "marks",
)  # fmt: skip


def read_tables(text: str, name: str) -> tuple[PublishedTable, ...]:
    """The tables of one file.

    Args:
        text: its content.
        name: what errors call it.

    Raises:
        ValueError: no JSON, an unknown or missing key, something twice, a value that the schema
            does not allow, a place without a figure and without a reason; the text names the file
            and the place.
    """
    data = Entry(parse(text, name), name, ("benchmark", "paper", "tables"))
    paper = Entry(data["paper"], f"{name}: paper", _PAPER)
    return tuple(
        _table(Entry(item, f"{name}: tables[{i}]", _TABLE), data.text("benchmark"), paper)
        for i, item in enumerate(data.items("tables"))
    )


def _table(entry: Entry, benchmark: str, paper: Entry) -> PublishedTable:
    columns = _columns(entry)
    rows = _rows(entry, columns)
    table = PublishedTable(
        id=entry.text("id"),
        benchmark=benchmark,
        title=entry.text("title"),
        source=_source(Entry(entry["source"], f"{entry.place}.source", _SOURCE), paper),
        judge=_judge(entry),
        dataset=entry.text("dataset"),
        n=entry.count_or_none("n"),
        note=entry.text("note", empty=True),
        columns=columns,
        rows=rows,
        marks=_marks(entry, columns, rows),
    )
    _check_empty_places(table, entry)
    return table


def _source(entry: Entry, paper: Entry) -> Source:
    return Source(
        paper=paper.text("title"),
        authors=paper.text("authors"),
        venue=paper.text("venue"),
        arxiv=paper.matching("arxiv", _ARXIV),
        table=entry.text("table"),
        date=entry.matching("date", _DATE),
        read_from=entry.text("read_from"),
    )


def _judge(table: Entry) -> Judge | None:
    if table["judge"] is None:
        return None
    entry = Entry(table["judge"], f"{table.place}.judge", ("name", "version"))
    version = None if entry["version"] is None else entry.text("version")
    return Judge(entry.text("name"), version)


def _columns(table: Entry) -> tuple[Column, ...]:
    required, optional = ("key", "metric", "group_by", "group", "n"), ("alone", "decimals")
    if isinstance(table["scale"], bool) or table["scale"] not in _SCALES:
        raise table.error(f"one of {_SCALES} as 'scale'", table["scale"])
    scale = Decimal(str(table["scale"]))
    columns = []
    for i, item in enumerate(table.items("columns")):
        place = f"{table.place}.columns[{i}]"
        entry = Entry(item, place, required, (*optional, "half_unit"))
        decimals = (entry if "decimals" in entry else table).count("decimals", least=0)
        columns.append(
            Column(
                key=entry.text("key"),
                metric=entry.text("metric"),
                group_by=entry.text("group_by"),
                group=entry.text("group"),
                n=entry.count_or_none("n"),
                alone=entry.text("alone") if "alone" in entry else None,
                scale=scale,
                decimals=decimals,
                half_unit=float(_half_unit(entry, decimals) * scale),
            )
        )
    all_different([column.key for column in columns], f"{table.place}.columns")
    return tuple(columns)


def _half_unit(entry: Entry, decimals: int) -> Decimal:
    if "half_unit" not in entry:
        return Decimal(5).scaleb(-decimals - 1)
    stated = entry["half_unit"]
    if isinstance(stated, bool) or not isinstance(stated, (int, float)) or stated <= 0:
        raise entry.error("a number above 0 as 'half_unit'", stated)
    return Decimal(str(stated))


def _rows(table: Entry, columns: Sequence[Column]) -> tuple[Row, ...]:
    keys = [column.key for column in columns]
    rows = []
    for i, item in enumerate(table.items("rows")):
        entry = Entry(item, f"{table.place}.rows[{i}]", ("model", "zoo", "cells"))
        cells = Entry(entry["cells"], f"{entry.place}.cells", keys)
        printed = {column.key: _printed(cells, column) for column in columns}
        rows.append(Row(entry.text("model"), entry.names("zoo"), MappingProxyType(printed)))
    all_different([row.model for row in rows], f"{table.place}.rows")
    return tuple(rows)


def _printed(cells: Entry, column: Column) -> str | None:
    value = cells[column.key]
    if value is None:
        return None
    found = _PRINTED.fullmatch(value) if isinstance(value, str) else None
    if found is None or len(found[1] or "") != column.decimals:
        raise cells.error(f"a text with {column.decimals} decimals as {column.key!r}", value)
    return value


def _marks(table: Entry, columns: Sequence[Column], rows: Sequence[Row]) -> tuple[Mark, ...]:
    models, keys = [row.model for row in rows], [column.key for column in columns]
    marks = []
    for i, item in enumerate(table.items("marks", empty=True)):
        place = f"{table.place}.marks[{i}]"
        entry = Entry(item, place, ("caveat", "note"), ("models", "columns"))
        if entry.text("caveat") not in CAVEATS:
            raise entry.error(f"a caveat of {', '.join(CAVEATS)}", entry["caveat"])
        chosen = entry.names("models", models), entry.names("columns", keys)
        marks.append(Mark(entry["caveat"], entry.text("note"), *chosen))
    return tuple(marks)


def _check_empty_places(table: PublishedTable, entry: Entry) -> None:
    for row in table.rows:
        for key, printed in row.cells.items():
            codes = {mark.caveat for mark in table.marks_of(row.model, key)}
            if (printed is None) != bool(codes & WITHOUT_VALUE):
                raise entry.error(
                    f"a mark of {', '.join(sorted(WITHOUT_VALUE))} exactly where a cell is null",
                    f"{row.model} / {key}: {printed}",
                )
