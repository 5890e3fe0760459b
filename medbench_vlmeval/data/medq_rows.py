"""What a reader of MedQ-Bench tables hands over, before anything is stored."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from .releases import SourceImage


@dataclass(frozen=True)
class MedQRow:
    """One row of a release, its images still unread; `None` where one is not there."""

    number: int
    """Counted from 0 over the whole data set."""
    fields: Mapping[str, str]
    """Every cell but images, by the name of its column, as text; empty cells are left out."""
    images: tuple[SourceImage | None, ...]
    table: str = ""
    """File the row comes from."""
    problems: tuple[str, ...] = ()
    columns: Mapping[str, str] = field(default_factory=dict)
    """Field to column, as the table's header tells; without it the names of `fields` tell."""


@dataclass(frozen=True)
class MedQRelease:
    """A release as found on disk or made; `rows` may be read once only."""

    source: str
    """Address, folder, or what made it."""
    layout: str
    """``tsv`` or ``generated``."""
    count: int | None
    rows: Iterable[MedQRow]
    revision: str | None = None
    warnings: tuple[str, ...] = ()
    files: Mapping[str, str] = field(default_factory=dict)
    """Tables that were read, name to SHA-256."""
