"""Where boxes are written in a reply, in the numbers and the order in which they stand there.

What the numbers mean is none of this module's business; `boxes` interprets them.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left
from collections.abc import Sequence
from dataclasses import dataclass

from .box_forms import (
    Order,
    Span,
    bare_runs,
    corner_pairs,
    groups_of,
    named_boxes,
    whole_reply,
)
from .box_tokens import Token, tokens_of, without_dressing
from .box_words import CORNERS, FILLERS, JOINS, KEYS, LABELS, SIGNS_BETWEEN, normalised

_NO_PROSE = LABELS | KEYS | CORNERS | JOINS | FILLERS | {"and"}
_FINAL = re.compile(
    r"\b(?:final|corrected|revised|correct|my)\s+"
    r"(?:answer|bounding\s+box|bounding|bbox|box|coordinates|result|prediction|output)\b"
    r"|\banswer(?:\s+is\b|\s*[:=])|\bfinally\b|\bcorrection\b|最终|答案",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class WrittenBox:
    """Four numbers that the reply gives as a box."""

    numbers: tuple[float, float, float, float]
    order: Order
    """``declared``: the numbers carry no names, so their order is the declared one."""
    start: int
    """Place in the text, for comparing."""


@dataclass(frozen=True)
class WrittenBoxes:
    """What a reply holds."""

    boxes: tuple[WrittenBox, ...]
    """All whole boxes in the order in which they stand."""
    answer: WrittenBox | None
    """The one that counts."""
    is_cut: bool
    """The text ends inside a list or an object."""
    has_point: bool
    """A point stands there that is no corner of a box."""
    has_words: bool
    """Words stand beside the boxes that are no mere labels."""


def written_boxes(reply: str) -> WrittenBoxes:
    """The boxes written in `reply`, and which of them is the answer.

    Boxes are: four numbers in brackets; two points, joined ("(1,2),(3,4)", "(1,2) to (3,4)") or
    labelled as corners; four named coordinates; four numbers parted by commas only; and a reply
    that is nothing else than four numbers. What the text ends inside of is no box. The answer is
    the first box after the last final-answer mark that is followed by one, or else the first box.

    Linear in the length of the reply.
    """
    text = without_dressing(reply)
    tokens = tokens_of(text)
    groups, cut = groups_of(tokens)
    corners, has_point = corner_pairs(tokens, groups, cut)
    quads = [group for group in groups if len(group.numbers) == 4]
    spans = [*quads, *corners, *bare_runs(tokens, groups, cut), *named_boxes(tokens, cut)]
    if not spans and cut is None and not has_point:
        spans = whole_reply(tokens)
    boxes = _as_boxes(tokens, spans)
    cut_start = None if cut is None else tokens[cut].start
    return WrittenBoxes(
        boxes=boxes,
        answer=_answer(boxes, [mark.end() for mark in _FINAL.finditer(text)], cut_start),
        is_cut=cut is not None,
        has_point=has_point,
        has_words=_has_words(tokens),
    )


def _as_boxes(tokens: Sequence[Token], spans: list[Span]) -> tuple[WrittenBox, ...]:
    boxes = []
    for span in sorted(spans, key=lambda span: span.first):
        a, b, c, d = span.numbers
        if all(map(math.isfinite, span.numbers)):
            boxes.append(WrittenBox((a, b, c, d), span.order, tokens[span.first].start))
    return tuple(boxes)


def _answer(
    boxes: Sequence[WrittenBox], marks: Sequence[int], cut_start: int | None
) -> WrittenBox | None:
    starts = [box.start for box in boxes]
    for mark in reversed(marks):
        following = bisect_left(starts, mark)
        if following < len(boxes):
            return boxes[following]
        if cut_start is not None and cut_start >= mark:
            return None
    return boxes[0] if boxes else None


def _has_words(tokens: Sequence[Token]) -> bool:
    depth = 0
    for token in tokens:
        depth = max(0, depth + {"open": 1, "close": -1}.get(token.kind, 0))
        if depth > 0 or token.text in SIGNS_BETWEEN:
            continue
        is_word = token.kind in ("word", "reference") or token.text.isalpha()
        if is_word and normalised(token.text) not in _NO_PROSE:
            return True
    return False
