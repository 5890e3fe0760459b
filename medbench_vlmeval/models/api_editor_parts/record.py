"""What was asked of an image service and what it answered: one JSON line each, beside the store."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from .answers import EditAnswer, Upload

if TYPE_CHECKING:
    from ..base import EditRequest


class EditRecord:
    """One line of ``<store>/api/<editor>.jsonl``: no image, no key.

    Threads, processes and ranks may append to the same file.

    Args:
        root: of the store.
        editor: name in the model zoo.
        endpoint: address without credentials.
        shown: takes the secrets out of a text.
    """

    def __init__(self, root: Path, editor: str, endpoint: str, shown: Callable[[str], str]) -> None:
        self._path = root / "api" / f"{quote(editor, safe=' ')}.jsonl"
        self._endpoint = endpoint
        self._shown = shown
        self._asked_at = datetime.now(timezone.utc).isoformat(timespec="milliseconds")
        self._began = time.monotonic()

    def add(
        self,
        request: EditRequest,
        uploads: Sequence[Upload],
        asked: Mapping[str, Any],
        answered: Mapping[str, Any],
    ) -> None:
        """Write the line of one answer, or of a call that failed."""
        from ...files import append_jsonl, sha256_bytes

        images = [
            {"sha256": sha256_bytes(it.data), "mime": it.mime, "converted": it.converted}
            for it in uploads
        ]
        line = {
            "asked_at": self._asked_at,
            "seconds": round(time.monotonic() - self._began, 3),
            "endpoint": self._endpoint,
            "dataset": request.dataset,
            "seed": request.seed,
            "replica": request.replica,
            "images": images,
            **asked,
            **answered,
        }
        append_jsonl(self._path, line)

    def said(self, answer: EditAnswer) -> dict[str, Any]:
        """What the service answered, with the hash of the image in its place."""
        from ...files import sha256_bytes

        return {
            "result": _result(answer),
            "sha256": sha256_bytes(answer.image) if answer.image else None,
            "text": self._shown(answer.text),
            "model_returned": self._shown(answer.model),
            "finish_reason": self._shown(answer.finish_reason),
            "request_id": self._shown(answer.request_id),
            "usage": answer.usage,
            "details": {name: self._shown(str(value)) for name, value in answer.details.items()},
        }


def _result(answer: EditAnswer) -> str:
    if answer.image is not None:
        return "damaged image" if answer.damaged else "image"
    return "declined" if answer.declined else "no image"
