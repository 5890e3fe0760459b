"""The forms in which a box is written: brackets, pairs of corners, names, bare numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from .box_tokens import Token
from .box_words import (
    CORNER_KEYS,
    CORNERS,
    FILLERS,
    JOINS,
    KEYS,
    LABELS,
    SIGNS_BETWEEN,
    SIZE_KEYS,
    normalised,
)

_LONGEST_GAP = 12
_LABEL_REACH = 4
_NAMED_POINT_LENGTH = 6
_BETWEEN_CORNERS = CORNERS | JOINS | FILLERS | KEYS | {"and"}
_CORNER_LABELS = CORNERS | KEYS | {"between"}
_NEUTRAL_WORDS = LABELS | KEYS

Order = Literal["declared", "xyxy", "xywh"]

_NAMED_ORDERS: tuple[tuple[tuple[tuple[str, ...], ...], Order], ...] = (
    (CORNER_KEYS, "xyxy"),
    (SIZE_KEYS, "xywh"),
)


@dataclass(frozen=True)
class Span:
    """Tokens that make a box, a point or another group of numbers."""

    first: int
    last: int
    numbers: tuple[float, ...]
    order: Order = "declared"


def groups_of(tokens: Sequence[Token]) -> tuple[list[Span], int | None]:
    """Brackets that hold numbers only, and the token at which an unfinished list begins."""
    groups: list[Span] = []
    open_at: list[int] = []
    pure = False
    for place, token in enumerate(tokens):
        if token.kind == "open":
            open_at.append(place)
            pure = True
        elif token.kind == "close":
            start = open_at.pop() if open_at else None
            if start is not None and pure:
                inside = tokens[start + 1 : place]
                numbers = tuple(it.value for it in inside if it.kind == "number")
                groups.append(Span(start, place, numbers))
            pure = False
        elif token.kind not in ("number", "separator"):
            pure = False
    return groups, _unfinished(tokens, open_at)


def _unfinished(tokens: Sequence[Token], open_at: list[int]) -> int | None:
    if not tokens:
        return None
    last = tokens[-1]
    ends_in_list = last.kind == "number" or last.text == ","
    for place in reversed(open_at):
        begins_list = place + 1 < len(tokens) and tokens[place + 1].kind == "number"
        if tokens[place].text != "(" or begins_list or ends_in_list:
            return place
    if last.text == "," and len(tokens) > 1 and tokens[-2].kind == "number":
        return len(tokens) - 1
    return None


def corner_pairs(
    tokens: Sequence[Token], groups: list[Span], cut: int | None
) -> tuple[list[Span], bool]:
    """Boxes made of two points, and whether a point is left over."""
    points = [group for group in groups if len(group.numbers) == 2]
    points = sorted([*points, *_named_points(tokens, cut)], key=lambda point: point.first)
    pairs: list[Span] = []
    is_lone = False
    place = 0
    while place < len(points):
        one, *others = points[place : place + 2]
        if others and _are_joined(tokens, one, others[0]):
            order: Order = "xyxy" if tokens[one.first].kind == "word" else "declared"
            numbers = one.numbers + others[0].numbers
            pairs.append(Span(one.first, others[0].last, numbers, order))
            place += 2
        else:
            is_lone = True
            place += 1
    return pairs, is_lone


def _named_points(tokens: Sequence[Token], cut: int | None) -> Iterator[Span]:
    x: int | None = None
    for place, token in enumerate(tokens):
        if token.kind != "word" or token.text.lower() not in ("x", "y"):
            continue
        number = _number_of_key(tokens, place)
        if cut is not None and number == len(tokens) - 1:
            return
        if token.text.lower() == "x":
            x = None if number is None else place
        elif x is not None and number is not None and place - x <= _NAMED_POINT_LENGTH:
            across = _number_of_key(tokens, x)
            if across is not None:
                yield Span(x, number, (tokens[across].value, tokens[number].value))
            x = None


def _are_joined(tokens: Sequence[Token], one: Span, other: Span) -> bool:
    between = tokens[one.last + 1 : min(other.first, one.last + 2 + _LONGEST_GAP)]
    if len(between) > _LONGEST_GAP:
        return False
    words = {normalised(it.text) for it in between if it.kind == "word"}
    signs = {it.text for it in between if it.kind == "sign"}
    if any(it.kind in ("number", "reference") for it in between):
        return False
    if not (signs <= SIGNS_BETWEEN and words <= _BETWEEN_CORNERS):
        return False
    before = tokens[max(0, one.first - _LABEL_REACH) : one.first]
    labels = words.union(normalised(it.text) for it in before) & _CORNER_LABELS
    if tokens[one.first].kind == "word":
        # Named x and y may be points of a list.
        return bool(labels)
    return not words or bool(labels) or not JOINS.isdisjoint(words)


def bare_runs(tokens: Sequence[Token], groups: list[Span], cut: int | None) -> Iterator[Span]:
    """Four numbers with commas between them, outside brackets of their own."""
    in_group = bytearray(len(tokens))
    for group in groups:
        in_group[group.first : group.last + 1] = b"\x01" * (group.last + 1 - group.first)
    place = 0
    while place < len(tokens):
        first = place
        place += 1
        if tokens[first].kind != "number" or in_group[first]:
            continue
        while _continues(tokens, place) and not in_group[place]:
            place += 2
        numbers = tuple(it.value for it in tokens[first:place] if it.kind == "number")
        ends_cut = cut is not None and (place == len(tokens) or place == cut)
        if len(numbers) == 4 and not ends_cut:
            yield Span(first, place - 1, numbers)


def _continues(tokens: Sequence[Token], place: int) -> bool:
    following = tokens[place : place + 2]
    return len(following) == 2 and following[0].text == "," and following[1].kind == "number"


def named_boxes(tokens: Sequence[Token], cut: int | None) -> Iterator[Span]:
    """Four coordinates that are given by name, in any order."""
    seen: dict[str, float] = {}
    first = 0
    for place, token in enumerate(tokens):
        key = normalised(token.text) if token.kind == "word" else ""
        number = _number_of_key(tokens, place) if key in KEYS else None
        if number is None or (cut is not None and number == len(tokens) - 1):
            continue
        if key in seen or not seen:
            seen, first = {}, place
        seen[key] = tokens[number].value
        for families, order in _NAMED_ORDERS:
            family = next((names for names in families if seen.keys() >= {*names}), None)
            if family:
                yield Span(first, number, tuple(seen[name] for name in family), order)
                seen = {}
                break


def _number_of_key(tokens: Sequence[Token], place: int) -> int | None:
    following = place + 1
    if following < len(tokens) and tokens[following].text.lower() in (":", "=", "is"):
        following += 1
    is_number = following < len(tokens) and tokens[following].kind == "number"
    return following if is_number else None


def whole_reply(tokens: Sequence[Token]) -> list[Span]:
    """The reply as one box, if it is nothing else than four numbers."""
    numbers = tuple(it.value for it in tokens if it.kind == "number")
    if len(numbers) != 4 or not all(map(_is_neutral, tokens)):
        return []
    return [Span(0, len(tokens) - 1, numbers)]


def _is_neutral(token: Token) -> bool:
    if token.kind == "word":
        return normalised(token.text) in _NEUTRAL_WORDS
    return token.kind != "reference" and (token.kind != "sign" or token.text in "-.")
