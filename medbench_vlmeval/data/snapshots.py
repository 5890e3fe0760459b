"""Reads a Hub snapshot: the official folders, parquet files, or a table beside images."""

from __future__ import annotations

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import read_jsonl
from .columns import ColumnsUnclear, match_columns
from .official_layout import METADATA_NAME, named_images, read_official
from .parquet import read_parquet
from .releases import Release, SourceSample, refuse_duplicates, sample_from_row, sample_id
from .remedies import shortened

_TABLE_SUFFIXES = (".jsonl", ".csv")
Row = tuple[dict[str, Any], Path]


def read_snapshot(
    folder: Path,
    *,
    source: str,
    revision: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Release:
    """The release in a snapshot folder, whichever of the three layouts it has.

    Args:
        folder: The snapshot.
        source: Address it came from, for the manifest.
        revision: Commit of the snapshot.
        columns: Field to column name, where the table of aliases does not decide.

    Raises:
        ValueError: no layout is recognised; the message lists the files found.
        ColumnsUnclear: the layout is clear, its columns are not.
    """
    metadata = sorted(folder.rglob(METADATA_NAME))
    if metadata:
        release = read_official(folder, metadata=metadata[0], columns=columns, revision=revision)
        return Release(
            source,
            release.layout,
            release.count,
            release.samples,
            revision,
            columns=release.columns,
        )
    parquet = sorted(folder.rglob("*.parquet"))
    if parquet:
        return read_parquet(
            parquet, folder=folder, source=source, revision=revision, columns=columns
        )
    tables = sorted(path for suffix in _TABLE_SUFFIXES for path in folder.rglob(f"*{suffix}"))
    if tables:
        return _read_tables(
            tables, folder=folder, source=source, revision=revision, columns=columns
        )
    raise ValueError(
        f"expected {METADATA_NAME}, *.parquet, *.jsonl or *.csv in {folder}, "
        f"found {_names_in(folder)}; unpack archives first, or give the copy of the repository"
    )


def _names_in(folder: Path) -> str:
    files = (path for path in folder.rglob("*") if path.is_file())
    return shortened(sorted(str(path.relative_to(folder)) for path in files)) or "no files"


def _read_tables(
    tables: Sequence[Path],
    *,
    folder: Path,
    source: str,
    revision: str | None,
    columns: Mapping[str, str] | None,
) -> Release:
    rows = [(row, table.parent) for table in tables for row in _rows_of(table)]
    if not rows:
        raise ColumnsUnclear(f"expected rows in {', '.join(map(str, tables))}, got none")
    found = match_columns(list(dict.fromkeys(key for row, _ in rows for key in row)), columns)
    refuse_duplicates(
        sample_id(row, found, position=position) for position, (row, _) in enumerate(rows, start=1)
    )
    samples = _samples(rows, found, folder)
    return Release(source, "imagefolder", len(rows), samples, revision, columns=found)


def _rows_of(table: Path) -> list[dict[str, Any]]:
    if table.suffix == ".csv":
        with table.open(encoding="utf-8-sig", newline="") as stream:
            return list(csv.DictReader(stream))
    return read_jsonl(table)[0]


def _samples(
    rows: Sequence[Row], columns: Mapping[str, str], folder: Path
) -> Iterator[SourceSample]:
    for position, (row, table_folder) in enumerate(rows, start=1):
        images, problems = named_images(row, columns, (table_folder, folder))
        yield sample_from_row(row, columns, position=position, images=images, problems=problems)
