"""The text by which an edited image travels through the host: one JSON line, written and read."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..parsing import is_api_failure, is_refusal
from ..types import Status
from .stored import SUFFIX_BY_FORMAT, StoredImage, image_format

FAILED_CALL = "Failed to obtain answer via API."
"""The host's text for a failed call: counted as failed, and asked again by ``--reuse``."""

_KEY = "edited_image"
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_DATA_URI = re.compile(r"data:image/[\w.+-]{1,40};base64,")
_PATH_SUFFIXES = {*SUFFIX_BY_FORMAT.values(), ".jpeg", ".tiff"}
_LONGEST_PATH = 4096
_LONGEST_JSON = 1 << 20


class NoImageReturned(Exception):
    """An editor's model answered without an image.

    Args:
        reason: the model's own words, or what it did instead.
        status: `Status.REFUSAL` when it declined, else `Status.MISSING`.
    """

    def __init__(self, reason: str, *, status: Status = Status.MISSING) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


@dataclass(frozen=True)
class EditReply:
    """What a prediction cell says: a stored image, a path, image bytes, or why there is none."""

    status: Status
    note: str = ""
    stored: StoredImage | None = None
    path: str | None = None
    data: bytes | None = None
    flags: frozenset[str] = frozenset()
    seed: int | None = None
    settings: str = ""
    """Name under which the store describes the editor's settings, see `EditStore.describe`."""
    replicas: tuple[Replica, ...] = ()
    """Further images of the same edit, made from other seeds, in their order."""


@dataclass(frozen=True)
class Replica:
    """One of several images made for the same edit; `stored` is None where none came."""

    stored: StoredImage | None
    seed: int | None = None


def edited_image_line(
    image: StoredImage, *, size_wh: tuple[int, int], seed: int | None = None, settings: str = ""
) -> str:
    """The one JSON line by which a model hands over a stored image.

    It starts with ``{`` and holds neither line break nor URL, so it survives cells of every format.
    """
    fields: dict[str, Any] = {"format": image.format, "sha256": image.sha256, "size": list(size_wh)}
    if seed is not None:
        fields["seed"] = seed
    if settings:
        fields["settings"] = settings
    return json.dumps({_KEY: fields})


def with_replicas(line: str, others: Sequence[str | None]) -> str:
    """The line of the first image, with the further images of the same edit in it.

    Args:
        line: as `edited_image_line` makes it.
        others: the lines of the replicas after the first, in order; None where no image came.
    """
    fields = json.loads(line)
    fields[_KEY]["replicas"] = [
        None if other is None else _of_replica(json.loads(other)[_KEY]) for other in others
    ]
    return json.dumps(fields)


def _of_replica(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: fields[name] for name in ("format", "sha256", "seed") if name in fields}


def no_image_line(status: Status, reason: str) -> str:
    """The one JSON line for "the model gave no image", with the model's own words."""
    return json.dumps({_KEY: None, "status": str(status), "reason": reason[:2000]})


def failed_call_line(reason: str) -> str:
    """The text for "the call failed", which the host counts and asks again with ``--reuse``."""
    return f"{FAILED_CALL} {' '.join(reason.split())[:500]}"


def read_edit_reply(prediction: object) -> EditReply:
    """Read a prediction cell of an editing benchmark.

    Accepts our JSON line, a plain path, a ``data:`` URI, and lists of these (the first one counts,
    flagged ``several_images``). Anything else is a reply without an image.
    """
    if prediction is None or not isinstance(prediction, str) or not prediction.strip():
        return EditReply(Status.MISSING, "empty prediction")
    text = prediction.strip()
    if is_api_failure(text):
        return EditReply(Status.API_FAIL, _excerpt(text))
    if text[0] in "{[" and len(text) <= _LONGEST_JSON:
        return _read_json_reply(text)
    if _DATA_URI.match(text):
        return _read_data_uri(text)
    if _looks_like_path(text):
        return EditReply(Status.ANSWER, path=text)
    status = Status.REFUSAL if is_refusal(text) else Status.MISSING
    return EditReply(status, f"text instead of an image: {_excerpt(text)}")


def _read_json_reply(text: str) -> EditReply:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return EditReply(Status.MISSING, f"text instead of an image: {_excerpt(text)}")
    if isinstance(value, list) and value and all(isinstance(item, (str, dict)) for item in value):
        first = value[0] if isinstance(value[0], str) else json.dumps(value[0])
        reply = read_edit_reply(first)
        if len(value) == 1 or reply.status is not Status.ANSWER:
            return reply
        return replace(reply, flags=reply.flags | {"several_images"})
    if isinstance(value, dict) and _KEY in value:
        return _read_line(value)
    return EditReply(Status.MISSING, f"JSON without {_KEY!r}: {_excerpt(text)}")


def _read_line(line: Mapping[str, Any]) -> EditReply:
    fields = line[_KEY]
    if isinstance(fields, str):
        return read_edit_reply(fields)
    if isinstance(fields, dict):
        sha256, kind = fields.get("sha256"), fields.get("format")
        if isinstance(sha256, str) and _SHA256.match(sha256) and kind in SUFFIX_BY_FORMAT:
            seed, settings = fields.get("seed"), fields.get("settings")
            return EditReply(
                Status.ANSWER,
                stored=StoredImage(sha256, kind),
                seed=seed if isinstance(seed, int) else None,
                settings=settings if isinstance(settings, str) else "",
                replicas=_read_replicas(fields.get("replicas")),
            )
        return EditReply(Status.MISSING, "an edited_image entry without a valid sha256 and format")
    reason = str(line.get("reason", "the model returned no image"))
    declined = line.get("status") == str(Status.REFUSAL)
    return EditReply(Status.REFUSAL if declined else Status.MISSING, _excerpt(reason))


def _read_replicas(written: object) -> tuple[Replica, ...]:
    return tuple(map(_read_replica, written)) if isinstance(written, list) else ()


def _read_replica(fields: object) -> Replica:
    if not isinstance(fields, dict):
        return Replica(None)
    sha256, kind, seed = fields.get("sha256"), fields.get("format"), fields.get("seed")
    if not (isinstance(sha256, str) and _SHA256.match(sha256) and kind in SUFFIX_BY_FORMAT):
        return Replica(None)
    return Replica(StoredImage(sha256, kind), seed if isinstance(seed, int) else None)


def _read_data_uri(text: str) -> EditReply:
    try:
        data = base64.b64decode(text.split(",", 1)[1], validate=True)
    except (binascii.Error, ValueError):
        return EditReply(Status.TRUNCATED, "a data: URI that is cut or damaged")
    if image_format(data) is None:
        return EditReply(Status.MISSING, "a data: URI that holds no image")
    return EditReply(Status.ANSWER, data=data)


def _looks_like_path(text: str) -> bool:
    if len(text) > _LONGEST_PATH or "\n" in text or "\x00" in text or "://" in text:
        return False
    return Path(text).suffix.lower() in _PATH_SUFFIXES


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else words[:199] + "…"
