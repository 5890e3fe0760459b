"""Verdicts found in a reply, and which of them counts."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum

_CUE = re.compile(
    r"\b(?:actually|correction|corrected|correct (?:score|rating|value)s?|revis(?:e|ed|ing|ion)|"
    r"updat(?:e|ed|ing)|adjust(?:ed|ing)|reconsider\w*|on (?:second thoughts?|reflection)|"
    r"i mean|i meant|wait|scratch that|final(?:ly)?|"
    r"my (?:own )?(?:verdict|scores?|ratings?|judge?ment))\b"
    r"|更正|修正|最终|最后",
    re.IGNORECASE,
)
_SCORING = re.compile(
    r"\b(?:scor|rating|rate\b|evaluation|assessment|verdict|grade|judge?ment|answer)|分",
    re.IGNORECASE,
)
_LONGEST_ANNOUNCEMENT = 100
_LINE_START = 4

Place = tuple[int, int]
"""Line and column."""


class Strength(IntEnum):
    """How plainly a verdict is marked as one."""

    BARE = 0
    """A number without the name, where only one number was asked for."""
    PROSE = 1
    """The name somewhere in a sentence."""
    LABELLED = 2
    """The name at the start of a line, in a table row or as a key."""


@dataclass(frozen=True)
class Mark:
    """One verdict: a value for a name, or None where the judge gave something unusable."""

    name: str
    value: float | None
    strength: Strength
    place: Place


def has_cue(text: str, position: int) -> bool:
    """Whether a word of correction stands in `text` from `position` on."""
    return _CUE.search(text, position) is not None


def correction_cues(line: str, number: int, label_spans: Sequence[tuple[int, int]]) -> list[Place]:
    """Places at which the judge announces that what follows replaces what came before.

    Beside verdicts a cue counts if it stands before the label ("Actually, Visual Quality: 6"); a
    line without verdicts counts if it announces ("Final scores:"), not if it tells.
    """
    if not label_spans:
        return [(number, 0)] if _announces(line) else []
    cues = []
    begin = 0
    for start, end in label_spans:
        if _CUE.search(line, begin, end):
            cues.append((number, start))
        begin = end
    return cues


def _announces(line: str) -> bool:
    cue = _CUE.search(line)
    if cue is None:
        return False
    if line.rstrip().endswith(":") or line.startswith("#"):
        return True
    is_short = len(line) <= _LONGEST_ANNOUNCEMENT
    return is_short and (cue.start() < _LINE_START or _SCORING.search(line) is not None)


def verdict(marks: Iterable[Mark], cues: Sequence[Place]) -> float | None:
    """The value that the marks of one name agree on, None if they do not.

    Marks after the last correction cue replace earlier ones. A labelled verdict replaces what was
    said in prose before it, not what comes after.
    """
    ordered = sorted(marks, key=lambda mark: mark.place)
    if not ordered:
        return None
    ordered = _latest_revision(ordered, cues)
    strongest = max(mark.strength for mark in ordered)
    if strongest is not Strength.BARE:
        ordered = [mark for mark in ordered if mark.strength is not Strength.BARE]
    if strongest is Strength.LABELLED:
        ordered = _from_last_labelled_on(ordered)
    values = {mark.value for mark in ordered}
    return values.pop() if len(values) == 1 else None


def _latest_revision(ordered: list[Mark], cues: Sequence[Place]) -> list[Mark]:
    revisions = [bisect_left(cues, (mark.place[0], mark.place[1] + 1)) for mark in ordered]
    latest = max(revisions)
    return [mark for mark, revision in zip(ordered, revisions, strict=True) if revision == latest]


def _from_last_labelled_on(ordered: list[Mark]) -> list[Mark]:
    last = max(n for n, mark in enumerate(ordered) if mark.strength is Strength.LABELLED)
    return [
        mark
        for n, mark in enumerate(ordered)
        if mark.strength is Strength.LABELLED or (n > last and mark.value is not None)
    ]
