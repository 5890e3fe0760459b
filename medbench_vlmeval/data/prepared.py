"""Reads the table and the manifest of a prepared data set, whichever benchmark it holds."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from ..files import read_jsonl
from .places import IMAGES_FOLDER, MANIFEST_NAME, TABLE_NAME

_STORED_NAME = re.compile(rf"{IMAGES_FOLDER}/[0-9a-f]{{2}}/[0-9a-f]{{64}}\.[a-z]+")


def is_prepared(folder: Path) -> bool:
    """Whether a preparation was finished there."""
    return (folder / TABLE_NAME).is_file() and (folder / MANIFEST_NAME).is_file()


def read_prepared(folder: Path) -> tuple[list[dict[str, Any]], dict[str, Any]]:
    """The records and the manifest.

    Raises:
        ValueError: the table is damaged.
    """
    records, warnings = read_jsonl(folder / TABLE_NAME)
    if warnings:
        raise ValueError(
            f"{'; '.join(warnings)}; run the same `medbench data prepare` command again"
        )
    return records, read_manifest(folder)


def read_manifest(folder: Path) -> dict[str, Any]:
    """What the preparation recorded about itself."""
    return json.loads((folder / MANIFEST_NAME).read_text(encoding="utf-8"))


def stored_image(folder: Path, relative: str | None) -> Path | None:
    """Path of an image that a record lists, `None` for one that is absent.

    Raises:
        ValueError: the name is none that preparing data gives; a table must not name other files.
    """
    if relative is None:
        return None
    if not _STORED_NAME.fullmatch(relative):
        raise ValueError(
            f"expected paths such as images/0a/HASH.png in {folder / TABLE_NAME}, got {relative!r}"
        )
    return folder.joinpath(*relative.split("/"))


def stored_size(value: Sequence[int] | None) -> tuple[int, int] | None:
    """A (width, height) as a record holds it; `None` where it holds none."""
    return None if value is None else (int(value[0]), int(value[1]))


def missing_images(images: Iterable[Path | None]) -> list[Path]:
    """Those of `images` that are no longer there, each once."""
    paths = dict.fromkeys(path for path in images if path is not None)
    present = {folder: _names_in(folder) for folder in {path.parent for path in paths}}
    return [path for path in paths if path.name not in present[path.parent]]


def _names_in(folder: Path) -> set[str]:
    return {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()
