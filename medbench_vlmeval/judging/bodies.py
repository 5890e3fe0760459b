"""Request bodies, joined from fragments: an image file is read and encoded once, not per call."""

from __future__ import annotations

import asyncio
import base64
import json
from collections import OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any

from PIL import Image

from ..files import sha256_bytes
from ..images import encode_for_judge
from . import pricing
from .calls import JudgeCall, Message

IMAGE_CACHE_BYTES = 64 * 1024 * 1024
"""Encoded images kept for reuse. Those of questions under way come on top."""


@dataclass(frozen=True)
class Part:
    """One part of a message: its JSON in pieces, and what may be shown of it in a log."""

    pieces: tuple[bytes, ...]
    shown: Mapping[str, Any]
    size_wh: tuple[int, int] | None = None
    """Of an image."""

    @property
    def length(self) -> int:
        return sum(len(piece) for piece in self.pieces)

    @property
    def is_image(self) -> bool:
        return self.size_wh is not None


@dataclass(frozen=True)
class PreparedMessage:
    """One message with its parts encoded."""

    role: str
    parts: tuple[Part, ...]

    def fragments(self) -> Iterator[bytes]:
        """The message's JSON in pieces, so that images are copied once, into the request."""
        yield b'{"role":' + _dump(self.role) + b',"content":'
        # A lone text goes as plain string: some servers know no lists for text-only models.
        if len(self.parts) == 1 and not self.parts[0].is_image:
            yield self.parts[0].pieces[1]
        else:
            for number, part in enumerate(self.parts):
                yield b"," if number else b"["
                yield from part.pieces
            yield b"]"
        yield b"}"

    @property
    def shown(self) -> dict[str, Any]:
        """For the log: images by hash."""
        return {"role": self.role, "content": [dict(part.shown) for part in self.parts]}


def body(model: str, messages: Sequence[PreparedMessage], parameters: Mapping[str, Any]) -> bytes:
    """The request body; equal inputs give equal bytes."""
    # In one piece: a body sent in several waits for the event loop at each of them.
    return b"".join(_fragments(model, messages, parameters))


def _fragments(
    model: str, messages: Sequence[PreparedMessage], parameters: Mapping[str, Any]
) -> Iterator[bytes]:
    yield b'{"model":' + _dump(model) + b',"messages":'
    for number, message in enumerate(messages):
        yield b"," if number else b"["
        yield from message.fragments()
    yield b"]"
    for name in sorted(parameters):
        yield b"," + _dump(name) + b":" + _dump(parameters[name])
    yield b"}"


def call_id(model: str, shown: Sequence[Mapping[str, Any]], parameters: Mapping[str, Any]) -> str:
    """SHA-256 of a request with every image replaced by its own SHA-256.

    Args:
        model: as requested.
        shown: the messages as `PreparedMessage.shown` gives them and as the log of replies holds
            them, so that the id can be recomputed from a line of the log.
        parameters: the request's other fields.
    """
    messages = [
        {**message, "content": [_without_history(part) for part in message["content"]]}
        for message in shown
    ]
    request = {"model": model, "messages": messages, "parameters": dict(parameters)}
    return sha256_bytes(json.dumps(request, sort_keys=True, separators=(",", ":")).encode("ascii"))


def _without_history(part: Mapping[str, Any]) -> dict[str, Any]:
    # Why an image was converted is said in words, and words may change; the bytes sent count.
    return {name: value for name, value in part.items() if name != "converted"}


def merged(messages: Sequence[PreparedMessage]) -> tuple[PreparedMessage, ...]:
    """Consecutive messages of one role made one, for servers whose roles must alternate."""
    joined: list[PreparedMessage] = []
    for message in messages:
        if joined and joined[-1].role == message.role:
            joined[-1] = PreparedMessage(message.role, joined[-1].parts + message.parts)
        else:
            joined.append(message)
    return tuple(joined)


def text_message(role: str, text: str) -> PreparedMessage:
    """A message of one text."""
    return PreparedMessage(role, (text_part(text),))


def text_part(text: str) -> Part:
    """A text as part; lone surrogates, which are not valid in a request, become ``?``."""
    valid = text.encode("utf-8", errors="replace").decode("utf-8")
    pieces = (b'{"type":"text","text":', _dump(valid), b"}")
    return Part(pieces, {"type": "text", "text": valid})


def prompt_tokens(model: str, messages: Sequence[PreparedMessage]) -> int:
    """Estimated tokens of the messages, by the rules of `pricing`."""
    total = pricing.message_tokens() * len(messages)
    for message in messages:
        for part in message.parts:
            if part.size_wh is None:
                total += pricing.text_tokens(part.shown["text"])
            else:
                total += pricing.image_tokens(model, part.size_wh)
    return total


class Preparer:
    """Turns calls into messages ready to send, with a bounded store of encoded images."""

    def __init__(self, executor: Executor, *, limit_bytes: int = IMAGE_CACHE_BYTES) -> None:
        self._executor = executor
        self._limit_bytes = limit_bytes
        self._kept: OrderedDict[tuple[str, int, int], Part] = OrderedDict()
        self._coming: dict[tuple[str, int, int], asyncio.Future[Part]] = {}
        self.kept_bytes = 0

    async def prepared(self, call: JudgeCall) -> tuple[PreparedMessage, ...]:
        """The messages of `call`.

        Raises:
            OSError, ValueError: an image file is absent or cannot be read.
        """
        return tuple([await self._message(message) for message in call.messages])

    async def _message(self, message: Message) -> PreparedMessage:
        parts = [
            text_part(part) if isinstance(part, str) else await self._image(part)
            for part in message.parts
        ]
        return PreparedMessage(message.role, tuple(parts))

    async def _image(self, path: Path) -> Part:
        status = path.stat()
        key = (str(path), status.st_mtime_ns, status.st_size)
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key]
        if key not in self._coming:
            loop = asyncio.get_running_loop()
            self._coming[key] = loop.run_in_executor(self._executor, _image_part, path)
        try:
            part = await asyncio.shield(self._coming[key])
        finally:
            self._coming.pop(key, None)
        self._keep(key, part)
        return part

    def _keep(self, key: tuple[str, int, int], part: Part) -> None:
        if key in self._kept:
            return
        self._kept[key] = part
        self.kept_bytes += part.length
        while self.kept_bytes > self._limit_bytes and len(self._kept) > 1:
            _, dropped = self._kept.popitem(last=False)
            self.kept_bytes -= dropped.length


def _image_part(path: Path) -> Part:
    encoded = encode_for_judge(path)
    with Image.open(BytesIO(encoded.data)) as opened:
        size_wh = opened.size
    opening = f'{{"type":"image_url","image_url":{{"url":"data:{encoded.mime};base64,'
    pieces = (opening.encode("ascii"), base64.b64encode(encoded.data), b'"}}')
    shown = {
        "type": "image",
        "sha256": encoded.sha256,
        "mime": encoded.mime,
        "bytes": len(encoded.data),
        "converted": encoded.converted,
    }
    return Part(pieces, shown, size_wh)


def _dump(value: Any) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode("ascii")
