"""Reads a table of MedQ-Bench: tab-separated text as pandas writes it, images inside as base64.

A table may be larger than memory, so it is read row by row, twice: once to count and to check it
before anything is written, once for the rows themselves.
"""

from __future__ import annotations

import csv
import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from .columns import ColumnsUnclear
from .medq_cells import CellsReader
from .medq_columns import IMAGE_FIELDS, check_medq_columns, match_medq_columns
from .medq_rows import MedQRelease, MedQRow
from .medq_tables import Kind

_LARGEST_CELL = 1 << 30
"""Characters; the csv module stops at 131,072 otherwise, fewer than an image has."""
_LFS_POINTER = "version https://git-lfs"


@dataclass(frozen=True)
class MedQTableFile:
    """A table that was read through once, and found in order."""

    path: Path
    header: tuple[str, ...]
    columns: Mapping[str, str]
    """Field to column, see `match_medq_columns`."""
    count: int
    rows_at: Mapping[str, int]
    """Index as written to the byte where the first row with it begins."""
    sha256: str

    def rows(self, kind: Kind, first_number: int) -> Iterator[MedQRow]:
        """The rows, numbered from `first_number`."""
        index_column = self.columns.get("index", "")
        dropped = {self.columns.get(field) for field in IMAGE_FIELDS}
        with self.path.open("rb") as stream, self.path.open("rb") as other:
            reader = CellsReader(
                kind, self.columns, self.path.parent, lambda index: self._image_cell(other, index)
            )
            for number, (_, row) in enumerate(self._read(stream), start=first_number):
                cells = dict(zip(self.header, row, strict=True))
                images, problems = reader.images(cells)
                if index_column and not cells[index_column].strip():
                    problems.append("index missing")
                yield MedQRow(
                    number=number,
                    fields={
                        name: cell
                        for name, cell in cells.items()
                        if name not in dropped and cell.strip()
                    },
                    images=images,
                    table=self.path.name,
                    problems=tuple(problems),
                    columns=self.columns,
                )

    def _read(self, stream: BinaryIO) -> Iterator[tuple[int, list[str]]]:
        rows = _rows_of(self.path, _Lines(self.path, stream))
        next(rows)
        yield from rows

    def _image_cell(self, stream: BinaryIO, index: str) -> str | None:
        if index not in self.rows_at:
            return None
        stream.seek(self.rows_at[index])
        _, row = next(_rows_of(self.path, _Lines(self.path, stream)))
        return row[self.header.index(self.columns["image"])].strip()


class _Lines:
    """The lines of a table as text; `offset` is the byte at which the next one begins."""

    def __init__(self, path: Path, stream: BinaryIO) -> None:
        self.offset = stream.tell()
        self.digest = hashlib.sha256()
        self._path = path
        self._stream = stream

    def __iter__(self) -> _Lines:
        return self

    def __next__(self) -> str:
        line = self._stream.readline()
        if not line:
            raise StopIteration
        self.digest.update(line)
        try:
            text = line.decode("utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"expected UTF-8 in {self._path}, got other bytes at byte "
                f"{self.offset + error.start}; download the file again"
            ) from error
        text = text.removeprefix("\ufeff") if self.offset == 0 else text
        self.offset += len(line)
        return text


def _rows_of(path: Path, lines: _Lines) -> Iterator[tuple[int, list[str]]]:
    """Rows with the byte at which each begins; empty lines are none."""
    csv.field_size_limit(max(csv.field_size_limit(), _LARGEST_CELL))
    reader = csv.reader(lines, delimiter="\t", strict=True)
    while True:
        begins = lines.offset
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise ValueError(
                f"expected a tab-separated table as pandas writes it, {path} is damaged near line "
                f"{reader.line_num} ({error}); download the file again"
            ) from error
        if row is None:
            return
        if row:
            yield begins, row


def scan_medq_table(
    path: Path, kind: Kind, explicit: Mapping[str, str] | None = None
) -> MedQTableFile:
    """Read a table through and check it; no image is decoded.

    Args:
        path: The TSV.
        kind: What it should hold.
        explicit: Field to column, where the names do not tell.

    Raises:
        ValueError: the file is empty, cut, damaged, or not UTF-8.
        ColumnsUnclear: a column that `kind` needs is not there, or there twice.
    """
    with path.open("rb") as stream:
        lines = _Lines(path, stream)
        rows = _rows_of(path, lines)
        header = _header(path, next(rows, (0, []))[1])
        columns = _columns(path, header, kind, explicit)
        position = header.index(columns["index"]) if "index" in columns else None
        rows_at: dict[str, int] = {}
        count = 0
        for begins, row in rows:
            count += 1
            if len(row) != len(header):
                raise ValueError(
                    f"expected {len(header)} cells in every row of {path}, row {count} has "
                    f"{len(row)}; the file is cut or damaged, download it again"
                )
            if position is not None:
                rows_at.setdefault(row[position].strip(), begins)
    if not count:
        raise ValueError(f"expected rows in {path}, got only the line of column names")
    rows_at.pop("", None)
    return MedQTableFile(path, header, columns, count, rows_at, lines.digest.hexdigest())


def _header(path: Path, cells: Sequence[str]) -> tuple[str, ...]:
    if cells and cells[0].startswith(_LFS_POINTER):
        raise ValueError(f"{path} is a pointer file of Git LFS; run git lfs pull there")
    if not cells:
        raise ValueError(f"expected a table in {path}, the file is empty; download it again")
    # pandas leaves the name of an unnamed row label empty.
    header = tuple(cell.strip() or f"column {n}" for n, cell in enumerate(cells, start=1))
    repeated = [name for name, times in Counter(header).items() if times > 1]
    if repeated:
        raise ColumnsUnclear(
            f"expected each column of {path} once, got {', '.join(repeated)} several times; "
            "rename them"
        )
    return header


def _columns(
    path: Path, header: Sequence[str], kind: Kind, explicit: Mapping[str, str] | None
) -> dict[str, str]:
    try:
        columns = match_medq_columns(header, explicit)
    except ColumnsUnclear as error:
        raise ColumnsUnclear(f"{path}: {error}") from error
    check_medq_columns(columns, header, kind, str(path))
    return columns


def read_medq_tables(
    paths: Sequence[Path],
    kind: Kind,
    *,
    address: str = "",
    revision: str | None = None,
    explicit: Mapping[str, str] | None = None,
    warnings: Sequence[str] = (),
) -> MedQRelease:
    """The release that the tables at `paths` make together, in their order.

    Args:
        paths: One table, or the clean and the degraded one of the robustness benchmark.
        kind: What they should hold.
        address: Where they came from, for the manifest; default: their own paths.
        revision: Commit of the release.
        explicit: Field to column, where the names do not tell.
        warnings: What is already known to be wrong.

    Raises:
        ValueError: see `scan_medq_table`.
    """
    tables = [scan_medq_table(path, kind, explicit) for path in paths]
    return MedQRelease(
        source=address or ", ".join(str(path) for path in paths),
        layout="tsv",
        count=sum(table.count for table in tables),
        rows=_all_rows(tables, kind),
        revision=revision,
        warnings=tuple(warnings),
        files={table.path.name: table.sha256 for table in tables},
    )


def _all_rows(tables: Sequence[MedQTableFile], kind: Kind) -> Iterator[MedQRow]:
    number = 0
    for table in tables:
        yield from table.rows(kind, number)
        number += table.count
