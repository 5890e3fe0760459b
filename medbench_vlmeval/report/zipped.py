"""Runs in .zip files: the small files of every run are unpacked, nothing else."""

from __future__ import annotations

import stat
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

RUN_SUFFIXES = ("_manifest.json", "_scores.jsonl", "_score.json", "_acc.csv", "_samples.jsonl")
"""What the files of a run end with that a board or a report is made of."""
_OF_PAGES = "_judge.jsonl"
_IMAGES = "_images"
"""What the folder of a run's edited images ends with."""
LARGEST_FILE = 256 << 20
"""Bytes of one file; the rows of 9,630 samples take about 10 MB."""
LARGEST_ARCHIVE = 2 << 30
"""Bytes of all files together."""

_BLOCK = 1 << 20


@dataclass
class Unpacked:
    """The folders that the runs of one archive were unpacked to, and what was left in it."""

    folders: dict[Path, str] = field(default_factory=dict)
    """Folder on disk to the folder in the archive, as a reader should see it."""
    names: list[str] = field(default_factory=list)
    """Every file in the archive."""
    problems: list[str] = field(default_factory=list)


def unpack_runs(archive: Path, target: Path, *, whole: bool = False) -> Unpacked:
    """Unpack the files of runs; each folder of the archive becomes a numbered one below `target`.

    No path of the archive becomes one on disk, so that none can lead elsewhere; those that try
    (``..``, absolute, links) are left out and named, and so are files of absurd size.

    Args:
        archive: a .zip file.
        target: an empty folder.
        whole: also the judge's replies and the edited images, for a page.
    """
    found = Unpacked()
    try:
        with zipfile.ZipFile(archive) as opened:
            found.names = [info.filename for info in opened.infolist() if not info.is_dir()]
            wanted = [it for it in opened.infolist() if _is_wanted(it, whole)]
            _unpack(opened, wanted, archive, target, found)
    except (zipfile.BadZipFile, OSError, RuntimeError, NotImplementedError) as error:
        # RuntimeError: encrypted. NotImplementedError: an unknown compression.
        found.problems.append(f"{archive}: cannot be unpacked ({error}); zip the folder again")
    return found


def _is_wanted(info: zipfile.ZipInfo, whole: bool) -> bool:
    if info.is_dir():
        return False
    more = info.filename.endswith(_OF_PAGES) or _is_edit(info)
    return info.filename.endswith(RUN_SUFFIXES) or (whole and more)


def _is_edit(info: zipfile.ZipInfo) -> bool:
    return PurePosixPath(info.filename).parent.name.endswith(_IMAGES)


def _unpack(
    opened: zipfile.ZipFile,
    wanted: Iterable[zipfile.ZipInfo],
    archive: Path,
    target: Path,
    found: Unpacked,
) -> None:
    numbered: dict[PurePosixPath, Path] = {}
    left = LARGEST_ARCHIVE
    for info in wanted:
        if problem := _refused(info):
            found.problems.append(f"{archive}: {info.filename!r} was left out: {problem}")
            continue
        name = PurePosixPath(info.filename)
        parent = name.parent.parent if _is_edit(info) else name.parent
        folder = numbered.setdefault(parent, target / str(len(numbered)))
        found.folders[folder] = f"{archive}: {parent}"
        path = folder / name.relative_to(parent)
        path.parent.mkdir(parents=True, exist_ok=True)
        left -= _copied(opened, info, path, min(left, LARGEST_FILE))
        if left <= 0 or path.stat().st_size > LARGEST_FILE:
            path.unlink()
            found.problems.append(
                f"{archive}: {info.filename!r} and what follows was left out: expected at most "
                f"{LARGEST_FILE >> 20} MB a file and {LARGEST_ARCHIVE >> 20} MB in all; unpack it "
                "yourself if you trust it"
            )
            return


def _refused(info: zipfile.ZipInfo) -> str:
    name = PurePosixPath(info.filename)
    if name.is_absolute() or ".." in name.parts or "\\" in info.filename or ":" in name.parts[0]:
        return "its name leads out of the archive"
    if stat.S_ISLNK(info.external_attr >> 16):
        return "it is a link"
    return "" if max(len(part.encode()) for part in name.parts) < 256 else "its name is too long"


def _copied(opened: zipfile.ZipFile, info: zipfile.ZipInfo, path: Path, most: int) -> int:
    """How many bytes were written: what is there, whatever the archive says, and `most` + 1."""
    written = 0
    with path.open("wb") as stream:
        for block in _blocks(opened, info):
            stream.write(block[: most + 1 - written])
            written += len(block)
            if written > most:
                break
    return written


def _blocks(opened: zipfile.ZipFile, info: zipfile.ZipInfo) -> Iterator[bytes]:
    with opened.open(info) as stream:
        while block := stream.read(_BLOCK):
            yield block
