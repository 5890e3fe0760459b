"""Reads the GitHub release: ``editing/editing_metadata.json`` and three folders of images."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from .columns import IMAGE_FIELDS, match_columns
from .releases import (
    Release,
    SourceImage,
    SourceSample,
    refuse_duplicates,
    sample_from_row,
    sample_id,
)

METADATA_NAME = "editing_metadata.json"
_COMMIT = re.compile(r"[0-9a-f]{40}")


def find_metadata(source: Path) -> Path | None:
    """The metadata file of `source`: a copy of the repository, or its ``editing`` folder."""
    candidates = (source / "editing" / METADATA_NAME, source / METADATA_NAME)
    return next((path for path in candidates if path.is_file()), None)


def read_official(
    source: Path,
    *,
    metadata: Path | None = None,
    columns: Mapping[str, str] | None = None,
    revision: str | None = None,
) -> Release:
    """The release in `source`; nothing but the metadata is read yet.

    Args:
        source: Folder that holds ``editing/editing_metadata.json``, or the ``editing`` folder.
        metadata: The metadata file, where it lies elsewhere.
        columns: Field to key, where a copy names its keys differently.
        revision: Commit of the release; default: that of the git checkout `source`, if it is one.

    Raises:
        FileNotFoundError: no metadata there.
        ValueError: the metadata is not JSON, holds no samples, or repeats an id.
        ColumnsUnclear: the keys of the samples are not the released ones.
    """
    metadata = metadata or find_metadata(source)
    if metadata is None:
        raise FileNotFoundError(
            f"expected editing/{METADATA_NAME} or {METADATA_NAME} in {source}, found neither; "
            "give the folder of the MedEBench repository or its editing folder"
        )
    rows = _rows_of(metadata)
    found = match_columns(list(dict.fromkeys(key for row in rows for key in row)), columns)
    refuse_duplicates(
        sample_id(row, found, position=position) for position, row in enumerate(rows, start=1)
    )
    return Release(
        source=str(source),
        layout="official",
        count=len(rows),
        samples=_samples(rows, found, metadata.parent),
        revision=revision or checked_out_commit(source) or checked_out_commit(source.parent),
        columns=found,
    )


def _rows_of(metadata: Path) -> list[dict[str, Any]]:
    try:
        content = json.loads(metadata.read_text(encoding="utf-8-sig"))
    except json.JSONDecodeError as error:
        raise ValueError(f"{metadata} is not JSON ({error}); download the file again") from error
    rows = content.get("samples") if isinstance(content, dict) else content
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        raise ValueError(
            f'expected {{"samples": [...]}} with samples in {metadata}; download the file again'
        )
    return rows


def _samples(
    rows: Sequence[Mapping[str, Any]], columns: Mapping[str, str], folder: Path
) -> Iterator[SourceSample]:
    for position, row in enumerate(rows, start=1):
        images, problems = named_images(row, columns, (folder.parent, folder))
        yield sample_from_row(row, columns, position=position, images=images, problems=problems)


def named_images(
    row: Mapping[str, Any], columns: Mapping[str, str], folders: Sequence[Path]
) -> tuple[dict[str, SourceImage], tuple[str, ...]]:
    """Images of a row that names them by path, and what is wrong with those paths.

    A path is looked for in each of `folders`, whole and without its first part, because the folder
    ``editing`` that the released paths begin with may have been renamed. Back-slashes count as
    slashes. Absolute paths and ``..`` are refused: a table must not name files outside the release.
    """
    images: dict[str, SourceImage] = {}
    problems: list[str] = []
    for role in IMAGE_FIELDS:
        name = row.get(columns[role]) if role in columns else None
        if not name:
            continue
        relative = PurePosixPath(str(name).replace("\\", "/"))
        if relative.is_absolute() or ".." in relative.parts or ":" in relative.parts[0]:
            problems.append(f"{role} path leaves the release")
            continue
        path = _existing(relative, folders)
        if path is not None:
            images[role] = SourceImage(name=str(relative), path=path)
    return images, tuple(problems)


def _existing(relative: PurePosixPath, folders: Sequence[Path]) -> Path | None:
    shortened = PurePosixPath(*relative.parts[1:])
    candidates = [
        folder / part for part in (relative, shortened) if part.parts for folder in folders
    ]
    return next((path for path in candidates if path.is_file()), None)


def checked_out_commit(folder: Path) -> str | None:
    """Commit of the git checkout `folder`, read from its files, or `None`."""
    head = folder / ".git" / "HEAD"
    if not head.is_file():
        return None
    text = head.read_text(encoding="utf-8").strip()
    if text.startswith("ref: "):
        text = _commit_of_reference(folder / ".git", text[len("ref: ") :])
    return text if _COMMIT.fullmatch(text) else None


def _commit_of_reference(git: Path, reference: str) -> str:
    loose = git / reference
    if loose.is_file():
        return loose.read_text(encoding="utf-8").strip()
    packed = git / "packed-refs"
    lines = packed.read_text(encoding="utf-8").splitlines() if packed.is_file() else []
    return next((line.split(" ")[0] for line in lines if line.endswith(f" {reference}")), "")
