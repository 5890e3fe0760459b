"""Cells of a sheet: what is written so that no spreadsheet runs it, and what is read back."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence

from ..files import sha256_bytes
from ..report.safe_text import spreadsheet_text

CANNOT_JUDGE, COMMENT = "cannot_judge", "comment"
BOM = "\ufeff"
"""Without it Excel takes UTF-8 for the code page of the system."""


def unguarded(cell: str) -> str:
    """A cell without the apostrophe that keeps a spreadsheet from running it."""
    bare = cell.removeprefix("'")
    return bare if spreadsheet_text(bare) == cell else cell


def cells_sha256(cells: Mapping[str, str]) -> str:
    """Hash of the cells of an item that a rater does not fill in.

    Runs of white space count as one blank: spreadsheets rewrite line breaks.
    """
    plain = [f"{name}={' '.join(unguarded(cell).split())}" for name, cell in cells.items()]
    return sha256_bytes("\n".join(plain).encode("utf-8", errors="replace"))


def csv_bytes(header: Sequence[str], rows: Sequence[Sequence[str]], delimiter: str = ",") -> bytes:
    """A table as Excel opens it: UTF-8 with its mark, lines ended by CR LF, no formulas."""
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=delimiter, lineterminator="\r\n")
    writer.writerow(header)
    writer.writerows([spreadsheet_text(cell) for cell in row] for row in rows)
    return (BOM + stream.getvalue()).encode("utf-8", errors="replace")
