"""Prepared MedEBench data: one frozen record a sample, loaded without touching the network.

Liu et al., "MedEBench: Diagnosing Reliability in Text-Guided Medical Image Editing", Findings of
EMNLP 2025, arXiv 2506.01921; data at https://github.com/mliuby/MedEBench and
https://huggingface.co/datasets/LIUMinghao/MedEBench.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path, PurePosixPath
from typing import Any

from ..files import json_line, sha256_bytes
from .places import (
    RELEASE_NAME,
    ROLE_FOLDERS,
    SAMPLE_PACK_NAME,
    TABLE_NAME,
    data_root_of,
    dataset_root,
    stamp_of,
)
from .prepared import is_prepared, read_prepared, stored_size
from .remedies import DataNotPrepared, files_gone_message, not_prepared_message


@dataclass(frozen=True)
class MedEBenchSample:
    """One editing task. An image the release lacks is `None`; an unreadable one keeps its path."""

    id: int
    organ: str
    """One of the 13 published organs, or the release's own label when that is none of them."""
    task: str
    instruction: str
    """What an editor is asked to do (`prompt` in the release)."""
    description: str
    """The change in words, shown to a judge (`detailed_prompt` in the release)."""
    previous: Path | None
    """The picture to edit."""
    reference: Path | None
    """The picture after the real or intended change (`changed_image` in the release)."""
    roi: Path | None
    """Where the change may happen, white on black (`previous_mask` in the release)."""
    sha256: Mapping[str, str] = field(default_factory=dict, hash=False)
    """Role (`previous`, `reference`, `roi`) to the hash of the file's bytes."""
    sizes_wh: Mapping[str, tuple[int, int]] = field(default_factory=dict, hash=False)
    """Role to the image's size, upright, for the images that could be decoded."""
    problems: tuple[str, ...] = ()
    """What preparing the data found wrong with this sample, e.g. ``reference missing``."""
    source_label: str = ""
    """The organ as the release spells it."""
    url: str = ""


@dataclass(frozen=True)
class MedEBenchData:
    """A prepared data set; `samples` are in ascending order of `id`."""

    name: str
    root: Path
    samples: tuple[MedEBenchSample, ...]
    fingerprint: str
    """SHA-256 over ids, organs, tasks, texts and image hashes: equal for equal data anywhere."""
    revision: str | None
    """Commit of the release, where it is known."""
    source: str
    manifest: dict[str, Any] = field(hash=False, default_factory=dict)

    def sample(self, sample_id: int) -> MedEBenchSample:
        """The sample with that id.

        Raises:
            KeyError: there is none.
        """
        for sample in self.samples:
            if sample.id == sample_id:
                return sample
        raise KeyError(f"{self.name} has no sample with id {sample_id}")


def load_medebench(name: str = RELEASE_NAME, root: Path | None = None) -> MedEBenchData:
    """Load a prepared data set; takes no network and checks that every listed file is there.

    Args:
        name: ``MedEBench_test``, ``MedEBench_sample`` (generated on first use), or the name that
            `prepare_medebench` was given.
        root: Data folder; default `lmu_root()`.

    Raises:
        DataNotPrepared: there is no such data set, or some of its files are gone. The message lists
            the commands, files, addresses and sizes.
        ValueError: the table on disk is damaged.
    """
    if name == SAMPLE_PACK_NAME:
        from .sample_pack import prepare_medebench_sample

        prepare_medebench_sample(root)
    folder = dataset_root(name, root)
    table = folder / TABLE_NAME
    if not is_prepared(folder):
        raise DataNotPrepared(not_prepared_message(name, folder))
    data = _load_table(name, folder, stamp_of(table))
    missing = _missing_files(data)
    if missing:
        raise DataNotPrepared(files_gone_message(name, folder, missing))
    return data


def sample_of(image_path: Path | str) -> MedEBenchSample | None:
    """The sample an image of a prepared data set belongs to, or `None` for any other path."""
    folder = data_root_of(image_path)
    if folder is None:
        return None
    known = _samples_by_file(folder.name, folder, stamp_of(folder / TABLE_NAME))
    return known.get(os.path.abspath(image_path))  # noqa: PTH100


@lru_cache(maxsize=8)
def _load_table(name: str, folder: Path, stamp: str) -> MedEBenchData:
    records, manifest = read_prepared(folder)
    return MedEBenchData(
        name=name,
        root=folder,
        samples=tuple(_sample_from_record(record, folder) for record in records),
        fingerprint=fingerprint_of(records),
        revision=manifest.get("revision"),
        source=str(manifest.get("source", "")),
        manifest=manifest,
    )


@lru_cache(maxsize=8)
def _samples_by_file(name: str, folder: Path, stamp: str) -> dict[str, MedEBenchSample]:
    samples = _load_table(name, folder, stamp).samples
    images = (
        (image, sample)
        for sample in samples
        for image in (sample.previous, sample.reference, sample.roi)
    )
    return {os.path.abspath(image): sample for image, sample in images if image is not None}  # noqa: PTH100


def _sample_from_record(record: Mapping[str, Any], folder: Path) -> MedEBenchSample:
    images = {role: record.get(role) for role in ROLE_FOLDERS}
    paths = {role: _path_inside(folder, image["file"]) for role, image in images.items() if image}
    return MedEBenchSample(
        id=int(record["id"]),
        organ=record["organ"],
        task=record["task"],
        instruction=record["instruction"],
        description=record["description"],
        previous=paths.get("previous"),
        reference=paths.get("reference"),
        roi=paths.get("roi"),
        sha256={role: image["sha256"] for role, image in images.items() if image},
        sizes_wh={
            role: size_wh
            for role, image in images.items()
            if image and (size_wh := stored_size(image.get("size_wh")))
        },
        problems=tuple(record.get("problems", ())),
        source_label=record.get("source_label", ""),
        url=record.get("url", ""),
    )


def _path_inside(folder: Path, relative: str) -> Path:
    parts = PurePosixPath(relative).parts
    if len(parts) != 2 or parts[0] not in ROLE_FOLDERS.values() or parts[1] == "..":
        raise ValueError(
            f"expected paths such as previous/1.png in {folder / TABLE_NAME}, got {relative!r}"
        )
    return folder.joinpath(*parts)


def fingerprint_of(records: list[dict[str, Any]]) -> str:
    """SHA-256 over what a run depends on: ids, organs, tasks, texts, image hashes.

    Paths, addresses, problem notes and the order of the rows do not enter.
    """
    rows = [
        [
            record["id"],
            record["organ"],
            record["task"],
            record["instruction"],
            record["description"],
        ]
        + [(record.get(role) or {}).get("sha256") for role in ROLE_FOLDERS]
        for record in sorted(records, key=lambda record: int(record["id"]))
    ]
    return sha256_bytes("\n".join(json_line(row) for row in rows).encode("utf-8"))


def _missing_files(data: MedEBenchData) -> list[Path]:
    present = {role: _names_in(data.root / folder) for role, folder in ROLE_FOLDERS.items()}
    images = ((role, getattr(sample, role)) for sample in data.samples for role in ROLE_FOLDERS)
    return [path for role, path in images if path is not None and path.name not in present[role]]


def _names_in(folder: Path) -> set[str]:
    return {entry.name for entry in os.scandir(folder)} if folder.is_dir() else set()
