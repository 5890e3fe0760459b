"""Image files known by the hash of their bytes."""

from __future__ import annotations

from dataclasses import dataclass

SUFFIX_BY_FORMAT = {
    "png": ".png", "jpeg": ".jpg", "webp": ".webp", "gif": ".gif", "tiff": ".tif", "bmp": ".bmp",
}  # fmt: skip
"""The image formats that are kept, by content, and the suffix of their files."""

_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"BM", "bmp"),
)


@dataclass(frozen=True)
class StoredImage:
    """An image in the store: the hash of its bytes, and what kind of file they are."""

    sha256: str
    format: str

    @property
    def file_name(self) -> str:
        return self.sha256 + SUFFIX_BY_FORMAT[self.format]


def image_format(data: bytes) -> str | None:
    """The format of image bytes by their first bytes, e.g. ``png``; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)
