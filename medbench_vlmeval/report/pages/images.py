"""How a page refers to the images of a run: by a path beside it, or why it cannot."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import quote

from ..samples import ShownImage

Reference = dict[str, Any]
"""``src``, or ``missing`` with the reason; ``note`` where the picture is not the file itself."""


class ImageShelf(Protocol):
    """Where the images of a page are."""

    def reference(self, path: Path) -> Reference:
        """How the page refers to an image file that is there."""


@dataclass(frozen=True)
class ImagesInPlace:
    """Images stay where they are; the page refers to them by relative paths.

    Args:
        folder: the one that the page will lie in.
    """

    folder: Path

    def reference(self, path: Path) -> Reference:
        return {"src": url_of(path, self.folder)}


def url_of(path: Path, folder: Path) -> str:
    """The URL of a file as seen from a page in `folder`; a file URI where no relative path leads.

    Every byte of a name that is no plain letter is percent-encoded, so that spaces, ``#``, ``?``,
    ``%``, quotes and any alphabet survive.
    """
    # Not resolved: a browser follows links by the text of the URL, as the folders are written here.
    target = Path(os.path.abspath(path))  # noqa: PTH100
    try:
        relative = os.path.relpath(target, os.path.abspath(folder))  # noqa: PTH100
    except ValueError:  # another drive of Windows
        return target.as_uri()
    return "/".join(quote(os.fsencode(part), safe="") for part in Path(relative).parts)


def described_image(image: ShownImage, shelf: ImageShelf) -> Reference:
    """An image of a sample as the page's script reads it."""
    described: Reference = {"role": image.role}
    if image.size_wh is not None:
        described["size_wh"] = image.size_wh
    if image.found is not None:
        return described | shelf.reference(image.found)
    if image.recorded is None:
        return described | {"missing": "the data set has none"}
    return described | {
        "missing": f"{image.recorded.name} is not where it was; name its folder by --data-root"
    }
