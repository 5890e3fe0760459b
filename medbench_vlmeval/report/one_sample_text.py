"""One sample as lines for a terminal: every text whole, nothing in it able to act on the reader.

What others wrote (questions, prompts, replies) stands behind a bar on each of its lines, so that
none of it can pass for a line of ours.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from ..files import to_plain
from .safe_text import visible
from .samples import ShownImage, ShownSample

_BAR = "  | "
_LONG = 96
"""Characters from which a text stands on lines of its own."""


def headed(title: str, lines: Sequence[str]) -> list[str]:
    """A section: an empty line, its title, its lines; nothing at all without lines."""
    return ["", title, *lines] if lines else []


def quoted_lines(text: str | None, absence: str, bar: str = _BAR) -> list[str]:
    """A text of others, whole, each line behind a bar; or why there is none."""
    if text is None:
        return [f"  ({absence})"]
    if not text:
        return ["  (empty)"]
    return [f"{bar}{visible(line)}" if line else bar.rstrip() for line in text.split("\n")]


def named_lines(values: Mapping[str, Any]) -> list[str]:
    """Values by name; a mapping by its own names, a long text behind bars, nothing left out."""
    lines: list[str] = []
    for name, value in values.items():
        if isinstance(value, Mapping) and value:
            lines.append(f"  {visible(name)}:")
            lines += [f"  {line}" for line in named_lines(value)]
        elif isinstance(value, str) and (len(value) > _LONG or "\n" in value):
            lines += [f"  {visible(name)}:", *quoted_lines(value, "", bar="    | ")]
        else:
            lines.append(f"  {visible(name)}: {_short(value)}")
    return lines


def _short(value: Any) -> str:
    if isinstance(value, str):
        return visible(value) if value else '""'
    if value is None:
        return "none"
    return visible(json.dumps(to_plain(value), ensure_ascii=False))


def image_lines(images: Sequence[ShownImage]) -> list[str]:
    """Every image with its place, size, hash, and whether the file is there."""
    return [f"  [{at}] {visible(image.role)}: {_facts(image)}" for at, image in enumerate(images)]


def _facts(image: ShownImage) -> str:
    if image.found is None and image.recorded is None:
        return "the data set has none"
    size = "size unknown" if image.size_wh is None else "{} x {}".format(*image.size_wh)
    sha256 = f"sha256 {image.sha256[:12]}" if image.sha256 else "sha256 unknown"
    where = visible(str(image.found or image.recorded))
    state = "there" if image.exists else "NOT there; give its folder by --data-root"
    return f"{where}, {size}, {visible(sha256)}, {state}"


def prompt_lines(sample: ShownSample) -> list[str]:
    """The prompt in the order sent, images by their place among the sample's."""
    note = visible(sample.prompt_note)
    if sample.prompt is None:
        return [f"  ({note or 'not known'})"]
    lines = [f"  ({note})"] if note else []
    for part in sample.prompt:
        if isinstance(part, str):
            lines += quoted_lines(part, "")
        else:
            lines.append(f"  {_mark(part, sample.images)}")
    return lines


def _mark(position: int, images: Sequence[ShownImage]) -> str:
    if not 0 <= position < len(images):
        return f"[{position}] no such image among the sample's"
    image = images[position]
    name = (image.found or image.recorded or Path("?")).name
    return f"[{position}] {visible(image.role)}: {visible(name)}"


def score_lines(scores: Mapping[str, Any]) -> list[str]:
    """Every score with its status and note."""
    width = max((len(visible(name)) for name in scores), default=0)
    return [f"  {visible(name):{width}}  {_score(score)}" for name, score in scores.items()]


def _score(score: Any) -> str:
    if not isinstance(score, Mapping):
        return _short(score)
    parts = [_short(score.get("value")), _short(score.get("status"))]
    parts += ["the model's fault"] if score.get("model_fault") else []
    parts += [_short(score["note"])] if score.get("note") else []
    return ", ".join(parts)


def judge_lines(replies: Sequence[Mapping[str, Any]]) -> list[str]:
    """Every attempt: what it was asked, what came back, what was read."""
    if not replies:
        return ["  (none)"]
    lines: list[str] = []
    for reply in replies:
        lines += _attempt(reply)
    return lines


def _attempt(reply: Mapping[str, Any]) -> Iterator[str]:
    names = ("key", "repeat", "attempt", "status", "note", "model_returned", "cached", "call_id")
    facts = {name: reply[name] for name in names if reply.get(name) not in (None, "")}
    yield f"  {', '.join(f'{name} {_short(value)}' for name, value in facts.items())}"
    for message in reply.get("messages") or ():
        yield f"    asked as {_short(message.get('role'))}:"
        for part in message.get("content") or ():
            yield from (f"  {line}" for line in _message_part(part))
    yield "    replied:"
    yield from (f"  {line}" for line in quoted_lines(reply.get("reply"), "no text"))
    if reply.get("refusal"):
        yield f"    refusal: {_short(reply['refusal'])}"


def _message_part(part: Mapping[str, Any]) -> list[str]:
    if part.get("type") == "text":
        return quoted_lines(str(part.get("text")), "")
    facts = {name: value for name, value in part.items() if name != "type"}
    told = ", ".join(f"{name} {_short(value)}" for name, value in facts.items())
    return [f"  [{_short(part.get('type'))}: {told}]"]


def file_lines(files: Mapping[str, Path]) -> list[str]:
    """Where each file is."""
    return [
        f"  {visible(name)}: {visible(str(path))}{'' if path.is_file() else ' (NOT there)'}"
        for name, path in files.items()
    ]
