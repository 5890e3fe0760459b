"""Prepared MedQ-Bench data: one frozen record a question, loaded without touching the network."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..files import json_line, sha256_bytes
from .medq_remedies import medq_files_gone_message, medq_not_prepared_message
from .medq_tables import MEDQ_TABLE_NAMED, Kind
from .places import TABLE_NAME, dataset_root, stamp_of
from .prepared import is_prepared, missing_images, read_prepared, stored_image, stored_size
from .remedies import DataNotPrepared

_TEXTS = (
    *("question", "options", "answer", "description", "question_type"),
    *("modality", "degradation", "level", "scope", "origin", "difficulty"),
)
"""Fields of a record that a question takes over as they are, and that its fingerprint covers."""


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
    """Rows that share an image byte for byte share this, the index of the first of them; they are
    not independent."""
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
    sizes_wh: tuple[tuple[int, int] | None, ...] = ()
    """Sizes of `images`, upright, in their order; `None` for one that cannot be decoded."""
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
    """See `medq_fingerprint_of`."""
    revision: str | None
    """Commit of the release, where it is known."""
    source: str
    manifest: dict[str, Any] = field(hash=False, default_factory=dict)

    def sample(self, index: int) -> MedQQuestion:
        """The question with that index.

        Raises:
            KeyError: there is none.
        """
        for sample in self.samples:
            if sample.index == index:
                return sample
        raise KeyError(f"{self.name} has no sample with index {index}")


def load_medq(name: str, root: Path | None = None) -> MedQData:
    """Load a prepared data set; takes no network and checks that every listed file is there.

    Args:
        name: One of `MEDQ_TABLES`, of which the sample packs are generated on first use, or the
            name that `prepare_medq` was given.
        root: Data folder; default `lmu_root()`.

    Raises:
        DataNotPrepared: there is no such data set, or some of its files are gone. The message
            lists the commands, files, addresses and sizes.
        ValueError: the table on disk is damaged, or is one of another benchmark.
    """
    table = MEDQ_TABLE_NAMED.get(name)
    if table is not None and table.is_sample:
        from .medq_sample import prepare_medq_sample

        prepare_medq_sample(name, root)
    folder = dataset_root(name, root)
    if not is_prepared(folder):
        raise DataNotPrepared(medq_not_prepared_message(name, folder))
    data = _load_table(name, folder, stamp_of(folder / TABLE_NAME))
    missing = missing_images(path for sample in data.samples for path in sample.images)
    if missing:
        raise DataNotPrepared(medq_files_gone_message(name, folder, missing))
    return data


@lru_cache(maxsize=12)
def _load_table(name: str, folder: Path, stamp: str) -> MedQData:
    records, manifest = read_prepared(folder)
    if manifest.get("benchmark") != "MedQ":
        raise ValueError(
            f"expected a data set of MedQ-Bench in {folder}, got one of "
            f"{manifest.get('benchmark', 'MedEBench')}; load it with the function of that benchmark"
        )
    kind: Kind = manifest["kind"]
    return MedQData(
        name=name,
        kind=kind,
        root=folder,
        samples=tuple(_question_from_record(record, kind, folder) for record in records),
        fingerprint=medq_fingerprint_of(records),
        revision=manifest["revision"],
        source=manifest["source"],
        manifest=manifest,
    )


def _question_from_record(record: Mapping[str, Any], kind: Kind, folder: Path) -> MedQQuestion:
    images = [image or {} for image in record["images"]]
    return MedQQuestion(
        index=int(record["index"]),
        key=record["key"],
        kind=kind,
        images=tuple(stored_image(folder, image.get("file")) for image in images),
        sha256=tuple(image.get("sha256") for image in images),
        sizes_wh=tuple(stored_size(image.get("size_wh")) for image in images),
        problems=tuple(record["problems"]),
        **{name: record[name] for name in (*_TEXTS, "case", "question_type_by", "extra")},
    )


def medq_fingerprint_of(records: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 over indices, texts, options, answers, metadata and image hashes.

    Paths, problem notes, cases, columns without a meaning here and the order of the rows do not
    enter.
    """
    rows = [
        [record["index"], list(record["options"].items())]
        + [record[name] for name in _TEXTS if name != "options"]
        + [(image or {}).get("sha256") for image in record["images"]]
        for record in sorted(records, key=lambda record: int(record["index"]))
    ]
    return sha256_bytes("\n".join(json_line(row) for row in rows).encode("utf-8"))
