"""Images without anything that could say where they come from."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..files import sha256_bytes, sha256_file
from ..images import ImageUnreadable, encode_png, read_rgb


class Unsuitable(Exception):
    """A sample that cannot be rated alike for every model."""


@dataclass(frozen=True)
class ImagePool:
    """A folder of PNGs named by their content, of pixels alone: what else a file holds stays out.

    Text chunks, EXIF and the way a file was compressed can name the model that made it.
    """

    folder: Path

    def add(self, path: Path, what: str, sha256: str | None = None) -> Path:
        """The image of a file, in the pool.

        Args:
            path: the file.
            what: it is, for messages.
            sha256: of the file that the judge saw; None where that is not known.

        Raises:
            Unsuitable: it cannot be read, or is another file than the judge saw.
        """
        try:
            if sha256 is not None and sha256_file(path) != sha256:
                raise Unsuitable(f"{what} is not the one that was evaluated")
            data = encode_png(read_rgb(path).pixels)
        except (ImageUnreadable, OSError) as error:
            raise Unsuitable(f"{what} cannot be read") from error
        pooled = self.folder / f"{sha256_bytes(data)}.png"
        if not pooled.exists():
            pooled.write_bytes(data)
        return pooled
