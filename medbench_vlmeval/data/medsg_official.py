"""Reads the released MedSG-Bench layout: ``Task1.json`` … ``Task8.json`` and their images."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from .medsg_archives import TaskImages, leaves_release
from .medsg_rows import MedSGRelease, MedSGRow
from .medsg_tasks import MEDSG_TASKS, MedSGTask, task_named
from .official_layout import checked_out_commit
from .releases import SourceImage

_FOLDERS = ("", "MedSG-Bench", "MedSG-Bench/MedSG-Bench")
"""Where the tables lie in a copy of the repository, or of a folder inside it."""


def find_tables(source: Path) -> dict[MedSGTask, Path]:
    """The tables of the tasks that `source` holds, in the order of the tasks."""
    for relative in _FOLDERS:
        folder = source / relative
        found = {task: folder / f"Task{task.number}.json" for task in MEDSG_TASKS}
        present = {task: path for task, path in found.items() if path.is_file()}
        if present:
            return present
    return {}


def read_official_medsg(
    source: Path, *, address: str = "", revision: str | None = None
) -> MedSGRelease:
    """The release in `source`; all tables are read, no image is.

    Args:
        source: A copy of the Hub repository, or the folder of the tables.
        address: Where it came from, for the manifest; default: the folder.
        revision: Commit of the release; default: that of the git checkout `source`, if it is one.

    Raises:
        FileNotFoundError: no table there.
        ValueError: a table is no JSON list of rows, or a zip file is cut.
    """
    tables = find_tables(source)
    if not tables:
        raise FileNotFoundError(
            f"expected Task1.json to Task8.json in {source} or its folder MedSG-Bench, found none; "
            "give a copy of the MedSG-Bench repository"
        )
    rows = {task: _rows_of(path) for task, path in tables.items()}
    folders = _image_folders(source, next(iter(tables.values())).parent)
    warnings = []
    for task in MEDSG_TASKS:
        if task not in tables:
            warnings.append(f"Task{task.number}.json is missing: no rows of {task.key}")
            continue
        with TaskImages(task.number, folders) as images:
            if not images.is_there:
                warnings.append(
                    f"neither Task{task.number}.zip nor a folder Task{task.number} is there: "
                    f"{len(rows[task])} rows of {task.key} have no images"
                )
    return MedSGRelease(
        source=address or str(source),
        layout="official",
        count=sum(map(len, rows.values())),
        rows=_rows(rows, folders),
        revision=revision or checked_out_commit(source),
        warnings=tuple(warnings),
    )


def _image_folders(source: Path, tables: Path) -> list[Path]:
    return list(dict.fromkeys([tables, source, *(source / relative for relative in _FOLDERS)]))


def _rows_of(path: Path) -> list[dict[str, Any]]:
    try:
        rows = json.loads(path.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{path} is not JSON ({error}); download the file again") from error
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(f"expected a list of rows in {path}; download the file again")
    return rows


def _rows(
    tables: Mapping[MedSGTask, Sequence[Mapping[str, Any]]], folders: Sequence[Path]
) -> Iterator[MedSGRow]:
    for task, rows in tables.items():
        with TaskImages(task.number, folders) as images:
            for number, row in enumerate(rows):
                yield _row(task, number, row, images)


def _row(task: MedSGTask, number: int, row: Mapping[str, Any], images: TaskImages) -> MedSGRow:
    problems = [] if task_named(row.get("task")) is task else ["task field names another task"]
    names = image_names(row.get("images"))
    found: list[SourceImage | None] = []
    for position, name in enumerate(names, start=1):
        if leaves_release(name):
            problems.append(f"image {position} path leaves the release")
            found.append(None)
        else:
            found.append(images.find(name))
    mask, mask_file = row.get("mask"), None
    if isinstance(mask, str) and not leaves_release(mask):
        mask_file = images.find(mask)
    return MedSGRow(task, number, row, tuple(found), names, tuple(problems), mask_file)


def image_names(value: Any) -> tuple[str, ...]:
    """The image paths of a row: a list of texts, or a single text; nulls become empty."""
    names = [value] if isinstance(value, str) else value
    if not isinstance(names, (list, tuple)):
        return ()
    return tuple("" if name is None else str(name) for name in names)
