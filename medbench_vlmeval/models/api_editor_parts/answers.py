"""What goes to an image service and what comes back, whichever service it is."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

_MIME = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp"}


@dataclass(frozen=True)
class Upload:
    """An image as it is sent."""

    data: bytes = field(repr=False)
    mime: str
    converted: str = ""
    """Empty when `data` are the released bytes, else why they are not."""

    @property
    def name(self) -> str:
        """A file name that says nothing about the sample."""
        return "image." + self.mime.removeprefix("image/")


@dataclass(frozen=True)
class EditAnswer:
    """An answer of a service, with or without an image."""

    image: bytes | None = field(default=None, repr=False)
    text: str = ""
    """The model's words, or why there is no image."""
    declined: bool = False
    """The service itself said that it refused."""
    model: str = ""
    finish_reason: str = ""
    request_id: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    """Tokens: ``input_tokens``, ``output_tokens``, and of the input ``text_tokens`` and
    ``image_tokens``, as far as they were said."""
    details: Mapping[str, Any] = field(default_factory=dict)
    """Size, quality, format as the service says it used them."""
    is_free: bool = False
    """The request was turned down before anything was made."""

    @cached_property
    def damaged(self) -> bool:
        """There is an image, and it cannot be read."""
        from ...images import ImageUnreadable, read_rgb

        if self.image is None:
            return False
        try:
            read_rgb(self.image)
        except ImageUnreadable:
            return True
        return False


def upload_of(data: bytes) -> Upload:
    """What a service is sent for an image file: nothing is enlarged or compressed with loss.

    The file's own bytes when it is an ordinary 8-bit PNG, JPEG or WebP, else an 8-bit RGB PNG of
    what `images.read_rgb` sees.

    Raises:
        ImageUnreadable: as for `images.read_rgb`.
    """
    from ...images import encode_png, read_rgb

    decoded = read_rgb(data)
    reasons = sorted(decoded.flags)
    if decoded.format not in _MIME:
        reasons.insert(0, f"format {decoded.format}")
    if not reasons:
        return Upload(data, _MIME[decoded.format])
    return Upload(encode_png(decoded.pixels), _MIME["PNG"], ", ".join(reasons))


def decoded_base64(text: str) -> bytes | None:
    """The bytes of a base64 text, which may be a ``data:`` URI; `None` when it is damaged."""
    if text.startswith("data:"):
        text = text.partition(",")[2]
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None
