"""Filled-in tables as spreadsheets and the form save them: rows of texts, with their numbers."""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .cells import BOM

_DELIMITERS = (",", ";", "\t")
_SEPARATOR_LINE = re.compile(r'"?sep=(.)"?\r?\n', re.IGNORECASE)


class TableUnreadable(ValueError):
    """A file that is no filled-in sheet at all."""


@dataclass(frozen=True)
class FilledRow:
    """One row, its number as spreadsheets count (the header is row 1), and its cells by column."""

    number: int
    cells: Mapping[str, str]


@dataclass(frozen=True)
class FilledTable:
    """A filled-in sheet as it came back."""

    path: Path
    columns: tuple[str, ...]
    rows: tuple[FilledRow, ...]
    ragged: tuple[int, ...]
    """Rows with more cells than columns: a text, or a decimal comma, without its quotes."""
    extra: tuple[str, ...]
    """Columns that no sheet has."""

    @classmethod
    def read(cls, path: Path, required: Sequence[str]) -> FilledTable:
        """The rows of a CSV file: UTF-8 with or without its mark, comma, semicolon or tab.

        Args:
            path: the file.
            required: columns that must be there.

        Raises:
            TableUnreadable: no UTF-8, no CSV, a column twice, or one that is missing.
        """
        text, delimiter, first = _dialect(_text(path), required)
        try:
            rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True))
        except csv.Error as error:
            raise TableUnreadable(
                f"{path}: expected a CSV file, got one that breaks off ({error}); save it again "
                "as CSV UTF-8"
            ) from error
        columns = tuple(name.strip() for name in rows[0]) if rows else ()
        _check_columns(path, columns, required)
        numbered = [(number, row) for number, row in enumerate(rows[1:], start=first + 1)]
        filled = [(number, row) for number, row in numbered if any(cell.strip() for cell in row)]
        return cls(
            path,
            columns,
            tuple(FilledRow(n, dict(_padded(columns, row))) for n, row in filled),
            tuple(n for n, row in filled if len(row) > len(columns)),
            tuple(name for name in columns if name and name not in required),
        )


def _padded(columns: Sequence[str], row: Sequence[str]) -> list[tuple[str, str]]:
    # Some spreadsheets leave away empty cells at the end of a row.
    padded = [*row, *[""] * (len(columns) - len(row))]
    return list(zip(columns, padded, strict=False))


def _text(path: Path) -> str:
    data = path.read_bytes()
    if data.startswith(b"PK"):
        raise TableUnreadable(
            f"{path}: expected a CSV file, got a workbook; save its first sheet as CSV UTF-8"
        )
    try:
        return data.decode("utf-8").removeprefix(BOM)
    except UnicodeDecodeError as error:
        raise TableUnreadable(
            f"{path}: expected UTF-8, got another encoding (byte {error.start}); save it as "
            "CSV UTF-8, which spreadsheets offer beside plain CSV"
        ) from error


def _dialect(text: str, required: Sequence[str]) -> tuple[str, str, int]:
    """The text from its header on, its delimiter, and the number of the header's row."""
    named = _SEPARATOR_LINE.match(text)
    if named:
        return text[named.end() :], named[1], 2
    head = text.partition("\n")[0]

    def found(delimiter: str) -> int:
        names = {cell.strip().strip('"') for cell in head.split(delimiter)}
        return len(names & set(required))

    return text, max(_DELIMITERS, key=found), 1


def _check_columns(path: Path, columns: Sequence[str], required: Sequence[str]) -> None:
    missing = [name for name in required if name not in columns]
    twice = sorted({name for name in columns if name and columns.count(name) > 1})
    if missing or twice:
        got = f"{', '.join(missing)} missing" if missing else f"{', '.join(twice)} twice"
        raise TableUnreadable(
            f"{path}: expected the columns of the sheet, got {got}; fill in the table as it was "
            "handed out, and save it as CSV UTF-8"
        )
