"""What a failed request means: stop everything, adapt, wait, ask again, or give this call up.

Decided from status, headers and the error object alone, never from the name of the model.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from email.utils import parsedate_to_datetime
from enum import Enum

ADAPTABLE = ("max_completion_tokens", "max_tokens", "temperature", "seed")
"""Fields we may rename or leave out. A field of the user's own choice is never dropped silently."""
MESSAGES = "messages"
"""Stands for consecutive messages of one role, where a field is named."""

_QUOTA_CODES = {"insufficient_quota", "billing_hard_limit_reached", "billing_not_active"}
_FILTER_CODES = {"content_filter", "content_policy_violation", "moderation_blocked"}
_REFUSED_CODES = {"unsupported_parameter", "unsupported_value", "unknown_parameter"}
_REFUSED_WORDS = re.compile(
    r"unsupported|not supported|does not support|unrecognized|unknown (?:parameter|field|argument)"
    r"|extra (?:inputs|fields) (?:are )?not (?:permitted|allowed)|extra_forbidden",
    re.IGNORECASE,
)
_ALTERNATION = re.compile(
    r"roles? must alternate|alternat\w+ (?:between )?(?:user|roles)", re.IGNORECASE
)
_PASSING = {408, 409, 425}


@dataclass(eq=False)
class Failure(Exception):
    """A request that brought no reply. `status` 0: the connection itself failed."""

    status: int
    message: str = ""
    code: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)
    timed_out: bool = False


class Remedy(Enum):
    """What to do about a failure."""

    STOP = "stop"
    ADAPT = "adapt"
    SLOW_DOWN = "slow down"
    REPEAT = "repeat"
    REFUSED = "refused"
    GIVE_UP = "give up"


@dataclass(frozen=True)
class Fault:
    """A failure, understood."""

    remedy: Remedy
    note: str
    kind: str = ""
    """With `STOP`: the kind of `JudgeStopped`."""
    param: str = ""
    """With `ADAPT`: the field refused, or `MESSAGES`."""
    wait_s: float | None = None
    """What the endpoint asked for."""
    is_connection: bool = False
    """There was nobody to answer, as against somebody who took too long."""


def fault_of(failure: Failure, *, now: datetime | None = None) -> Fault:
    """What `failure` means."""
    note = _note(failure)
    wait_s = retry_after(failure.headers, now=now)
    if failure.status == 0:
        return Fault(Remedy.REPEAT, note, is_connection=not failure.timed_out)
    if failure.status == 402 or failure.code in _QUOTA_CODES:
        return Fault(Remedy.STOP, note, kind="quota")
    if failure.status in (401, 403):
        return Fault(Remedy.STOP, note, kind="bad_key")
    if failure.status == 404 or failure.code == "model_not_found":
        return Fault(Remedy.STOP, note, kind="unknown_model")
    if failure.status == 429:
        return Fault(Remedy.SLOW_DOWN, note, wait_s=wait_s)
    if failure.status in _PASSING or failure.status >= 500:
        return Fault(Remedy.REPEAT, note, wait_s=wait_s)
    if failure.code in _FILTER_CODES:
        return Fault(Remedy.REFUSED, note)
    if refused := _refused_field(failure):
        return Fault(Remedy.ADAPT, note, param=refused)
    return Fault(Remedy.GIVE_UP, note)


def retry_after(headers: Mapping[str, str], *, now: datetime | None = None) -> float | None:
    """Seconds the endpoint asks to wait, in ms, s or as a date; `None` if it does not say."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    milliseconds = _number(lowered.get("retry-after-ms", ""))
    if milliseconds is not None:
        return max(0.0, milliseconds / 1000)
    said = lowered.get("retry-after", "")
    seconds = _number(said)
    if seconds is not None:
        return max(0.0, seconds)
    try:
        moment = parsedate_to_datetime(said)
    except (TypeError, ValueError):
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=timezone.utc)
    return max(0.0, (moment - (now or datetime.now(timezone.utc))).total_seconds())


def _number(text: str) -> float | None:
    return float(text) if re.fullmatch(r"\d+(?:\.\d+)?", text) else None


def _refused_field(failure: Failure) -> str:
    """The field of the request that the endpoint does not take; empty if it said none of ours."""
    if failure.status not in (400, 422):
        return ""
    if _ALTERNATION.search(failure.message):
        return MESSAGES
    if failure.code not in _REFUSED_CODES and not _REFUSED_WORDS.search(failure.message):
        return ""
    if failure.param:
        return failure.param if failure.param in ADAPTABLE else ""
    named = {name: failure.message.find(name) for name in ADAPTABLE}
    # The refused field is named before the one to use instead.
    found = [(place, name) for name, place in named.items() if place >= 0]
    return min(found)[1] if found else ""


def _note(failure: Failure) -> str:
    if failure.status == 0:
        kind = "no answer in time" if failure.timed_out else "no connection"
        return f"{kind}: {failure.message}" if failure.message else kind
    said = " ".join(text for text in (failure.code, failure.message) if text)
    return f"HTTP {failure.status}: {said}" if said else f"HTTP {failure.status}"
