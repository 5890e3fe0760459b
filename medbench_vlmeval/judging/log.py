"""The judge log of a run: one JSON line per reply, without images and without secrets."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..files import append_jsonl
from .attempts import Attempt
from .bodies import PreparedMessage, text_message
from .calls import JudgeCall
from .settings import JudgeSettings


class ReplyLog:
    """Appends to the log file of a run; several processes may share it.

    A reply from the cache is written too, unless the file has it already: every score can then be
    traced within its own run folder.
    """

    def __init__(self, path: Path | None, settings: JudgeSettings) -> None:
        self._path = path
        self._settings = settings
        self._present = _entries(path) if path is not None else set()

    def add(
        self,
        call: JudgeCall,
        repeat: int,
        call_id: str,
        number: int,
        messages: Sequence[PreparedMessage],
        attempt: Attempt,
        *,
        cached: bool = False,
    ) -> None:
        """Write one attempt."""
        if self._path is None:
            return
        reply = dict(vars(attempt.reply))
        record: dict[str, Any] = {
            "key": call.key,
            "call_id": call_id,
            "repeat": repeat,
            "attempt": number,
            "status": attempt.reading.status,
            "note": attempt.reading.note,
            "reply": reply.pop("text"),
            "refusal": reply.pop("refusal"),
            "finish_reason": reply.pop("finish_reason"),
            "model_requested": self._settings.model,
            "model_returned": reply.pop("model"),
            "endpoint": self._settings.endpoint,
            "parameters": attempt.parameters,
            **reply,
            "cost": attempt.cost,
            "asked_at": attempt.asked_at,
            "seconds": round(attempt.seconds, 3),
            "cached": cached,
            "labels": call.labels,
            "messages": [message.shown for message in messages],
        }
        append_jsonl(self._path, record)
        self._present.add((call.key, call_id, repeat, number, attempt.reading.status.value))

    def recall(
        self,
        call: JudgeCall,
        repeat: int,
        call_id: str,
        messages: Sequence[PreparedMessage],
        attempts: Sequence[Attempt],
    ) -> None:
        """Write attempts that came from the cache, as far as the file lacks them."""
        for number, attempt in enumerate(attempts, start=1):
            status = attempt.reading.status.value
            if (call.key, call_id, repeat, number, status) in self._present:
                continue
            asked = (*messages, text_message("user", attempt.extra)) if attempt.extra else messages
            self.add(call, repeat, call_id, number, asked, attempt, cached=True)


def _entries(path: Path) -> set[tuple[str, str, int, int, str]]:
    """What the log holds already. A line that a killed process left unfinished holds nothing."""
    if not path.exists():
        return set()
    found: set[tuple[str, str, int, int, str]] = set()
    with path.open(encoding="utf-8", errors="replace") as stream:
        for line in stream:
            try:
                record = json.loads(line)
            except json.JSONDecodeError:
                continue
            names = ("key", "call_id", "repeat", "attempt", "status")
            key, call_id, repeat, number, status = (record.get(name) for name in names)
            found.add((key, call_id, repeat, number, status))
    return found
