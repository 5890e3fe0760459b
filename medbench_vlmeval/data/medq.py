"""Prepared MedQ-Bench data: one frozen record a question, loaded without touching the network."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .medq_tables import Kind


@dataclass(frozen=True)
class MedQQuestion:
    """One row: a multiple-choice question, an image to describe, or two images to compare."""

    index: int
    """Unique within the data set; the release's own where that is a unique whole number."""
    key: str
    """The release's index as written; `index` as text where it has none."""
    kind: Kind
    question: str
    """As published; empty where the table has no question (the protocol's own is asked then)."""
    images: tuple[Path | None, ...]
    """One, or two for pairs (first, second); `None` keeps the place of one that is absent."""
    sha256: tuple[str | None, ...]
    """Hashes of the bytes of `images`, in their order."""
    case: str
    """Rows that share an image byte for byte share this; they are not independent."""
    options: Mapping[str, str] = field(default_factory=dict)
    """Letter to text, in order, every option of the row, texts such as ``None`` included."""
    answer: str | None = None
    """The right letter; `None` when the release gives none that the row offers."""
    description: str | None = None
    """The reference text of a reasoning row; `None` when the release lacks it."""
    question_type: str = ""
    """``Yes-or-No``, ``What`` or ``How``; empty for reasoning rows."""
    question_type_by: str = ""
    """``column`` of the release, or ``derived`` from options and question."""
    modality: str = ""
    degradation: str = ""
    """Kind of degradation, as the release writes it (``degradation_type``)."""
    level: str = ""
    """How strong it is: ``none``, ``mild``, ``severe``; ``L0``, ``L1``, ``L2`` for robustness."""
    scope: str = ""
    """``general`` or ``modality-specific``."""
    origin: str = ""
    """Where the image comes from, as the release writes it (``source``)."""
    difficulty: str = ""
    """``coarse-grained`` or ``fine-grained`` pairs."""
    extra: Mapping[str, str] = field(default_factory=dict)
    """Every other column of the row, as text."""
    problems: tuple[str, ...] = ()
    """What preparing the data found wrong with this row."""

    @property
    def is_whole(self) -> bool:
        """Whether every image is there; a model cannot be asked otherwise."""
        return bool(self.images) and None not in self.images


@dataclass(frozen=True)
class MedQData:
    """A prepared data set; `samples` are in the order of the release."""

    name: str
    kind: Kind
    root: Path
    samples: tuple[MedQQuestion, ...]
    fingerprint: str
    """SHA-256 over indices, texts, options, answers, metadata and image hashes."""
    revision: str | None
    """Commit of the release, where it is known."""
    source: str
    manifest: dict[str, Any] = field(hash=False, default_factory=dict)
