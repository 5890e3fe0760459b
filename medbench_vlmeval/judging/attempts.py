"""One question and its reply, as read, stored and logged; and the verdict several of them make."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..types import Status
from .calls import JudgeCall, Rubric, Verdict
from .replies import Reading, Reply, read_reply


@dataclass(frozen=True)
class Attempt:
    """What came of asking once. A call that failed has an empty reply."""

    reply: Reply
    reading: Reading
    cost: float | None = None
    parameters: Mapping[str, Any] = field(default_factory=dict)
    """As sent, after adaptation."""
    asked_at: str = ""
    """UTC, ISO 8601."""
    seconds: float = 0.0
    extra: str = ""
    """What was added to the first question."""
    answered: bool = True
    """Whether the endpoint responded at all, readable or not."""

    @classmethod
    def failed(cls, status: Status, note: str, **fields: Any) -> Attempt:
        """An attempt without a reply."""
        return cls(Reply(""), Reading(status, note=note), **{"answered": False, **fields})

    @classmethod
    def from_record(cls, record: Mapping[str, Any], rubric: Rubric) -> Attempt:
        """An attempt as `record` stored it, its reply read anew."""
        reply = Reply(**record["reply"])
        stored = Status(record["status"])
        if stored is Status.API_FAIL:
            return cls.failed(stored, record["note"])
        rest = {name: record[name] for name in ("cost", "parameters", "asked_at", "seconds")}
        return cls(reply, read_reply(reply, rubric), extra=record["extra"], **rest)

    def record(self) -> dict[str, Any]:
        """For the cache and the log."""
        return {
            "status": self.reading.status.value,
            "note": self.reading.note,
            "reply": dict(vars(self.reply)),
            "cost": self.cost,
            "parameters": dict(self.parameters),
            "asked_at": self.asked_at,
            "seconds": round(self.seconds, 3),
            "extra": self.extra,
        }


def verdict_of(
    call: JudgeCall, call_id: str, model: str, attempts: Sequence[Attempt], *, cached: bool
) -> Verdict:
    """The verdict on `call`: the best of its attempts, with the sums of all."""
    chosen = best(attempts)
    return Verdict(
        key=call.key,
        reading=chosen.reading.scores,
        status=chosen.reading.status,
        note=chosen.reading.note,
        reply=chosen.reply.text,
        first_reply=attempts[0].reply.text,
        call_id=call_id,
        model_requested=model,
        model_returned=chosen.reply.model,
        finish_reason=chosen.reply.finish_reason,
        prompt_tokens=_sum([attempt.reply.prompt_tokens for attempt in attempts]),
        completion_tokens=_sum([attempt.reply.completion_tokens for attempt in attempts]),
        cost=_sum([attempt.cost for attempt in attempts]),
        cached=cached,
        attempts=len(attempts),
        labels=dict(call.labels),
    )


def best(attempts: Sequence[Attempt]) -> Attempt:
    """The attempt that counts: a whole answer, else a partial one, else the latest real reply."""
    for wanted in (Status.ANSWER, Status.PARTIAL):
        for attempt in attempts:
            if attempt.reading.status is wanted:
                return attempt
    replied = [a for a in attempts if a.reading.status is not Status.API_FAIL]
    return (replied or list(attempts))[-1]


def is_usable(attempts: Sequence[Attempt]) -> bool:
    """Whether these attempts gave a value, so that nobody needs to ask again."""
    return best(attempts).reading.status.has_value


def _sum(counts: Sequence[Any]) -> Any:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None
