"""Which column of a release holds which field: a table of names, an error when it is unclear."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

TEXT_FIELDS = ("id", "organ", "task", "instruction", "description", "url")
IMAGE_FIELDS = ("previous", "reference", "roi")
OPTIONAL_FIELDS = ("url",)

NO_COLUMN = "-"
"""Given instead of a column name: this release has no such field."""
ROW_NUMBER = "#row"
"""Given for `id`: number the rows 1, 2, 3, … in the order of the release."""

COLUMN_ALIASES: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "sample_id", "index", "idx"),
    "organ": ("organ", "organ_name", "body_part", "anatomy", "category"),
    "task": ("task", "task_name", "task_type", "editing_task", "edit_task"),
    "instruction": (
        "prompt",
        "instruction",
        "edit_prompt",
        "editing_prompt",
        "edit_instruction",
        "editing_instruction",
    ),
    "description": (
        "detailed_prompt",
        "description",
        "detailed_description",
        "detailed_instruction",
    ),
    "url": ("url", "source_url", "image_url", "link"),
    "previous": (
        "previous_image",
        "previous",
        "input_image",
        "source_image",
        "before_image",
        "image_before",
        "before",
        "input",
    ),
    "reference": (
        "changed_image",
        "changed",
        "reference_image",
        "reference",
        "ground_truth",
        "ground_truth_image",
        "gt_image",
        "target_image",
        "after_image",
        "image_after",
        "after",
        "target",
    ),
    "roi": ("previous_mask", "mask", "roi_mask", "roi", "mask_image", "edit_mask"),
}
"""Normalised column names by field; the first of each is that of the released metadata and wins."""


class ColumnsUnclear(ValueError):
    """A release's columns cannot be told apart safely; the message lists them and how to say it."""


def match_columns(
    found: Sequence[str], explicit: Mapping[str, str] | None = None
) -> dict[str, str]:
    """Field to column name for every field that has a column.

    Args:
        found: Column names of the release.
        explicit: Field to column name where the table of aliases does not decide; `NO_COLUMN` for a
            field the release lacks, `ROW_NUMBER` for ids that follow the order of the rows.

    Raises:
        ColumnsUnclear: a field has no column or several, or an explicit column is not there.
    """
    explicit = dict(explicit or {})
    unknown = [field for field in explicit if field not in COLUMN_ALIASES]
    if unknown:
        raise ColumnsUnclear(f"expected fields {_listed(COLUMN_ALIASES)}, got {_listed(unknown)}")
    columns: dict[str, str] = {}
    trouble: list[str] = []
    for field in COLUMN_ALIASES:
        candidates = (
            _explicit_candidates(explicit[field], found, field)
            if field in explicit
            else _candidates(field, found)
        )
        if len(candidates) == 1:
            columns[field] = candidates[0]
        elif len(candidates) > 1:
            trouble.append(f"{field}: any of {_listed(candidates)}")
        elif explicit.get(field) != NO_COLUMN and field not in OPTIONAL_FIELDS:
            trouble.append(f"{field}: none found")
    if trouble:
        raise ColumnsUnclear(_unclear_message(trouble, found))
    return columns


def _candidates(field: str, found: Sequence[str]) -> list[str]:
    names: dict[str, list[str]] = {}
    for column in found:
        names.setdefault(_normalised(column), []).append(column)
    released, *others = COLUMN_ALIASES[field]
    if released in names:
        return names[released]
    return [column for alias in others for column in names.get(alias, [])]


def _explicit_candidates(column: str, found: Sequence[str], field: str) -> list[str]:
    if column == NO_COLUMN:
        return []
    if column in found or (field == "id" and column == ROW_NUMBER):
        return [column]
    raise ColumnsUnclear(f"expected a column for {field} among {_listed(found)}, got {column!r}")


def _normalised(column: str) -> str:
    words = re.sub(r"[^a-z0-9]+", "_", column.lower()).strip("_")
    return re.sub(r"_(file_name|filename|file_path|path|file)$", "", words)


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "nothing"


def _unclear_message(trouble: Sequence[str], found: Sequence[str]) -> str:
    return (
        f"the columns of this release are not clear ({'; '.join(trouble)}). "
        f"Columns found: {_listed(found)}. "
        "Say which is which, once for each field, e.g. --column previous=input_image; "
        f"--column FIELD={NO_COLUMN} when the release has no such field, "
        f"--column id={ROW_NUMBER} to number the rows. Fields: {_listed(COLUMN_ALIASES)}."
    )
