"""Verdicts in JSON objects and Python dictionaries inside a reply."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from .labels import Labels, is_generic_key
from .marks import Mark, Strength
from .scale import Kind, Scale, read_number

_DEEPEST = 16
_LONGEST_LITERAL = 20_000
_NAMING_KEYS = {"name", "criterion", "criteria", "dimension", "metric", "aspect", "category"}
_NUMBER_START = re.compile(r"\s*(?=[-+]?[0-9])")


class Region(NamedTuple):
    """A balanced pair of braces that lies in no other pair."""

    start: int
    end: int


class _Pairs(list):
    """The members of an object in order; unlike a dict it keeps a key that comes twice."""


def object_marks(text: str, labels: Labels, scale: Scale) -> tuple[list[Mark], str]:
    """The verdicts in readable objects of `text`, and `text` with those objects blanked out.

    Objects that cannot be read (cut off, with comments, templates) stay for the readers of lines.
    """
    marks: list[Mark] = []
    pieces: list[str] = []
    position, line = 0, 0
    for region in _outermost(text):
        source = text[region.start : region.end]
        line += text.count("\n", position, region.start)
        pieces.append(text[position : region.start])
        value = _read(source)
        found = [] if value is None else list(_verdicts(value, labels, scale, owner=None))
        marks += [Mark(name, score, Strength.LABELLED, (line, 0)) for name, score in found]
        pieces.append("\n" * source.count("\n") if found else source)
        line += source.count("\n")
        position = region.end
    pieces.append(text[position:])
    return marks, "".join(pieces)


def _outermost(text: str) -> list[Region]:
    open_at: list[int] = []
    closed: list[Region] = []
    for brace in re.finditer(r"[{}]", text):
        if brace[0] == "{":
            open_at.append(brace.start())
        elif open_at:
            start = open_at.pop()
            while closed and closed[-1].start > start:
                closed.pop()
            closed.append(Region(start, brace.end()))
    return closed


def _nesting(source: str) -> int:
    """How deep brackets nest, at most; those inside texts are counted too."""
    depth = deepest = 0
    for bracket in re.finditer(r"[][{}]", source):
        depth += 1 if bracket[0] in "[{" else -1
        deepest = max(deepest, depth)
    return deepest


def _read(source: str) -> Any:
    if ":" not in source or _nesting(source) > _DEEPEST:
        return None
    try:
        return json.loads(source, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError):
        return _read_literal(source)


def _read_literal(source: str) -> Any:
    if len(source) > _LONGEST_LITERAL:
        return None
    try:
        value = ast.literal_eval(source)
    except (ValueError, SyntaxError, TypeError, RecursionError, MemoryError):
        return None
    return _as_pairs(value)


def _as_pairs(value: Any) -> Any:
    if isinstance(value, dict):
        return _Pairs((key, _as_pairs(item)) for key, item in value.items())
    if isinstance(value, (list, tuple)):
        return [_as_pairs(item) for item in value]
    return value


def _verdicts(
    value: Any, labels: Labels, scale: Scale, owner: str | None
) -> Iterator[tuple[str, float | None]]:
    """Names and values in a tree; `owner` is the name whose object this is."""
    if isinstance(value, _Pairs):
        owner = _announced_name(value, labels) or owner
        for key, item in value:
            name = labels.named(key) if isinstance(key, str) else None
            if name is not None and not isinstance(item, (_Pairs, list)):
                yield name, _score(item, scale)
            elif name is not None:
                yield from _verdicts(item, labels, scale, owner=name)
            elif isinstance(item, (_Pairs, list)):
                yield from _verdicts(item, labels, scale, owner=None)
            elif isinstance(key, str) and is_generic_key(key) and (owner or labels.single):
                yield owner or str(labels.single), _score(item, scale)
    elif isinstance(value, list):
        for item in value:
            yield from _verdicts(item, labels, scale, owner=None)


def _announced_name(pairs: _Pairs, labels: Labels) -> str | None:
    names = {
        labels.named(item)
        for key, item in pairs
        if isinstance(key, str) and key.casefold() in _NAMING_KEYS and isinstance(item, str)
    }
    names.discard(None)
    return names.pop() if len(names) == 1 else None


def _score(item: Any, scale: Scale) -> float | None:
    if isinstance(item, bool) or item is None:
        return None
    if isinstance(item, (int, float)):
        return scale.value(float(item)) if scale.low <= item <= scale.high else None
    if not isinstance(item, str):
        return None
    start = _NUMBER_START.match(item)
    found = read_number(item.split("\n", 1)[0], start.end(), scale) if start else None
    return found.value if found is not None and found.kind is Kind.VALUE else None
