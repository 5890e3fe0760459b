"""A rubric's scale, and reading the number at one place of a text on that scale."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import dataclass
from enum import Enum, auto

_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]+|,[0-9]{1,2}(?![0-9,]))?)")
_UNSIGNED = re.compile(r"[0-9]+(?:[.,][0-9]+)?")
_CLOSERS = re.compile(r"[\])}>\"'_]*")

_DENOMINATOR = re.compile(
    r"\s*(?:/|(?:points? |stars? )?out of\b(?: an?\b)?"
    r"(?: possible\b| maximum\b(?: of)?| total of\b)?|of\b)"
    r"\s*[\[({]?(?P<top>[0-9]+(?:[.][0-9]+)?|two|three|four|five|ten)(?![0-9a-z])[\])}]?"
    r"|\s*,? on (?:a|the) (?:scale (?:of|from) )?(?:[0-9]+\s*(?:-|to)\s*)?"
    r"(?P<scale>[0-9]+)(?:[- ]point)?(?: scale)?",
    re.IGNORECASE,
)
_JOINT = re.compile(
    r"(?P<tight>[-/|~])(?=[0-9])"
    r"|\s*(?:[,;]\s*(?:(?:maybe|perhaps|possibly|or|and|to)\s+)*|(?:and|to|or even|or|through)\s+"
    r"|(?:->|=>|→|⇒|±|\+/-|[-/|~]|至|到|或)\s*)(?=[0-9])",
    re.IGNORECASE,
)

_NUMBER_WORDS = {"two": 2.0, "three": 3.0, "four": 4.0, "five": 5.0, "ten": 10.0}

# "1 point for noise and 1 point for blur" are parts of a score.
_UNIT = re.compile(r"\s*(?:points?(?! for\b)|pts?|stars?|marks?|分|点)(?![a-z])", re.IGNORECASE)
_SAME_IN_PERCENT = re.compile(r"\s?(?:=|or)\s?[0-9.]{1,6}\s?%")
# A number followed by any other lower-case word counts something: "3 moles were removed".
_AFTER_VALUE = re.compile(
    r"(?:because|since|as(?! (?:if|though)\b)|for|due|but|with|and|given|although|though|while|"
    r"however|so|where|which|reflecting|indicating|owing|overall|final|total|on|based|considering|"
    r"despite|thus|hence|therefore|after|compared|relative|to (?:this|that|the|it|each))\b"
)
_STATED_SCALE = re.compile(
    r"(?P<low>[0-9]+(?:\.[0-9]+)?)\s*(?:-|to|~)\s*(?P<high>[0-9]+(?:\.[0-9]+)?)"
    r"|(?:/|\bout of\b|\bmax(?:imum)?\b[ .:=]*(?:of )?|\bup to\b|\bscale of\b)\s*"
    r"(?P<top>[0-9]+(?:\.[0-9]+)?)"
    r"|(?P<points>[0-9]+)[- ]point",
    re.IGNORECASE,
)


class Kind(Enum):
    """What stands at a place of the text."""

    VALUE = auto()
    """One number of the scale."""
    UNUSABLE = auto()
    """Meant as a score, but a range, off the scale, on another scale, or no single number."""
    SCALE = auto()
    """The scale itself, restated."""
    NOTHING = auto()
    """No score: no number, or one that counts something else."""


@dataclass(frozen=True)
class Found:
    """The reading of one place, and where in the text it ends."""

    kind: Kind
    end: int
    value: float | None = None
    has_denominator: bool = False


@dataclass(frozen=True)
class Scale:
    """The numbers a rubric offers: all from `low` to `high`, or only those `allowed`."""

    low: float
    high: float
    allowed: frozenset[float] | None = None

    @classmethod
    def of(cls, low: float, high: float, allowed: Collection[float] | None) -> Scale:
        """A checked scale.

        Raises:
            ValueError: `low` is not below `high`, or `allowed` leaves the scale.
        """
        if not (math.isfinite(low) and math.isfinite(high) and low < high):
            raise ValueError(f"expected finite low < high, got low={low!r}, high={high!r}")
        values = None if allowed is None else frozenset(float(value) for value in allowed)
        if values is not None and (not values or min(values) < low or max(values) > high):
            raise ValueError(f"expected allowed values in [{low}, {high}], got {sorted(values)}")
        return cls(float(low), float(high), values)

    def value(self, number: float) -> float | None:
        """`number` if the rubric offers it, else None."""
        if self.allowed is not None:
            return number if number in self.allowed else None
        return number if self.low <= number <= self.high else None

    def states_other(self, text: str) -> bool:
        """Whether a text such as "(1-5)" or "out of 100" names a scale with another top."""
        stated = _STATED_SCALE.search(text)
        if stated is None:
            return False
        top = stated["high"] or stated["top"] or stated["points"]
        return float(top) != self.high


def read_number(text: str, position: int, scale: Scale) -> Found:
    """The score at `position`, where a number has to start.

    Reads on over denominators, ranges and lists as far as they belong to the number; cost is linear
    in what it reads.
    """
    number = _NUMBER.match(text, position)
    if number is None:
        return Found(Kind.NOTHING, position)
    first = _as_float(number[0])
    end = _past_closers(text, number.end())
    denominator = _DENOMINATOR.match(text, end)
    if denominator:
        end = _past_closers(text, denominator.end())
    last, end, is_list = _past_list(text, end)
    end = _past_unit(text, end)
    if denominator and (percent := _SAME_IN_PERCENT.match(text, end)):
        end = percent.end()
    follower = _follower(text, end)
    if follower is not Kind.VALUE:
        return Found(follower, end, has_denominator=denominator is not None)
    if is_list:
        spans_scale = first in (scale.low, scale.low + 1) and last == scale.high
        return Found(Kind.SCALE if spans_scale else Kind.UNUSABLE, end)
    if denominator and _top(denominator) != scale.high:
        return Found(Kind.UNUSABLE, end)
    value = scale.value(first)
    kind = Kind.UNUSABLE if value is None else Kind.VALUE
    return Found(kind, end, value, has_denominator=denominator is not None)


def _past_list(text: str, end: int) -> tuple[float, int, bool]:
    """Last number, end, and whether more numbers are joined to the one that ends at `end`."""
    last, is_list = math.nan, False
    while joint := _JOINT.match(text, end):
        number = _UNSIGNED.match(text, joint.end())
        if number is None:
            break
        after = _past_closers(text, number.end())
        denominator = _DENOMINATOR.match(text, after)
        if denominator and joint["tight"] is None:
            after = _past_closers(text, denominator.end())
        if joint["tight"] is None and _counts_something(text, after):
            # "8 - 3 moles remain"
            break
        last, is_list, end = _as_float(number[0]), True, after
    return last, end, is_list


def _counts_something(text: str, end: int) -> bool:
    if _follower(text, _past_unit(text, end)) is not Kind.NOTHING:
        return False
    # "10 - 2 = 8" is a sum, and "0, 1 or 2" goes on.
    return _JOINT.match(text, end) is None and not text[end : end + 4].lstrip().startswith("=")


def _follower(text: str, end: int) -> Kind:
    """What the text after a number makes of it."""
    if end >= len(text):
        return Kind.VALUE
    sign = text[end]
    if sign in "%+‰/\\" or sign.isnumeric():
        return Kind.UNUSABLE
    if sign in ".,:" and text[end + 1 : end + 2].isdigit():
        return Kind.UNUSABLE
    if sign.isascii() and sign.isalpha():
        return Kind.NOTHING
    if not sign.isspace():
        return Kind.NOTHING if sign in "=°^×*⁄" else Kind.VALUE
    rest = text[end : end + 40].lstrip()
    if rest[:1] in ("%", "±") or rest[:1].isnumeric():
        return Kind.UNUSABLE
    if rest[:1] in ("=", "×"):
        return Kind.NOTHING
    if rest[:1].isalpha() and rest[0].islower() and not _AFTER_VALUE.match(rest):
        return Kind.NOTHING
    return Kind.VALUE


def _past_closers(text: str, end: int) -> int:
    closers = _CLOSERS.match(text, end)
    return closers.end() if closers else end


def _past_unit(text: str, end: int) -> int:
    unit = _UNIT.match(text, end)
    return unit.end() if unit else end


def _top(denominator: re.Match[str]) -> float:
    word = (denominator["top"] or denominator["scale"]).lower()
    return _NUMBER_WORDS[word] if word in _NUMBER_WORDS else float(word)


def _as_float(number: str) -> float:
    return float(number.replace(",", "."))
