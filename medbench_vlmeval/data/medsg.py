"""Prepared MedSG-Bench data: one frozen record a sample, loaded without touching the network.

Yue et al., "MedSG-Bench: A Benchmark for Medical Image Sequences Grounding", NeurIPS 2025 Datasets
and Benchmarks, arXiv 2505.11852; data at https://huggingface.co/datasets/MedSG-Bench/MedSG-Bench.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from ..files import json_line, sha256_bytes
from ..parsing import RunLengths
from ..types import Box
from .medsg_remedies import medsg_files_gone_message, medsg_not_prepared_message
from .medsg_rows import read_answer, reference_box
from .medsg_tasks import (
    MEDSG_RELEASE_NAME,
    MEDSG_SAMPLE_PACK_NAME,
    OFFICIAL_SIZE_WH,
    TASK_OF_DATASET,
    TASK_OF_KEY,
    prepared_name,
)
from .places import TABLE_NAME, dataset_root, stamp_of
from .prepared import is_prepared, missing_images, read_prepared, stored_image, stored_size
from .remedies import DataNotPrepared


@dataclass(frozen=True)
class MedSGSample:
    """One question about a sequence of images, answered by a box in one of them."""

    index: int
    """Task number times 100,000 plus row: equal in `MedSG_test` and in a task's own data set."""
    key: str
    """Task and row, counted from 0, e.g. ``referring-0012``; rows have no other id."""
    task: str
    """One of the eight keys of the released data, see `medsg_tasks`."""
    question: str
    """As published, without the format suffix that a model family gets."""
    images: tuple[Path | None, ...]
    """In the order of the row; `None` keeps the place of one that the release lacks."""
    target_image: int | None
    """Which image the answer box lies in, counted from 0; `None` when the release does not say."""
    target_by: str
    """What says so: ``task``, ``question``, ``additional_info``, or empty."""
    size_wh: tuple[int, int]
    """Pixels of that image, or of all images when it is not known and they are equal in size."""
    declared_size_wh: tuple[int, int] | None
    """The row's own ``size`` field; the released data has it for ``multi_view`` only."""
    truth: Box | None
    """The published answer, its numbers in their order, in pixels; `None` if it is no box."""
    reference_box: Box | None
    """The box that the question gives for the first image, in pixels of that image."""
    case: str
    """Key of the first sample that shows the same patient image; samples of one case are not
    independent."""
    mask: RunLengths | None = None
    """A mask of the object, where a row carries one; the released rows have boxes only."""
    image_names: tuple[str, ...] = ()
    """Paths that the release gives for `images`."""
    additional_info: str = ""
    need_format: bool | None = None
    """Kept as published; the released evaluation ignores it."""
    sha256: tuple[str | None, ...] = ()
    """Hashes of the bytes of `images`, in their order."""
    sizes_wh: tuple[tuple[int, int] | None, ...] = ()
    """Sizes of `images`, upright, in their order."""
    problems: tuple[str, ...] = ()
    """What preparing the data found wrong with this sample, e.g. ``image 2 missing``."""

    @property
    def official_size_wh(self) -> tuple[int, int]:
        """The frame by which the released script scales relative answers.

        The ``size`` field for ``multi_view``, 336 x 336 for every other task, whatever the image
        really measures.
        """
        if self.task != "multi_view":
            return OFFICIAL_SIZE_WH
        return self.declared_size_wh or self.size_wh

    @property
    def is_whole(self) -> bool:
        """Whether every image is there; a model cannot be asked otherwise."""
        return bool(self.images) and None not in self.images


@dataclass(frozen=True)
class MedSGData:
    """A prepared data set; `samples` are in ascending order of `index`."""

    name: str
    root: Path
    samples: tuple[MedSGSample, ...]
    fingerprint: str
    """SHA-256 over indices, tasks, texts, answers, sizes and image hashes."""
    revision: str | None
    """Commit of the release, where it is known."""
    source: str
    manifest: dict[str, Any] = field(hash=False, default_factory=dict)
    """Of the whole preparation, also when this is one task of it."""

    def sample(self, index: int) -> MedSGSample:
        """The sample with that index.

        Raises:
            KeyError: there is none.
        """
        for sample in self.samples:
            if sample.index == index:
                return sample
        raise KeyError(f"{self.name} has no sample with index {index}")


def load_medsg(name: str = MEDSG_RELEASE_NAME, root: Path | None = None) -> MedSGData:
    """Load a prepared data set; takes no network and checks that every listed file is there.

    Args:
        name: ``MedSG_test``, one task of it such as ``MedSG_Referring_test``, ``MedSG_sample``
            (generated on first use), or the name that `prepare_medsg` was given.
        root: Data folder; default `lmu_root()`.

    Raises:
        DataNotPrepared: there is no such data set, it holds nothing of the task, or some of its
            files are gone. The message lists the commands, files, addresses and sizes.
        ValueError: the table on disk is damaged.
    """
    if name == MEDSG_SAMPLE_PACK_NAME:
        from .medsg_sample import prepare_medsg_sample

        prepare_medsg_sample(root)
    folder = dataset_root(prepared_name(name), root)
    if not is_prepared(folder):
        raise DataNotPrepared(medsg_not_prepared_message(name, folder))
    data = _load_table(name, folder, stamp_of(folder / TABLE_NAME))
    if not data.samples:
        raise DataNotPrepared(medsg_not_prepared_message(name, folder))
    missing = missing_images(path for sample in data.samples for path in sample.images)
    if missing:
        raise DataNotPrepared(medsg_files_gone_message(name, folder, missing))
    return data


@lru_cache(maxsize=12)
def _load_table(name: str, folder: Path, stamp: str) -> MedSGData:
    if name in TASK_OF_DATASET:
        whole = _load_table(MEDSG_RELEASE_NAME, folder, stamp)
        return _only_task(whole, name, _records_of(folder, stamp))
    records, manifest = read_prepared(folder)
    return MedSGData(
        name=name,
        root=folder,
        samples=tuple(_sample_from_record(record, folder) for record in records),
        fingerprint=medsg_fingerprint_of(records),
        revision=manifest.get("revision"),
        source=str(manifest.get("source", "")),
        manifest=manifest,
    )


@lru_cache(maxsize=1)
def _records_of(folder: Path, stamp: str) -> list[dict[str, Any]]:
    return read_prepared(folder)[0]


def _only_task(whole: MedSGData, name: str, records: Iterable[Mapping[str, Any]]) -> MedSGData:
    key = TASK_OF_DATASET[name].key
    return replace(
        whole,
        name=name,
        samples=tuple(sample for sample in whole.samples if sample.task == key),
        fingerprint=medsg_fingerprint_of([row for row in records if row["task"] == key]),
    )


def _sample_from_record(record: Mapping[str, Any], folder: Path) -> MedSGSample:
    images = [image or {} for image in record["images"]]
    return MedSGSample(
        index=int(record["index"]),
        key=record["key"],
        task=TASK_OF_KEY[record["task"]].key,
        question=record["question"],
        images=tuple(stored_image(folder, image.get("file")) for image in images),
        target_image=record["target_image"],
        target_by=record["target_by"],
        size_wh=stored_size(record["size_wh"]) or OFFICIAL_SIZE_WH,
        declared_size_wh=stored_size(record["declared_size_wh"]),
        truth=read_answer(record["answer"]),
        reference_box=reference_box(record["question"]),
        case=record["case"],
        mask=RunLengths.from_coco(record["mask"]) if record.get("mask") else None,
        image_names=tuple(record["image_names"]),
        additional_info=record["additional_info"],
        need_format=record["need_format"],
        sha256=tuple(image.get("sha256") for image in images),
        sizes_wh=tuple(stored_size(image.get("size_wh")) for image in images),
        problems=tuple(record["problems"]),
    )


def medsg_fingerprint_of(records: Iterable[Mapping[str, Any]]) -> str:
    """SHA-256 over what a run depends on: index, task, question, answer, mask, size, image hashes.

    Paths, problem notes, cases and the order of the rows do not enter.
    """
    rows = [
        [record["index"], record["task"], record["question"], record["additional_info"]]
        + [record["answer"], record["declared_size_wh"]]
        + ([record["mask"]] if record.get("mask") else [])
        + [(image or {}).get("sha256") for image in record["images"]]
        for record in sorted(records, key=lambda record: int(record["index"]))
    ]
    return sha256_bytes("\n".join(json_line(row) for row in rows).encode("utf-8"))
