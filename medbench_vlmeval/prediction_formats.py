"""The file formats of predictions, each read into rows of texts with their place in the file."""

from __future__ import annotations

import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .files import json_line, read_jsonl
from .spreadsheet import LONGEST_CELL, SheetRow, sheet_rows
from .unpickling import read_table_pickle

Row = dict[str, "str | None"]

_WHOLE_NUMBER = re.compile(r"(-?[0-9]+)\.0+")


@dataclass
class Records:
    """What a file holds: column names, rows with the place a message can name, and warnings."""

    columns: list[str]
    rows: list[tuple[str, Row]]
    warnings: list[str] = field(default_factory=list)


def cell_text(value: object) -> str | None:
    """A value as the text of a cell; None for nothing, the empty text and NaN.

    Whole numbers lose a ``.0``, lists and objects become one line of JSON.
    """
    if isinstance(value, str):
        return value or None
    if hasattr(value, "item") and getattr(value, "ndim", None) == 0:
        value = value.item()
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    if isinstance(value, (Mapping, list, tuple)):
        return json_line(value)
    return str(value)


def read_xlsx(path: Path) -> Records:
    """The first sheet of an xlsx file; its first row names the columns."""
    rows = sheet_rows(path)
    first = next(rows, None)
    if first is None:
        return Records([], [])
    names = {column: cell.text or "" for column, cell in first.cells.items()}
    records = Records(list(names.values()), [])
    for row in rows:
        cells = {name: row.cells.get(column) for column, name in names.items()}
        values = {name: None if cell is None else cell.text for name, cell in cells.items()}
        records.rows.append((f"row {row.number}", values))
        records.warnings += _doubtful_cells(path, row, names)
    return records


def _doubtful_cells(path: Path, row: SheetRow, names: Mapping[int, str]) -> list[str]:
    warnings = []
    for column, cell in row.cells.items():
        name = names.get(column)
        if name is None:
            warnings.append(f"{path}: row {row.number} has a cell without a column name, left out")
        elif cell.is_formula:
            warnings.append(
                f"{path}: row {row.number}, column {name!r}: the writer took the text for a "
                "formula; its source is used"
            )
        elif len(cell.text or "") >= LONGEST_CELL:
            warnings.append(
                f"{path}: row {row.number}, column {name!r}: {LONGEST_CELL} characters, the most "
                "an xlsx cell holds, so the text was probably cut; set PRED_FORMAT=tsv or json"
            )
    return warnings


def read_tsv(path: Path) -> Records:
    """A table separated by tabs."""
    return _read_separated(path, "\t")


def read_csv(path: Path) -> Records:
    """A table separated by commas."""
    return _read_separated(path, ",")


def _read_separated(path: Path, separator: str) -> Records:
    lines = _separated_lines(path, separator)
    if not lines:
        return Records([], [])
    columns = [name or "" for name in lines[0]]
    rows = [
        (f"row {number}", dict(zip(columns, line, strict=True)))
        for number, line in enumerate(lines[1:], start=2)
    ]
    for _, row in rows:
        row.update(_without_decimals(row))
    return Records(columns, rows)


def _separated_lines(path: Path, separator: str) -> list[list[str | None]]:
    import pandas as pd

    try:
        text = path.read_bytes().decode("utf-8-sig")
        # pandas before 2.2 ends a cell at a NUL.
        stand_in = _unused_sign(text) if "\0" in text else ""
        frame = pd.read_csv(
            io.StringIO(text.replace("\0", stand_in) if stand_in else text),
            sep=separator,
            # With a header pandas drops surplus cells of a row; without one they are an error.
            header=None,
            dtype=object,
            keep_default_na=False,
            na_filter=False,
        )
    except pd.errors.EmptyDataError:
        return []
    except (pd.errors.ParserError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path}: expected a UTF-8 table with one number of columns, got {error}; "
            "quote texts that hold separators or line breaks"
        ) from error
    lines = [[cell_text(value) for value in line] for line in frame.to_numpy(dtype=object)]
    if stand_in:
        lines = [[cell and cell.replace(stand_in, "\0") for cell in line] for line in lines]
    return lines


def _unused_sign(text: str) -> str:
    used = set(text)
    return next(chr(code) for code in range(0xE000, 0xF8FF) if chr(code) not in used)


def _without_decimals(row: Row) -> Row:
    # In a text table "12.0" is how pandas wrote the whole number 12; only the key is repaired.
    whole = _WHOLE_NUMBER.fullmatch(row.get("index") or "")
    return {"index": whole[1]} if whole else {}


def read_json(path: Path) -> Records:
    """A list of records, or one object of columns (lists, or objects by row label)."""
    try:
        content = json.loads(path.read_text(encoding="utf-8-sig"))
    except (json.JSONDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise ValueError(
            f"{path}: expected JSON, got something unreadable ({error}); the writer was probably "
            "killed, run the inference again with --reuse"
        ) from error
    return _from_objects(path, content)


def read_jsonlines(path: Path) -> Records:
    """One record per line; see `files.read_jsonl` for cut and broken lines."""
    try:
        lines, warnings = read_jsonl(path)
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: expected UTF-8, got {error}; save the file as UTF-8") from error
    records = _from_objects(path, lines)
    records.warnings += warnings
    return records


def read_pickle(path: Path) -> Records:
    """A pickled DataFrame, or the dictionary of predictions by index that the host keeps."""
    content = read_table_pickle(path)
    if hasattr(content, "to_dict") and hasattr(content, "columns"):
        content = content.astype(object).where(content.notna(), None).to_dict("records")
    elif isinstance(content, dict) and not {"index", "prediction"} & set(content):
        content = [{"index": key, "prediction": value} for key, value in content.items()]
    return _from_objects(path, content)


def _from_objects(path: Path, content: Any) -> Records:
    if isinstance(content, Mapping):
        content = _records_of_columns(path, content)
    if not isinstance(content, Sequence) or isinstance(content, str):
        raise ValueError(
            f"{path}: expected a list of records or an object of columns, "
            f"got {type(content).__name__}; is this a prediction file?"
        )
    columns: dict[str, None] = {}
    rows = []
    for number, record in enumerate(content, start=1):
        if not isinstance(record, Mapping):
            raise ValueError(
                f"{path}: expected record {number} to be an object with index and prediction, "
                f"got {type(record).__name__}; is this a prediction file?"
            )
        row = {str(name): cell_text(value) for name, value in record.items()}
        columns.update(dict.fromkeys(row))
        rows.append((f"record {number}", row))
    return Records(list(columns), [(place, _completed(row, columns)) for place, row in rows])


def _completed(row: Row, columns: Iterable[str]) -> Row:
    return {name: row.get(name) for name in columns}


def _records_of_columns(path: Path, columns: Mapping[Any, Any]) -> list[dict[Any, Any]]:
    lists: dict[Any, list[Any]] = {}
    for name, column in columns.items():
        if isinstance(column, Mapping):
            lists[name] = list(column.values())
        elif isinstance(column, Sequence) and not isinstance(column, str):
            lists[name] = list(column)
        else:
            raise ValueError(
                f"{path}: expected column {name!r} to be a list or an object, "
                f"got {type(column).__name__}; is this a prediction file?"
            )
    if len({len(column) for column in lists.values()}) > 1:
        lengths = {str(name): len(column) for name, column in lists.items()}
        raise ValueError(f"{path}: expected columns of one length, got {lengths}; repair the file")
    return [dict(zip(lists, values, strict=True)) for values in zip(*lists.values(), strict=True)]


READERS: dict[str, Callable[[Path], Records]] = {
    ".csv": read_csv,
    ".json": read_json,
    ".jsonl": read_jsonlines,
    ".pkl": read_pickle,
    ".tsv": read_tsv,
    ".xlsx": read_xlsx,
}
"""Reader by file ending, for the formats the host writes."""
