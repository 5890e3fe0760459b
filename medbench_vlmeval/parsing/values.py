"""Finding the score in a piece of text: right after a label, alone, or in running words."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence

from .scale import Found, Kind, Scale, read_number

_BLANKS = re.compile(r"[\s_\"'\[\]{})]*")
_CONNECTOR = re.compile(
    r"(?:[|:]|={1,3}>|-{1,3}>|→|⇒|=|-(?![0-9])|[~≈,](?=\s?[0-9])"
    r"|(?:scores?|ratings?|rated|grade|value|points|final|is|was|are|at|as|of|to|an?|about|around|"
    r"approximately|roughly|equals?|gets?|receives?|deserves?|earns?)(?![^\W_])"
    r"|分数|评分|得分|为|是)",
    re.IGNORECASE,
)
_SEPARATORS = frozenset("|:=")
_PARENTHESIS = re.compile(r"[(\[]([^()\[\]]{0,80})[)\]]")
_OTHER_IMAGE = re.compile(
    r"\b(?:reference|ground truth|original|input|previous|before|source)\b", re.IGNORECASE
)
_BOUND = re.compile(r"(?:[<>]=?|≤|≥|±)\s*[0-9]")
_BRACKETED = re.compile(r"<\s?(?=[0-9.,/| -]{1,20}>)")
_NUMBER_START = re.compile(
    r"(?<![\w.,/%-])[-+]?[0-9]"
    r"(?P<over>(?=[0-9.,]{0,9}[\])}\"'_]{0,3}\s?(?:/|(?:points? )?out of\b|of\b|on (?:a|the)\b)))?",
    re.IGNORECASE,
)
_RATING_VERB = re.compile(
    r"\b(?:rate[sd]?|rating|giv(?:e|es|en|ing)|gave|scor(?:e|es|ed|ing)|assign(?:s|ed|ing)?|"
    r"award(?:s|ed|ing)?|deserves?|merits?|earns?|receives?|grade[sd]?|grading)\b",
    re.IGNORECASE,
)
_RATING_OBJECT = re.compile(r"(?: [a-z'’\"…]+){0,6}[ :=\"'\[(]*", re.IGNORECASE)
_DENIAL = re.compile(
    r"\b(?:not|never|cannot|\w+n't|if|could|might|unless|instead|than|max\w*|min\w*|perfect|"
    r"deduct\w*|los[et]\w*|lost|subtract\w*|minus|drop\w*|at least|at most|up to|under|over|below|"
    r"above|previous\w*|originally|reference|ground)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[.;,:()!?|-]\s")
_CLAUSE_WINDOW = 80

_BULLET = re.compile(r"[\s>#+•·▪●○◦|\-]*")
_VALUE_END = re.compile(r"[\s.!;,|]*$")


def after_bullet(line: str) -> int:
    """Where the text of a line begins, behind bullets and quotation marks of Markdown."""
    bullet = _BULLET.match(line)
    end = bullet.end() if bullet else 0
    # "-1" is a number, "- 1" an item.
    return end - 1 if end and line[end - 1] == "-" and line[end : end + 1].isdigit() else end


def whole_value(text: str, scale: Scale) -> Found | None:
    """The reading of a text that is nothing but one score, else None."""
    reading = adjacent_value(text, after_bullet(text), scale)
    is_meant = reading.kind in (Kind.VALUE, Kind.UNUSABLE)
    return reading if is_meant and _VALUE_END.match(text, reading.end) else None


def adjacent_value(text: str, position: int, scale: Scale) -> Found:
    """What follows a label directly: only separators, brackets and linking words in between."""
    is_separated = False
    inside: Found | None = None
    while True:
        position = _skip(_BRACKETED, text, _skip(_BLANKS, text, position))
        if parenthesis := _PARENTHESIS.match(text, position):
            position = parenthesis.end()
            inside = _inside(parenthesis[1], position, scale) or inside
            if inside is not None and inside.kind is not Kind.VALUE:
                return inside
        elif connector := _CONNECTOR.match(text, position):
            position = connector.end()
            is_separated = is_separated or connector[0] in _SEPARATORS
        else:
            reading = _number_at(text, position, scale)
            if reading.kind is not Kind.SCALE or is_separated:
                return _agreed(inside, reading)
            # "Score 0-2: 1" restates the scale before the separator.
            position = reading.end


def _inside(content: str, end: int, scale: Scale) -> Found | None:
    """What a parenthesis between label and value says; None if it does not matter."""
    if _OTHER_IMAGE.search(content):
        return Found(Kind.NOTHING, end)
    if read_number(content, _skip(_BLANKS, content, 0), scale).kind is Kind.SCALE:
        return None
    reading = adjacent_value(content, 0, scale)
    if reading.kind is Kind.VALUE and _VALUE_END.match(content, reading.end):
        return Found(Kind.VALUE, end, reading.value, reading.has_denominator)
    if scale.states_other(content):
        return Found(Kind.UNUSABLE, end)
    return None


def _agreed(inside: Found | None, reading: Found) -> Found:
    if inside is None:
        return reading
    if reading.kind in (Kind.VALUE, Kind.UNUSABLE) and reading.value != inside.value:
        return Found(Kind.UNUSABLE, reading.end)
    return inside


def _number_at(line: str, position: int, scale: Scale) -> Found:
    if _BOUND.match(line, position):
        return Found(Kind.UNUSABLE, position)
    return read_number(line, position, scale)


def prose_value(text: str, position: int, scale: Scale, *, needs_cue: bool = False) -> Found | None:
    """The one score in a stretch of running text, None if there is none.

    A number counts if it stands over the top of the scale or after a rating verb, and if its clause
    does not deny it ("not 7/10"). Two different ones are unusable. With `needs_cue` the verb has to
    be there.
    """
    found: Found | None = None
    verb_ends = [verb.end() for verb in _RATING_VERB.finditer(text)]
    while start := _NUMBER_START.search(text, position):
        position = start.end()
        is_rated = _is_rated(text, start.start(), verb_ends, as_verb=needs_cue)
        if not is_rated and (needs_cue or start["over"] is None):
            continue
        reading = read_number(text, start.start(), scale)
        position = max(reading.end, position)
        is_score = reading.kind is Kind.VALUE and (is_rated or reading.has_denominator)
        if not is_score or _DENIAL.search(_clause_before(text, start.start())):
            continue
        if found is not None and found.value != reading.value:
            return Found(Kind.UNUSABLE, reading.end)
        found = reading
    return found


def _is_rated(text: str, start: int, verb_ends: Sequence[int], *, as_verb: bool) -> bool:
    """Whether a rating verb stands before `start` with nothing but its object in between.

    With `as_verb`, "score: 8" and "rating = 8" do not count: they may belong to any name.
    """
    nearest = bisect_right(verb_ends, start) - 1
    if nearest < 0 or start - verb_ends[nearest] > _CLAUSE_WINDOW:
        return False
    between = text[verb_ends[nearest] : start]
    if as_verb and (":" in between or "=" in between):
        return False
    return _RATING_OBJECT.fullmatch(between) is not None


def _clause_before(text: str, start: int) -> str:
    clause = text[max(0, start - _CLAUSE_WINDOW) : start]
    return _CLAUSE.split(clause)[-1]


def _skip(pattern: re.Pattern[str], line: str, position: int) -> int:
    match = pattern.match(line, position)
    return match.end() if match else position
