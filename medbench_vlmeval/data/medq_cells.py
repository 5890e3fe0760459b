"""The images of a MedQ-Bench row: base64 text, lists of it, or paths beside the table.

Bytes are handed over as they are; whether they are a picture is found out when they are stored.
"""

from __future__ import annotations

import ast
import base64
import binascii
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from .medq_tables import Kind
from .medsg_archives import leaves_release
from .releases import SourceImage

LONGEST_REFERENCE = 64
"""Characters; VLMEvalKit takes an ``image`` cell up to this for the index of another row."""

_DATA_URL = re.compile(r"data:[\w.+/-]*(?:;[\w.+=-]+)*;base64,", re.IGNORECASE)

Images = tuple[SourceImage | None, ...]


@dataclass(frozen=True)
class CellsReader:
    """Finds the images of the rows of one table."""

    kind: Kind
    columns: Mapping[str, str]
    folder: Path
    """Of the table: paths are relative to it."""
    cell_of: Callable[[str], str | None]
    """Gives the ``image`` cell of the row with that index, `None` where there is no such row."""

    def images(self, cells: Mapping[str, str]) -> tuple[Images, list[str]]:
        """The images of a row, `None` for one that is not there, and what is wrong with them."""
        halves = [self._cell(cells, "image_a"), self._cell(cells, "image_b")]
        if self.kind == "paired" and any(halves):
            return _each(halves, self.kind, _decoded)
        if cell := self._cell(cells, "image"):
            return self._from_cell(cell)
        if named := self._cell(cells, "image_path"):
            names = listed(named)
            if names is None:
                return (), ["image list unreadable"]
            return _each(names, self.kind, self._file)
        return (), []

    def _cell(self, cells: Mapping[str, str], field: str) -> str:
        return cells.get(self.columns.get(field, ""), "").strip()

    def _from_cell(self, cell: str) -> tuple[Images, list[str]]:
        if len(cell) <= LONGEST_REFERENCE and not cell.startswith("["):
            there = self.cell_of(cell)
            if there is None:
                return (), ["image names no row of the table"]
            if len(there) <= LONGEST_REFERENCE:
                return (), ["image names a row that has no image of its own"]
            cell = there
        texts = listed(cell)
        if texts is None:
            return (), ["image list unreadable"]
        return _each(texts, self.kind, _decoded)

    def _file(self, name: str, role: str) -> tuple[SourceImage | None, str]:
        if leaves_release(name):
            return None, f"{role} path leaves the release"
        path = self.folder.joinpath(*name.replace("\\", "/").split("/"))
        if not path.is_file():
            return None, f"{role} file not found"
        if not any(path.resolve().is_relative_to(root) for root in _allowed(self.folder)):
            return None, f"{role} path leaves the release"
        return SourceImage(name=name, path=path), ""


def _allowed(folder: Path) -> list[Path]:
    """Where files of the release may really lie; snapshots of the Hub hold links to its cache."""
    snapshots = [path for path in (folder, *folder.parents) if path.parent.name == "snapshots"]
    return [folder.resolve(), *(path.parents[1].resolve() / "blobs" for path in snapshots)]


def image_roles(kind: Kind, count: int) -> list[str]:
    """What problems call the images of a row."""
    if kind == "paired":
        return [*("first image", "second image"), *(f"image {n}" for n in range(3, count + 1))][
            :count
        ]
    return ["image"] if count == 1 else [f"image {number}" for number in range(1, count + 1)]


def listed(cell: str) -> list[str] | None:
    """The texts of a cell: those of a list in JSON or Python spelling, else the cell itself.

    `None` when it looks like a list and is none of texts; the cell is never run as code.
    """
    if not (cell.startswith("[") and cell.endswith("]")):
        return [cell]
    for read in (json.loads, ast.literal_eval):
        try:
            items = read(cell)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        if isinstance(items, list) and all(item is None or isinstance(item, str) for item in items):
            return [(item or "").strip() for item in items]
    return None


def _each(
    texts: list[str],
    kind: Kind,
    read: Callable[[str, str], tuple[SourceImage | None, str]],
) -> tuple[Images, list[str]]:
    found = [
        read(text, role) if text else (None, "")
        for text, role in zip(texts, image_roles(kind, len(texts)), strict=True)
    ]
    return tuple(image for image, _ in found), [problem for _, problem in found if problem]


def _decoded(text: str, role: str) -> tuple[SourceImage | None, str]:
    body = _DATA_URL.sub("", text, count=1) if text[:5].lower() == "data:" else text
    try:
        data = base64.b64decode("".join(body.split()), validate=True)
    except (binascii.Error, ValueError):
        return None, f"{role} is no base64"
    return SourceImage(name="", data=data), ""
