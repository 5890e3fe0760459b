"""Writes images of a release into our layout: original bytes, each once, named by their hash."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from ..files import read_jsonl, sha256_bytes
from ..images import ImageUnreadable, read_rgb
from .checks import unreadable_problem
from .places import IMAGES_FOLDER, TABLE_NAME
from .releases import SourceImage
from .remedies import shortened
from .store import REPLACE_REMEDY, DataWouldChange, Record, remove_parts, stored_once


class ImageStore:
    """One data set folder while it is being written; `copied` and `reused` count image files.

    Records are those of the sample table; their ``images`` are a list, `None` for one that is
    absent.
    """

    def __init__(
        self,
        root: Path,
        *,
        replace: bool,
        guarded: Sequence[str],
        identity: str = "key",
        keep_unreadable: bool = True,
    ) -> None:
        """Look at what an earlier preparation left.

        Args:
            root: Folder of the data set.
            replace: Allow that earlier data changes or goes.
            guarded: Fields of a record, beside its images, that must not change silently.
            identity: Field that tells which earlier record is the same row.
            keep_unreadable: Store an image that cannot be decoded; else its place stays empty.
        """
        self.root = root
        self.replace = replace
        self.copied = 0
        self.reused = 0
        self._guarded = guarded
        self._identity = identity
        self._keep_unreadable = keep_unreadable
        table = root / TABLE_NAME
        records = read_jsonl(table)[0] if table.is_file() else []
        self.earlier: dict[str, Record] = {record[identity]: record for record in records}
        self._stored: dict[str, Record] = {}

    def add(
        self, images: Sequence[SourceImage | None], roles: Sequence[str] | None = None
    ) -> tuple[list[Record | None], list[str]]:
        """Store the images of one row; gives a record for each that has bytes, and the problems.

        A record holds file, hash, bytes, and the size where the image can be decoded.

        Args:
            images: `None` for one that is absent.
            roles: What the problems call each image; ``image 1``, ``image 2``, … by default.
        """
        roles = roles or [f"image {position}" for position in range(1, len(images) + 1)]
        records: list[Record | None] = []
        problems: list[str] = []
        for role, image in zip(roles, images, strict=True):
            record = None
            if image is None:
                problems.append(f"{role} missing")
            else:
                record, problem = self._add_one(image, role)
                problems += [problem] if problem else []
            records.append(record)
        return records, problems

    def _add_one(self, image: SourceImage, role: str) -> tuple[Record | None, str]:
        try:
            data = image.read()
        except ImageUnreadable:
            return None, f"{role} unreadable"
        digest = sha256_bytes(data)
        if digest not in self._stored:
            size = _size_of(data)
            if not size and not self._keep_unreadable:
                return None, unreadable_problem(role, data)
            self._stored[digest] = self._store(image.suffix(data), data, digest) | size
        record = self._stored[digest]
        return record, "" if "size_wh" in record else unreadable_problem(role, data)

    def _store(self, suffix: str, data: bytes, digest: str) -> Record:
        relative = f"{IMAGES_FOLDER}/{digest[:2]}/{digest}{suffix}"
        if stored_once(self.root / relative, data, digest):
            self.copied += 1
        else:
            self.reused += 1
        return {"file": relative, "sha256": digest, "bytes": len(data)}

    @property
    def n_files(self) -> int:
        """Different images stored or found."""
        return len(self._stored)

    @property
    def n_bytes(self) -> int:
        """Bytes of the different images."""
        return sum(record["bytes"] for record in self._stored.values())

    def refuse_change(self, record: Record) -> None:
        """Refuse a row that differs from the one an earlier preparation stored under its key.

        Raises:
            DataWouldChange: a text, the answer, the size or an image would change or go.
        """
        name = record[self._identity]
        earlier = self.earlier.get(name)
        if earlier is not None and not self.replace and not self._covers(record, earlier):
            raise DataWouldChange(
                f"{self.root} already holds another {name}: its texts, its answer or its "
                f"images would change; {REPLACE_REMEDY}"
            )

    def _covers(self, record: Record, earlier: Record) -> bool:
        if any(record.get(name) != earlier.get(name) for name in self._guarded):
            return False
        if len(record["images"]) != len(earlier["images"]):
            return False
        return all(
            before is None or (now is not None and now["sha256"] == before["sha256"])
            for now, before in zip(record["images"], earlier["images"], strict=True)
        )

    def refuse_loss(self, records: Mapping[str, Record]) -> None:
        """Refuse a table that lacks rows the earlier one has.

        Raises:
            DataWouldChange: the message names some of the keys.
        """
        lost = sorted(set(self.earlier) - set(records))
        if lost and not self.replace:
            raise DataWouldChange(
                f"{self.root} holds other data: {len(lost)} samples would be lost "
                f"({shortened(lost)}); {REPLACE_REMEDY}"
            )

    def remove_stale(self, records: Mapping[str, Record]) -> None:
        """Remove the files that the earlier table listed and the new one does not."""
        stale = set(listed_images(self.earlier.values())) - set(listed_images(records.values()))
        for relative in sorted(stale):
            (self.root / relative).unlink(missing_ok=True)

    def remove_leftovers(self) -> None:
        """Remove the unfinished files of a killed writer; call only while nobody else writes."""
        remove_parts([self.root, *(self.root / IMAGES_FOLDER).glob("*")])


def _size_of(data: bytes) -> Record:
    try:
        return {"size_wh": list(read_rgb(data).size_wh)}
    except ImageUnreadable:
        return {}


def listed_images(records: Iterable[Mapping]) -> dict[str, str]:
    """File to hash for every image that the records list."""
    return {
        image["file"]: image["sha256"] for record in records for image in record["images"] if image
    }
