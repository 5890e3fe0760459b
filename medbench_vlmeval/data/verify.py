"""Recomputes the hashes of a prepared data set; names what changed, is missing, or is too many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import read_jsonl, sha256_file
from .image_store import listed_images
from .medebench import fingerprint_of
from .medq import medq_fingerprint_of
from .medq_remedies import medq_not_prepared_message
from .medsg import medsg_fingerprint_of
from .medsg_remedies import medsg_not_prepared_message
from .medsg_tasks import prepared_name
from .places import (
    IMAGES_FOLDER,
    MANIFEST_NAME,
    RELEASE_NAME,
    ROLE_FOLDERS,
    TABLE_NAME,
    dataset_root,
)
from .prepared import is_prepared, read_manifest
from .remedies import DataNotPrepared, not_prepared_message, shortened


@dataclass(frozen=True)
class VerifyReport:
    """What became of the files since they were prepared; paths are relative to `root`."""

    name: str
    root: Path
    n_files: int
    """Image files the table lists."""
    changed: tuple[str, ...]
    missing: tuple[str, ...]
    extra: tuple[str, ...]
    """Files in the image folders that the table does not list; they are never read."""
    table_matches: bool
    """Whether the table itself is the one the manifest was written for."""
    fingerprint: str
    """Computed from the table as it is now."""

    @property
    def ok(self) -> bool:
        """Whether everything a run reads is as it was prepared; extra files do not matter to it."""
        return self.table_matches and not self.changed and not self.missing

    def lines(self) -> list[str]:
        """The report as lines of text, without colour."""
        verdict = "as prepared" if self.ok else "NOT as prepared"
        found = {"changed": self.changed, "missing": self.missing, "extra": self.extra}
        table = (
            []
            if self.table_matches
            else [f"  changed      {TABLE_NAME} is not the table of {MANIFEST_NAME}"]
        )
        return [
            f"{self.name}: {verdict}, {self.n_files} files checked in {self.root}",
            *table,
            *(f"  {kind:<11}  {shortened(files)}" for kind, files in found.items() if files),
            f"  fingerprint  {self.fingerprint}",
            *(
                []
                if self.ok
                else ["  remedy       run the same `medbench data prepare` command again"]
            ),
        ]


def verify_data(name: str = RELEASE_NAME, root: Path | None = None) -> VerifyReport:
    """Read every file of a prepared data set and compare it with the recorded hash.

    Args:
        name: Name of the prepared data set; one task of MedSG-Bench stands for the whole of it.
        root: Data folder; default `lmu_root()`.

    Raises:
        DataNotPrepared: there is no such data set.
        ValueError: the table cannot be read.
    """
    folder = dataset_root(prepared_name(name), root)
    if not is_prepared(folder):
        raise DataNotPrepared(_remedy_for(name)(name, folder))
    table, manifest = folder / TABLE_NAME, read_manifest(folder)
    layout = _LAYOUTS[manifest.get("benchmark", "MedEBench")]
    records, warnings = read_jsonl(table)
    listed = layout.listed_hashes(records)
    present = {relative for relative in listed if (folder / relative).is_file()}
    return VerifyReport(
        name=name,
        root=folder,
        n_files=len(listed),
        changed=tuple(
            sorted(
                relative
                for relative in present
                if sha256_file(folder / relative) != listed[relative]
            )
        ),
        missing=tuple(sorted(set(listed) - present)),
        extra=tuple(sorted(_files_in(folder, layout) - set(listed))),
        table_matches=not warnings and manifest.get("table_sha256") == sha256_file(table),
        fingerprint=layout.fingerprint_of(records),
    )


def _remedy_for(name: str) -> Callable[[str, Path], str]:
    remedies = {"MedSG": medsg_not_prepared_message, "MedQ": medq_not_prepared_message}
    return next(
        (says for start, says in remedies.items() if name.startswith(start)), not_prepared_message
    )


def _listed_hashes(records: Sequence[Mapping]) -> dict[str, str]:
    images = (record.get(role) for record in records for role in ROLE_FOLDERS)
    return {image["file"]: image["sha256"] for image in images if image}


@dataclass(frozen=True)
class _Layout:
    """How the prepared data of one benchmark lies in its folder."""

    fingerprint_of: Callable[[list[dict[str, Any]]], str]
    listed_hashes: Callable[[Sequence[Mapping]], dict[str, str]]
    image_files: Iterable[str]
    """Patterns of the files in the image folders."""


_LAYOUTS = {
    "MedEBench": _Layout(
        fingerprint_of, _listed_hashes, [f"{folder}/*" for folder in ROLE_FOLDERS.values()]
    ),
    "MedQ": _Layout(medq_fingerprint_of, listed_images, [f"{IMAGES_FOLDER}/*/*"]),
    "MedSG": _Layout(medsg_fingerprint_of, listed_images, [f"{IMAGES_FOLDER}/*/*"]),
}


def _files_in(folder: Path, layout: _Layout) -> set[str]:
    return {
        path.relative_to(folder).as_posix()
        for pattern in layout.image_files
        for path in folder.glob(pattern)
    }
