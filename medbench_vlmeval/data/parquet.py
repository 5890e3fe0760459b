"""Reads parquet files of the Hub, batch by batch, with the images inside the rows."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from .columns import IMAGE_FIELDS, ROW_NUMBER, ColumnsUnclear, match_columns
from .official_layout import named_images
from .releases import (
    Release,
    SourceImage,
    SourceSample,
    refuse_duplicates,
    sample_from_row,
    sample_id,
)

_ROWS_PER_BATCH = 16
"""A row holds three images of up to about 1 MB; a batch stays well under 100 MB."""


def read_parquet(
    files: Sequence[Path],
    *,
    folder: Path,
    source: str,
    revision: str | None = None,
    columns: Mapping[str, str] | None = None,
) -> Release:
    """The release in `files`; images stay on disk until their row is reached.

    An image may be a struct of bytes and path, plain bytes, or a path relative to the snapshot.
    Integer organs are decoded with the class names that the Hub stores beside them.

    Raises:
        ColumnsUnclear: the columns do not tell which is which, or differ between the files.
        ValueError: an id is repeated or not a whole number.
        ImportError: pyarrow is not installed.
    """
    parquet = pyarrow_parquet()
    schemas = [parquet.read_schema(file) for file in files]
    if any(schema.names != schemas[0].names for schema in schemas):
        listed = "; ".join(
            f"{file.name}: {', '.join(schema.names)}"
            for file, schema in zip(files, schemas, strict=True)
        )
        raise ColumnsUnclear(
            f"the parquet files have different columns ({listed}); give a folder with one kind only"
        )
    found = match_columns(schemas[0].names, columns)
    refuse_duplicates(_ids(parquet, files, found))
    return Release(
        source=source,
        layout="parquet",
        count=sum(parquet.read_metadata(file).num_rows for file in files),
        samples=_samples(parquet, files, found, _class_names(schemas[0]), folder),
        revision=revision,
        columns=found,
    )


def pyarrow_parquet() -> ModuleType:
    """The module `pyarrow.parquet`, or an ImportError that says what to install."""
    try:
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'reading parquet files needs pyarrow: pip install "medbench-vlmeval[hub]"'
        ) from error
    return pyarrow.parquet


def rows_of(
    parquet: ModuleType, files: Sequence[Path], columns: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """The rows of all files in order, a batch in memory at a time."""
    for file in files:
        # Read in small steps: a row group may hold gigabytes of images.
        with parquet.ParquetFile(file, pre_buffer=False, buffer_size=1 << 20) as reader:
            for batch in reader.iter_batches(batch_size=_ROWS_PER_BATCH, columns=list(columns)):
                yield from batch.to_pylist()


def _ids(parquet: ModuleType, files: Sequence[Path], columns: Mapping[str, str]) -> Iterator[int]:
    if columns["id"] == ROW_NUMBER:
        return
    for position, row in enumerate(rows_of(parquet, files, [columns["id"]]), start=1):
        yield sample_id(row, columns, position=position)


def _samples(
    parquet: ModuleType,
    files: Sequence[Path],
    columns: Mapping[str, str],
    class_names: Mapping[str, Sequence[str]],
    folder: Path,
) -> Iterator[SourceSample]:
    wanted = [column for column in columns.values() if column != ROW_NUMBER]
    for position, row in enumerate(rows_of(parquet, files, wanted), start=1):
        for column, names in class_names.items():
            if column in row and isinstance(row[column], int) and 0 <= row[column] < len(names):
                row[column] = names[row[column]]
        images, problems = _images(row, columns, folder)
        yield sample_from_row(row, columns, position=position, images=images, problems=problems)


def _images(
    row: Mapping[str, Any], columns: Mapping[str, str], folder: Path
) -> tuple[dict[str, SourceImage], tuple[str, ...]]:
    embedded: dict[str, SourceImage] = {}
    by_path: dict[str, Any] = {}
    for role in IMAGE_FIELDS:
        value = row.get(columns[role]) if role in columns else None
        data, name = bytes_and_name(value, columns.get(role, role))
        if data is not None:
            embedded[role] = SourceImage(name=name, data=data)
        elif name:
            by_path[columns[role]] = name
    named, problems = named_images(by_path, columns, (folder,))
    return embedded | named, problems


def bytes_and_name(value: Any, column: str) -> tuple[bytes | None, str]:
    """Bytes and name of an image cell: a struct of both, bytes, or a path; empty for no image.

    Raises:
        ColumnsUnclear: it is anything else.
    """
    if value is None:
        return None, ""
    if isinstance(value, Mapping) and set(value) <= {"bytes", "path"}:
        return value.get("bytes") or None, value.get("path") or ""
    if isinstance(value, bytes):
        return value or None, ""
    if isinstance(value, str):
        return None, value
    raise ColumnsUnclear(
        f"expected an image in column {column!r} (bytes, a path, or both), "
        f"got {type(value).__name__}; map the right column with --column FIELD=NAME"
    )


def _class_names(schema: Any) -> dict[str, Sequence[str]]:
    """Class names by column, from the feature description the Hub keeps in the schema."""
    stored = (schema.metadata or {}).get(b"huggingface")
    features = json.loads(stored).get("info", {}).get("features", {}) if stored else {}
    return {
        column: feature["names"]
        for column, feature in features.items()
        if isinstance(feature, dict)
        and feature.get("_type") == "ClassLabel"
        and feature.get("names")
    }
