"""Finding pictures made elsewhere: which file of a folder is the edit of which sample."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

IMAGE_SUFFIXES = (".png", ".jpg", ".jpeg", ".webp", ".bmp", ".tif", ".tiff")
LOSSY_SUFFIXES = (".jpg", ".jpeg", ".webp")

_NAME = re.compile(r"(?P<id>\d{1,9})(?:_(?P<replica>\d{1,4}))?\Z")


@dataclass(frozen=True)
class FoundEdit:
    """The picture of one sample in a folder of edits."""

    path: Path
    flags: frozenset[str] = frozenset()
    """``lossy`` for JPEG and WebP; ``also_lossy_copy`` when one lies beside the file used."""


@dataclass(frozen=True)
class FolderIndex:
    """What a folder of edits holds, by sample id."""

    folder: Path
    edits: Mapping[int, FoundEdit]
    ambiguous: Mapping[int, tuple[str, ...]] = field(default_factory=dict)
    """Samples with several equally good names; none of them is used."""
    ignored: tuple[str, ...] = ()
    """Image files whose names mean no sample."""
    further: Mapping[int, Mapping[int, FoundEdit]] = field(default_factory=dict)
    """Pictures made from further seeds: by sample id, then by the number ``k`` in the name."""
    replica: int = 0
    """The ``k`` of `edits`."""

    def missing(self, ids: Iterable[int]) -> list[int]:
        """Ids without a usable picture."""
        return [identifier for identifier in ids if identifier not in self.edits]

    def replicas(self, identifier: int) -> tuple[FoundEdit, ...]:
        """The further pictures of a sample, counting on from its first up to the first gap."""
        numbered = self.further.get(identifier, {})
        found: list[FoundEdit] = []
        while (following := numbered.get(self.replica + 1 + len(found))) is not None:
            found.append(following)
        return tuple(found)

    def unused(self) -> list[str]:
        """Names of further pictures behind a gap, or of samples without a first picture."""
        return [
            edit.path.name
            for identifier, numbered in sorted(self.further.items())
            for edit in numbered.values()
            if identifier not in self.edits or edit not in self.replicas(identifier)
        ]


def index_edits_folder(folder: Path, *, replica: int = 0) -> FolderIndex:
    """Which image of `folder` belongs to which sample.

    The official name is ``{id}_{k}.png``, and ``k = 0`` is scored. ``{id}.png``, which means
    ``k = 0``, and leading zeros are accepted. Of one picture in several formats the lossless one is
    used and the fact is flagged; two different lossless candidates are refused for that sample.
    Pictures with a larger ``k`` are in `FolderIndex.further`.

    Raises:
        NotADirectoryError: `folder` is not a folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"expected a folder of edited images, got {folder}")
    named, ignored = _by_id_and_replica(folder)
    edits: dict[int, FoundEdit] = {}
    ambiguous: dict[int, tuple[str, ...]] = {}
    further: dict[int, dict[int, FoundEdit]] = {}
    for (identifier, number), paths in named.items():
        if number < replica:
            continue
        chosen = _choose(paths, f"{identifier}_{number}")
        if number > replica:
            if chosen is not None:
                further.setdefault(identifier, {})[number] = chosen
        elif chosen is None:
            ambiguous[identifier] = tuple(path.name for path in paths)
        else:
            edits[identifier] = chosen
    return FolderIndex(folder, edits, ambiguous, tuple(ignored), further, replica)


def _by_id_and_replica(folder: Path) -> tuple[dict[tuple[int, int], list[Path]], list[str]]:
    named: dict[tuple[int, int], list[Path]] = {}
    ignored: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in IMAGE_SUFFIXES or not path.is_file():
            continue
        match = _NAME.match(path.stem)
        if match is None:
            ignored.append(path.name)
        else:
            key = int(match["id"]), int(match["replica"] or 0)
            named.setdefault(key, []).append(path)
    return named, ignored


def _choose(paths: list[Path], official_stem: str) -> FoundEdit | None:
    lossless = [path for path in paths if path.suffix.lower() not in LOSSY_SUFFIXES]
    pool = lossless or paths
    official = [path for path in pool if path.stem == official_stem]
    if len(pool) > 1 and len({path.stem for path in pool}) > 1:
        return None
    if len(pool) > 1 and len(official) != 1:
        return None
    path = official[0] if len(official) == 1 else pool[0]
    flags = set()
    if path.suffix.lower() in LOSSY_SUFFIXES:
        flags.add("lossy")
    if lossless and len(paths) > len(lossless):
        flags.add("also_lossy_copy")
    return FoundEdit(path, frozenset(flags))
