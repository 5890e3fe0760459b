"""Writes a release into our layout: original bytes, atomic files, safe to kill and to run twice."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files import read_jsonl, sha256_bytes, sha256_file, write_bytes_atomic
from .places import ROLE_FOLDERS, TABLE_NAME
from .releases import SourceSample
from .remedies import shortened

logger = logging.getLogger(__name__)

Record = dict[str, Any]
REPLACE_REMEDY = (
    "prepare under another --name, or pass --replace if no run made with the earlier data matters"
)
_TEXTS = ("organ", "task", "instruction", "description")


class DataWouldChange(ValueError):
    """An earlier preparation holds other data; runs that used it would no longer be comparable."""


@dataclass
class SampleStore:
    """One data set folder while it is being written; `copied` and `reused` count image files."""

    root: Path
    replace: bool
    copied: int = 0
    reused: int = 0
    earlier: dict[int, Record] = field(default_factory=dict)

    def __post_init__(self) -> None:
        table = self.root / TABLE_NAME
        records = read_jsonl(table)[0] if table.is_file() else []
        self.earlier = {int(record["id"]): record for record in records}

    def add(self, sample: SourceSample) -> dict[str, Record]:
        """Store the images of one sample; gives file, hash and size by role.

        Raises:
            DataWouldChange: an image differs from the one an earlier preparation stored.
        """
        return {role: self._store(sample, role) for role in ROLE_FOLDERS if role in sample.images}

    def _store(self, sample: SourceSample, role: str) -> Record:
        image = sample.images[role]
        data = image.read()
        digest = sha256_bytes(data)
        self._refuse_change(sample.id, role, digest)
        relative = f"{ROLE_FOLDERS[role]}/{sample.id}{image.suffix(data)}"
        if stored_once(self.root / relative, data, digest):
            self.copied += 1
        else:
            self.reused += 1
        return {"file": relative, "sha256": digest, "bytes": len(data)}

    def _refuse_change(self, sample_id: int, role: str, digest: str) -> None:
        stored = (self.earlier.get(sample_id) or {}).get(role)
        if stored and stored["sha256"] != digest and not self.replace:
            raise DataWouldChange(
                f"{self.root} already holds another {role} image of sample {sample_id}; "
                f"{REPLACE_REMEDY}"
            )

    def refuse_loss(self, records: Mapping[int, Record]) -> None:
        """Refuse a table that lacks samples or images the earlier one has, or words them otherwise.

        Raises:
            DataWouldChange: the message names some of the ids.
        """
        lost = [
            number
            for number, record in self.earlier.items()
            if not _covers(records.get(number), record)
        ]
        if lost and not self.replace:
            raise DataWouldChange(
                f"{self.root} holds other data: {len(lost)} samples would be lost, lose images or "
                f"change their texts (ids {shortened(sorted(lost))}); {REPLACE_REMEDY}"
            )

    def remove_stale(self, records: Mapping[int, Record]) -> None:
        """Remove the files that the earlier table listed and the new one does not."""
        kept = {
            record[role]["file"]
            for record in records.values()
            for role in ROLE_FOLDERS
            if record.get(role)
        }
        listed = {
            record[role]["file"]
            for record in self.earlier.values()
            for role in ROLE_FOLDERS
            if record.get(role)
        }
        for relative in sorted(listed - kept):
            (self.root / relative).unlink(missing_ok=True)

    def remove_leftovers(self) -> None:
        """Remove the unfinished files of a killed writer; call only while nobody else writes."""
        remove_parts([self.root, *(self.root / folder for folder in ROLE_FOLDERS.values())])


def _covers(record: Record | None, earlier: Record) -> bool:
    if record is None or any(record[name] != earlier[name] for name in _TEXTS):
        return False
    return all(record.get(role) for role in ROLE_FOLDERS if earlier.get(role))


def stored_once(path: Path, data: bytes, digest: str) -> bool:
    """Write `data` unless the file already holds it, told by its hash; says whether it wrote."""
    if path.is_file() and path.stat().st_size == len(data) and sha256_file(path) == digest:
        return False
    write_bytes_atomic(path, data)
    return True


def remove_parts(folders: Iterable[Path]) -> None:
    """Remove the unfinished files of a killed writer; call only while nobody else writes."""
    for folder in folders:
        for part in folder.glob(".*.part"):
            part.unlink(missing_ok=True)


@contextmanager
def sole_writer(root: Path) -> Iterator[None]:
    """Hold the lock of a data set folder; a second process waits here until the first is done.

    Where the file system has no locks the work goes on without: all files are written atomically,
    so two processes that prepare the same release still leave whole files.
    """
    import filelock

    root.parent.mkdir(parents=True, exist_ok=True)
    lock = filelock.FileLock(root.parent / f".{root.name}.lock")
    try:
        _acquire(lock, root)
    except NotImplementedError:
        logger.warning(
            "%s is on a file system without locks; do not prepare it twice at once", root
        )
        yield
        return
    try:
        yield
    finally:
        lock.release()


def _acquire(lock: Any, root: Path) -> None:
    import filelock

    try:
        lock.acquire(timeout=0.1)
    except filelock.Timeout:
        logger.info("another process is preparing %s; waiting for it", root)
        lock.acquire()
