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

    def missing(self, ids: Iterable[int]) -> list[int]:
        """Ids without a usable picture."""
        return [identifier for identifier in ids if identifier not in self.edits]


def index_edits_folder(folder: Path, *, replica: int = 0) -> FolderIndex:
    """Which image of `folder` belongs to which sample.

    The official name is ``{id}_{k}.png``, and ``k = 0`` is scored. ``{id}.png`` and leading zeros
    are accepted. Of one picture in several formats the lossless one is used and the fact is
    flagged; two different lossless candidates are refused for that sample.

    Raises:
        NotADirectoryError: `folder` is not a folder.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"expected a folder of edited images, got {folder}")
    candidates: dict[int, list[Path]] = {}
    ignored: list[str] = []
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in IMAGE_SUFFIXES or not path.is_file():
            continue
        match = _NAME.match(path.stem)
        if match is None:
            ignored.append(path.name)
        elif match["replica"] is None or int(match["replica"]) == replica:
            candidates.setdefault(int(match["id"]), []).append(path)
    edits: dict[int, FoundEdit] = {}
    ambiguous: dict[int, tuple[str, ...]] = {}
    for identifier, paths in candidates.items():
        chosen = _choose(paths, f"{identifier}_{replica}")
        if chosen is None:
            ambiguous[identifier] = tuple(path.name for path in paths)
        else:
            edits[identifier] = chosen
    return FolderIndex(folder, edits, ambiguous, tuple(ignored))


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
