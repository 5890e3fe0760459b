"""Builds small MedQ-Bench tables as pandas writes them, in every layout that is read."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from medbench_vlmeval.data import MEDQ_TABLE_NAMED, MedQData, load_medq, prepare_medq

from .releases import picture, write

GRADES = {"A": "Good", "B": "Usable", "C": "Reject"}
YES_NO = {"A": "Yes", "B": "No"}


def b64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def mcq_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    """A question with its own picture; `changes` replaces cells or adds columns."""
    row: dict[str, Any] = {
        "index": number,
        "image": b64(picture(number)),
        "question": "How good is this image?",
        **GRADES,
        "answer": "A",
        "modality": "CT",
    }
    return row | changes


def caption_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": number,
        "image": b64(picture(number)),
        "description": "A slice. Overall, the quality of this image is good.",
    }
    return row | changes


def paired_row(number: int = 0, **changes: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "index": number,
        "image_a": b64(picture(2 * number)),
        "image_b": b64(picture(2 * number + 1)),
        "description": "Noise. Overall, the first image is of higher quality.",
    }
    return row | changes


def table_text(rows: Sequence[Mapping[str, Any]]) -> str:
    """The rows as tab-separated text, quoted where it must be; `None` is an empty cell."""
    columns = list(dict.fromkeys(name for row in rows for name in row))
    stream = io.StringIO()
    writer = csv.DictWriter(stream, columns, delimiter="\t", lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return stream.getvalue()


def write_table(
    folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "MedQ_MCQ_test", file: int = 0
) -> Path:
    """A folder with one table under its published file name."""
    write(folder / MEDQ_TABLE_NAMED[name].files[file], table_text(rows).encode("utf-8"))
    return folder


def prepared(source: Path, name: str = "MedQ_MCQ_test", **options: Any):
    return prepare_medq(source, name=name, progress=False, **options)


def loaded(
    folder: Path, rows: Sequence[Mapping[str, Any]], name: str = "MedQ_MCQ_test", **options: Any
) -> MedQData:
    """What is loaded after preparing these rows."""
    prepared(write_table(folder, rows, name), name, **options)
    return load_medq(name)
