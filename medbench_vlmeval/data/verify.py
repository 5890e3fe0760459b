"""Recomputes the hashes of a prepared data set; names what changed, is missing, or is too many."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..files import read_jsonl, sha256_file
from .medebench import fingerprint_of
from .places import MANIFEST_NAME, RELEASE_NAME, ROLE_FOLDERS, TABLE_NAME, dataset_root
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
        name: Name of the prepared data set.
        root: Data folder; default `lmu_root()`.

    Raises:
        DataNotPrepared: there is no such data set.
        ValueError: the table cannot be read.
    """
    folder = dataset_root(name, root)
    table, manifest = folder / TABLE_NAME, folder / MANIFEST_NAME
    if not table.is_file() or not manifest.is_file():
        raise DataNotPrepared(not_prepared_message(name, folder))
    records, warnings = read_jsonl(table)
    listed = _listed_hashes(records)
    present = {relative for relative in listed if (folder / relative).is_file()}
    recorded = json.loads(manifest.read_text(encoding="utf-8")).get("table_sha256")
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
        extra=tuple(sorted(_files_in(folder) - set(listed))),
        table_matches=not warnings and recorded == sha256_file(table),
        fingerprint=fingerprint_of(records),
    )


def _listed_hashes(records: Sequence[Mapping]) -> dict[str, str]:
    images = (record.get(role) for record in records for role in ROLE_FOLDERS)
    return {image["file"]: image["sha256"] for image in images if image}


def _files_in(folder: Path) -> set[str]:
    folders = (folder / name for name in ROLE_FOLDERS.values())
    return {
        f"{path.parent.name}/{path.name}"
        for each in folders
        if each.is_dir()
        for path in each.iterdir()
    }
