"""Which column of a MedQ-Bench table holds which field; what is asked of a table's columns.

The columns of the published tables are known in part only, see docs/data.md: names are compared
without regard to case and separators, and what is needed and not found is an error.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from .columns import NO_COLUMN, ColumnsUnclear
from .medq_tables import Kind

MEDQ_ALIASES: Mapping[str, tuple[str, ...]] = {
    "index": ("index", "id", "idx", "sample_id"),
    "question": ("question", "query"),
    "answer": ("answer", "correct_answer", "ground_truth", "gt_answer"),
    "description": ("description", "golden_description", "reference_description"),
    "image": ("image",),
    "image_a": ("image_a",),
    "image_b": ("image_b",),
    "image_path": ("image_path",),
    "question_type": (
        "question_type",
        "questiontype",
        "question_category",
        "qtype",
        "q_type",
        "type",
        "category",
    ),
    "modality": ("modality", "image_modality", "imaging_modality"),
    "degradation": ("degradation_type", "degradation", "distortion_type", "distortion"),
    "level": (
        "degradation_severity",
        "degradation_level",
        "severity",
        "level",
        "distortion_level",
        "severity_level",
    ),
    "scope": ("scope", "degradation_scope"),
    "origin": ("source", "origin", "image_source", "data_source"),
    "difficulty": ("difficulty", "granularity", "pair_difficulty"),
}
"""Normalised column names by field; where a table has several, the first of these wins."""

IMAGE_FIELDS = ("image_a", "image_b", "image")
"""Fields whose cells are image data."""

_OPTION = re.compile(r"[A-Za-z]")


def match_medq_columns(
    found: Iterable[str], explicit: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Field to column name for every field that has a column.

    Args:
        found: Column names of the table.
        explicit: Field to column name where the names do not tell; `NO_COLUMN` for a field that
            the table lacks.

    Raises:
        ColumnsUnclear: two columns differ in case only, or an explicit field or column is none.
    """
    explicit, found = dict(explicit or {}), list(found)
    _check_explicit(explicit, found)
    names: dict[str, list[str]] = {}
    for column in found:
        if column not in explicit.values():
            names.setdefault(_normalised(column), []).append(column)
    columns = {field: name for field, name in explicit.items() if name != NO_COLUMN}
    for field, aliases in MEDQ_ALIASES.items():
        known = next((names[alias] for alias in aliases if alias in names), [])
        if field in explicit or not known:
            continue
        if len(known) > 1:
            raise ColumnsUnclear(
                f"expected one column for {field}, got {', '.join(known)}; say which one it is: "
                f"--column {field}=NAME"
            )
        columns[field] = known[0]
    return {field: columns[field] for field in MEDQ_ALIASES if field in columns}


def _check_explicit(explicit: Mapping[str, str], found: Sequence[str]) -> None:
    unknown = [field for field in explicit if field not in MEDQ_ALIASES]
    if unknown:
        raise ColumnsUnclear(
            f"expected fields {', '.join(MEDQ_ALIASES)}, got {', '.join(unknown)}; options are the "
            "columns named by one letter"
        )
    for field, column in explicit.items():
        if column != NO_COLUMN and column not in found:
            raise ColumnsUnclear(
                f"expected a column for {field} among {', '.join(found)}, got {column!r}"
            )


def _normalised(column: str) -> str:
    return re.sub(r"[^a-z0-9]+", "_", column.strip().lower()).strip("_")


def option_columns(found: Iterable[str]) -> dict[str, str]:
    """Letter to column for every column that is named by one letter, in the order of letters."""
    columns: dict[str, str] = {}
    for column in sorted(found, reverse=True):
        if _OPTION.fullmatch(column.strip()):
            # Reversed: where both `a` and `A` are there, the capital comes last and stays.
            columns[column.strip().upper()] = column
    return dict(sorted(columns.items()))


def check_medq_columns(
    columns: Mapping[str, str], found: Sequence[str], kind: Kind, file: str
) -> None:
    """Refuse a table that lacks what its kind needs.

    Raises:
        ColumnsUnclear: the message names the file, what is needed, what is there, and the remedy.
    """
    needed = ["question", "answer"] if kind in ("mcq", "deg") else ["description"]
    missing = [field for field in needed if field not in columns]
    if kind in ("mcq", "deg") and len(option_columns(found)) < 2:
        missing.append("options (columns named A, B, …)")
    pair = kind == "paired" and {"image_a", "image_b"} <= set(columns)
    if not pair and "image" not in columns and "image_path" not in columns:
        missing.append(
            "images (image_a and image_b, image, or image_path)"
            if kind == "paired"
            else "images (image or image_path)"
        )
    if missing:
        raise ColumnsUnclear(
            f"{file}: expected columns for {', '.join(missing)}, found {', '.join(found)}; say "
            "which column it is with --column FIELD=NAME, or give the table that belongs to this "
            "data set"
        )
