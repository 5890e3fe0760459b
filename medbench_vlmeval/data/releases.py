"""What the readers of all release layouts hand over: samples with their images' original bytes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

from .columns import ROW_NUMBER
from .remedies import shortened

_SUFFIXES = (".png", ".jpg", ".jpeg", ".bmp", ".tif", ".tiff", ".webp", ".gif")
_SIGNATURES = (
    (b"\x89PNG\r\n\x1a\n", ".png"),
    (b"\xff\xd8\xff", ".jpg"),
    (b"BM", ".bmp"),
    (b"II*\x00", ".tif"),
    (b"MM\x00*", ".tif"),
    (b"GIF8", ".gif"),
)


@dataclass(frozen=True)
class SourceImage:
    """One image of a release, still unread: a file, or bytes that came with the row."""

    name: str
    path: Path | None = None
    data: bytes | None = None

    def read(self) -> bytes:
        """The original bytes."""
        if self.data is not None:
            return self.data
        if self.path is None:
            raise ValueError(f"expected a path or bytes for image {self.name!r}, got neither")
        return self.path.read_bytes()

    def suffix(self, data: bytes) -> str:
        """Suffix of the stored file: the name's, else told by the first bytes, else ``.bin``."""
        named = PurePosixPath(self.name).suffix.lower()
        if named in _SUFFIXES:
            return named
        if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
            return ".webp"
        return next(
            (suffix for signature, suffix in _SIGNATURES if data.startswith(signature)), ".bin"
        )


@dataclass(frozen=True)
class SourceSample:
    """One row of a release, fields named as ours, the organ as the release spells it."""

    id: int
    organ_label: str
    task: str
    instruction: str
    description: str
    url: str = ""
    images: Mapping[str, SourceImage] = field(default_factory=dict)
    """Role to image, for the images that are there."""
    problems: tuple[str, ...] = ()


@dataclass(frozen=True)
class Release:
    """A release as found on disk; `samples` may be read once only."""

    source: str
    """Address or folder."""
    layout: str
    """``official``, ``parquet``, ``imagefolder`` or ``generated``."""
    count: int
    samples: Iterable[SourceSample]
    revision: str | None = None
    is_published: bool = True
    """Whether the published counts are what it should hold."""
    columns: Mapping[str, str] = field(default_factory=dict)


def sample_from_row(
    row: Mapping[str, Any],
    columns: Mapping[str, str],
    *,
    position: int,
    images: Mapping[str, SourceImage],
    problems: tuple[str, ...] = (),
) -> SourceSample:
    """A sample from one row; `position` counts rows from 1.

    Raises:
        ValueError: the row has no whole number as id.
    """
    return SourceSample(
        id=sample_id(row, columns, position=position),
        organ_label=_text(row, columns, "organ"),
        task=_text(row, columns, "task"),
        instruction=_text(row, columns, "instruction"),
        description=_text(row, columns, "description"),
        url=_text(row, columns, "url"),
        images=images,
        problems=problems,
    )


def sample_id(row: Mapping[str, Any], columns: Mapping[str, str], *, position: int) -> int:
    """The row's id as an integer; texts and floats that hold a whole number are accepted.

    Raises:
        ValueError: it is anything else.
    """
    if columns["id"] == ROW_NUMBER:
        return position
    value = row.get(columns["id"])
    if isinstance(value, str) and value.strip().isdecimal():
        return int(value)
    if (
        isinstance(value, bool)
        or not isinstance(value, (int, float))
        or not math.isfinite(value)
        or value != int(value)
    ):
        raise ValueError(
            f"expected a whole number as id in row {position}, got {value!r}; repair that row"
        )
    return int(value)


def _text(row: Mapping[str, Any], columns: Mapping[str, str], name: str) -> str:
    value = row.get(columns[name]) if name in columns else None
    return "" if value is None else str(value)


def refuse_duplicates(ids: Iterable[int]) -> None:
    """Refuse a release in which two rows share an id: files and scores are keyed by it.

    Raises:
        ValueError: the message names the ids.
    """
    repeated = sorted(number for number, times in Counter(ids).items() if times > 1)
    if repeated:
        raise ValueError(
            f"expected each id once, got {len(repeated)} repeated ids: {shortened(repeated)}; "
            "remove the rows that do not belong"
        )
