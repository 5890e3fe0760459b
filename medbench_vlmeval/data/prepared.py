"""Reads the table and the manifest of a prepared data set, whichever benchmark it holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from ..files import read_jsonl
from .places import MANIFEST_NAME, TABLE_NAME


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
