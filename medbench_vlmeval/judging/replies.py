"""From a response of the endpoint to a status: what was said, and whether it can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..parsing import ScoreReading, is_refusal, read_scores
from ..types import Status
from .calls import Rubric

STRICTER = """\
Keep to this form. Write nothing but the following {lines}, each with one number{choice} in place \
of x:
{form}"""
NO_ADVICE = """\
The material belongs to a public benchmark of image editing and image description. No diagnosis, \
treatment or identification of a person is asked for; only the quality of the work shown is to be \
scored. Give the scores in the form asked for above."""


@dataclass(frozen=True)
class Reply:
    """What one response said."""

    text: str
    refusal: str = ""
    finish_reason: str = ""
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None


@dataclass(frozen=True)
class Reading:
    """One reply, read against a rubric; `scores` is there exactly when the status has a value."""

    status: Status
    scores: ScoreReading | None = None
    note: str = ""


def reply_of(response: Any) -> Reply | None:
    """The first choice of a chat completion; `None` when the response holds no choice.

    Takes the shapes compatible servers really send: null content, content as a list of parts,
    missing usage.
    """
    choices = _mapping(response).get("choices")
    if not isinstance(choices, list) or not choices:
        return None
    choice = _mapping(choices[0])
    message = _mapping(choice.get("message"))
    usage = _mapping(_mapping(response).get("usage"))
    return Reply(
        text=_text(message.get("content")),
        refusal=_text(message.get("refusal")),
        finish_reason=str(choice.get("finish_reason") or ""),
        model=str(_mapping(response).get("model") or ""),
        prompt_tokens=_count(usage.get("prompt_tokens")),
        completion_tokens=_count(usage.get("completion_tokens")),
    )


def no_choice_note(response: Any) -> str:
    """What a response without a choice said instead."""
    error = _mapping(_mapping(response).get("error"))
    said = str(error.get("message") or error.get("code") or "")
    return f"the response holds no choices{': ' + said if said else ''}"


def read_reply(reply: Reply, rubric: Rubric) -> Reading:
    """Status and scores of a reply."""
    if reply.refusal or reply.finish_reason == "content_filter":
        return Reading(Status.REFUSAL, note=reply.refusal or "stopped by the content filter")
    cut = reply.finish_reason == "length"
    if not reply.text.strip():
        return Reading(Status.TRUNCATED if cut else Status.UNPARSED, note="the reply is empty")
    scores = read_scores(
        reply.text, rubric.names, low=rubric.low, high=rubric.high, allowed=rubric.allowed
    )
    if cut and not _is_whole(scores, reply.text):
        return Reading(Status.TRUNCATED, note="the reply was cut at the token limit")
    if scores.status is Status.UNPARSED and is_refusal(reply.text):
        return Reading(Status.REFUSAL, note="the judge declined")
    return Reading(scores.status, scores if scores.status.has_value else None)


def _is_whole(scores: ScoreReading, text: str) -> bool:
    # A last digit may be the first of two: "1" of "10".
    return scores.status is Status.ANSWER and not text.rstrip()[-1].isdigit()


def second_question(status: Status, rubric: Rubric) -> str | None:
    """What to add when asking again; empty: nothing; `None`: the status is final."""
    if status in (Status.UNPARSED, Status.PARTIAL):
        return stricter_form(rubric)
    if status is Status.REFUSAL:
        return NO_ADVICE
    return "" if status in (Status.TRUNCATED, Status.API_FAIL) else None


def stricter_form(rubric: Rubric) -> str:
    """The wording that asks for scores and nothing else."""
    if rubric.allowed is not None:
        choice = " out of " + ", ".join(f"{value:g}" for value in rubric.allowed)
        tail = ""
    else:
        choice = f" from {rubric.low:g} to {rubric.high:g}"
        tail = f"/{rubric.high:g}"
    form = "\n".join(f"{name}: x{tail}" for name in rubric.names)
    lines = "line" if len(rubric.names) == 1 else f"{len(rubric.names)} lines"
    return STRICTER.format(lines=lines, choice=choice, form=form)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(content: Any) -> str:
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        return "".join(_text(_mapping(part).get("text")) for part in content)
    return ""


def _count(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None
