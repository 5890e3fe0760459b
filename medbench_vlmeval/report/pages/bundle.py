"""A page with all its images in one folder or archive that can be published."""

from __future__ import annotations

import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ...files import sha256_bytes
from ...images import ImageUnreadable, encode_for_judge
from .images import Reference

PAGE_NAME = "index.html"
_IMAGES = "images"
_SUFFIX = {"image/png": ".png", "image/jpeg": ".jpg"}


@dataclass
class Bundle:
    """A folder or archive under way: images under names made of their content, then the page.

    An image that is no plain 8-bit PNG or JPEG becomes an 8-bit RGB PNG by the rules of
    `images.read_rgb`, and the page says so: browsers show TIFF and 16 bits differently or not at
    all.
    """

    write: Callable[[str, bytes], None]
    """Puts bytes at a path inside the bundle."""
    converted: int = 0
    """Images that are not the original file."""
    _known: dict[Path, Reference] = field(default_factory=dict)
    _written: set[str] = field(default_factory=set)

    def reference(self, path: Path) -> Reference:
        """Where the bundle has the image, or why it does not."""
        if path not in self._known:
            self._known[path] = self._kept(path)
        return dict(self._known[path])

    @property
    def n_images(self) -> int:
        return len(self._written)

    @property
    def folders(self) -> set[Path]:
        """Where the images came from."""
        return {path.parent for path in self._known}

    def _kept(self, path: Path) -> Reference:
        try:
            encoded = encode_for_judge(path)
        except ImageUnreadable as error:
            return {"missing": f"{path.name} cannot be shown: {error.reason}"}
        except OSError as error:
            return {"missing": f"{path.name} cannot be read: {error.strerror}"}
        name = f"{_IMAGES}/{sha256_bytes(encoded.data)[:24]}{_SUFFIX[encoded.mime]}"
        if name not in self._written:
            self.write(name, encoded.data)
            self._written.add(name)
        if encoded.converted is None:
            return {"src": name}
        self.converted += 1
        return {"src": name, "note": f"shown as 8-bit PNG ({encoded.converted})"}


@contextmanager
def bundle_at(path: Path) -> Iterator[Bundle]:
    """A bundle that appears at `path`, whole, when the block ends without an error.

    Args:
        path: a new or empty folder, or an archive whose name ends in ``.zip``, which is replaced.

    Raises:
        FileExistsError: the folder holds something, or a file is in its place.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    is_archive = path.suffix.lower() == ".zip"
    if not is_archive and path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise FileExistsError(
            f"{path}: expected a new or empty folder; remove it, or name another one"
        )
    with tempfile.TemporaryDirectory(prefix=f".{path.name[:80]}.", dir=path.parent) as temporary:
        made = Path(temporary) / "bundle"
        if is_archive:
            with zipfile.ZipFile(made, "w") as archive:
                yield Bundle(_into_archive(archive))
        else:
            made.mkdir()
            yield Bundle(_into_folder(made))
            if path.exists():
                path.rmdir()
        shutil.move(made, path)


def _into_archive(archive: zipfile.ZipFile) -> Callable[[str, bytes], None]:
    def write(name: str, data: bytes) -> None:
        # A fixed date: the same runs give the same archive. Images are compressed already.
        entry = zipfile.ZipInfo(name)
        entry.external_attr = 0o644 << 16
        is_text = name.endswith(".html")
        entry.compress_type = zipfile.ZIP_DEFLATED if is_text else zipfile.ZIP_STORED
        archive.writestr(entry, data)

    return write


def _into_folder(folder: Path) -> Callable[[str, bytes], None]:
    def write(name: str, data: bytes) -> None:
        target = folder / name
        target.parent.mkdir(exist_ok=True)
        target.write_bytes(data)

    return write


_IMAGE_PATH = re.compile(
    r"(?:\b[A-Za-z]:|(?<![\w./\\])(?<!https:)(?<!http:))[/\\]+(?:[^/\\\s\"'<>|:]+[/\\]+)*"
    r"([^/\\\s\"'<>|:]+\.(?:png|jpe?g|webp|gif|bmp|tiff?)\b)",
    re.IGNORECASE,
)


_ANY_PATH = re.compile(r"(?:\b[A-Za-z]:|(?<![\w./\\:]))[/\\](?:[^/\\\s\"'<>|:,;]+[/\\]+)+")


def without_paths(value: Any, folders: Collection[Path | str], *, every: bool = False) -> Any:
    """`value` with folders of this machine left out of all its texts.

    Absolute paths of images keep their file name, wherever they were made; of other paths only the
    part that lies in one of `folders` is known and left out.

    Args:
        value: of dictionaries, lists and texts; anything else is kept.
        folders: what to leave out.
        every: leave out the folders of whatever looks like an absolute path; for texts that no
            model wrote.
    """
    texts = {str(it).rstrip("/\\") for it in folders} - {"", "."}
    forms = sorted({form for it in texts for form in (it, Path(it).as_posix())}, key=len)
    known = re.compile("|".join(map(re.escape, reversed(forms)))) if forms else None

    def cleaned(item: Any) -> Any:
        if isinstance(item, str):
            item = _IMAGE_PATH.sub(r"…/\1", item)
            item = known.sub("…", item) if known else item
            return _ANY_PATH.sub("…/", item) if every else item
        if isinstance(item, Mapping):
            return {name: cleaned(inner) for name, inner in item.items()}
        if isinstance(item, (list, tuple)):
            return [cleaned(inner) for inner in item]
        return item

    return cleaned(value)
