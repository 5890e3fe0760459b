"""Finds the images that MedSG-Bench rows name: in a task's zip file, or in its unpacked folder.

Members of a zip file are read into memory one at a time and never unpacked under a name of theirs,
so no name in an archive can reach outside the data folder.
"""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from ..images import ImageUnreadable
from .releases import SourceImage

_LARGEST_MEMBER = 256 << 20
"""Bytes of one image; a member that claims more is no picture of this benchmark."""


@dataclass(frozen=True)
class ZippedImage(SourceImage):
    """One member of an open zip file."""

    archive: zipfile.ZipFile | None = None
    member: str = ""

    def read(self) -> bytes:
        """The member's bytes, checked against the archive's own checksum.

        Raises:
            ImageUnreadable: the member is damaged, encrypted or far too large.
        """
        if self.archive is None:
            raise ValueError(f"expected an open zip file for {self.name!r}, got none")
        if self.archive.getinfo(self.member).file_size > _LARGEST_MEMBER:
            raise ImageUnreadable(self.name, f"larger than {_LARGEST_MEMBER} bytes")
        try:
            return self.archive.read(self.member)
        except (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError) as error:
            raise ImageUnreadable(self.name, f"cannot be unpacked ({error})") from error


class TaskImages:
    """The images of one task, by the path its rows give; close it after use."""

    def __init__(self, task_number: int, folders: Sequence[Path]) -> None:
        """Open ``TaskN.zip`` where there is one.

        Args:
            task_number: The N.
            folders: Where the zip file and the folder ``TaskN`` may lie.

        Raises:
            ValueError: the zip file is cut or none.
        """
        self.task_name = f"Task{task_number}"
        self._stack = ExitStack()
        self._folders = [folder for folder in folders if (folder / self.task_name).is_dir()]
        archives = [folder / f"{self.task_name}.zip" for folder in folders]
        path = next((path for path in archives if path.is_file()), None)
        self._archive = self._stack.enter_context(open_archive(path)) if path else None
        self._members = dict(_members(self._archive)) if self._archive else {}

    def __enter__(self) -> TaskImages:
        return self

    def __exit__(self, *unused: object) -> None:
        self._stack.close()

    @property
    def is_there(self) -> bool:
        """Whether the task has a zip file or a folder."""
        return self._archive is not None or bool(self._folders)

    def find(self, name: str) -> SourceImage | None:
        """The image a row names, or `None`; unpacked files come before zip members.

        The released paths begin with two folders of the repository, the zip members do not: the
        path is tried whole, then without its first parts, down to what follows ``TaskN``.
        """
        for relative in _candidates(name, self.task_name):
            for folder in self._folders:
                path = folder / relative
                if path.is_file():
                    return SourceImage(name=name, path=path)
            member = self._members.get(relative)
            if member is not None:
                return ZippedImage(name=name, archive=self._archive, member=member)
        return None


def open_archive(path: Path) -> zipfile.ZipFile:
    """The zip file, opened.

    Raises:
        ValueError: it is cut, or none, such as the pointer file of a copy made without Git LFS.
    """
    try:
        return zipfile.ZipFile(path)
    except zipfile.BadZipFile as error:
        raise ValueError(
            f"expected a whole zip file, {path} ({path.stat().st_size} bytes) is cut or none "
            f"({error}); download it again, with git lfs pull in a git checkout"
        ) from error


def leaves_release(name: str) -> bool:
    """Whether a path is absolute or climbs with ``..``; back-slashes count as slashes."""
    path = PurePosixPath(name.replace("\\", "/"))
    return path.is_absolute() or ".." in path.parts or ":" in "".join(path.parts[:1])


def _candidates(name: str, task_name: str) -> list[str]:
    parts = PurePosixPath(name.replace("\\", "/")).parts
    positions = [index for index, part in enumerate(parts) if part == task_name]
    last = positions[-1] + 1 if positions else 0
    return ["/".join(parts[start:]) for start in range(last + 1) if parts[start:]]


def _members(archive: zipfile.ZipFile) -> Iterator[tuple[str, str]]:
    for member in archive.infolist():
        if not member.is_dir():
            yield member.filename.replace("\\", "/").removeprefix("./"), member.filename
