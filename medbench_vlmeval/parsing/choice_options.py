"""Where the whole text of an option stands in a reply."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass

from .choice_text import Words, choice_text

_DENIED_BEFORE = re.compile(
    r"\b(?:not|no|never|neither|nor|without|rather than|instead of|cannot|\w+n't|nicht|kein\w*|pas|"
    r"free of|absence of|lack of|less than|than)"
    r"(?:\s(?:a|an|the|any|be|really|very|truly|considered|called|classified|graded|rated|deemed|"
    r"regarded|as|of|to|quite|just|merely|only|evidence|signs?|visible|sufficiently|entirely|"
    r"show|shows|have|contain|see)){0,4}\s[\"'(]*$",
    re.IGNORECASE,
)
_DENIED_AFTER = re.compile(
    r"[\"')]*\s(?:is|are|was|were|can be|seems?|would be)\s(?:clearly |also |therefore )?(?:not|"
    r"absent|incorrect|wrong|unlikely|excluded|ruled out|missing|out\b)|"
    r"[\"')]*\s(?:\w+n't|cannot|does not)\b",
    re.IGNORECASE,
)
_LOOK_BACK = 60
_NEGATIVES = ("no", "non", "nein", "não", "nao")


@dataclass(frozen=True)
class OptionText:
    """One place at which the whole text of an option stands."""

    letters: frozenset[str]
    """The option, or all that say the same."""
    first: int
    """Its first word, and `last` the one after its last."""
    last: int
    start: int
    end: int


class OptionTexts:
    """The texts of a row's options, ready to be looked for."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self.letters: dict[str, set[str]] = {}
        for letter, option in options.items():
            plain = _reduced(choice_text(option))
            if plain and not re.fullmatch("[a-z]", plain):
                self.letters.setdefault(plain, set()).add(letter)
        longest_first = sorted(self.letters, key=len, reverse=True)
        alternatives = "|".join(
            r"[\s-]{1,3}".join(re.escape(part) for part in re.split(r"[\s-]+", plain) if part)
            for plain in longest_first
        )
        self._pattern = re.compile(
            rf"(?<![^\W_])(?<![^\W_]{{2}}[-'])(?<!\d[.,])(?:{alternatives})(?![^\W_])(?![-'][^\W_])"
            r"(?![.,]\d)",
            re.IGNORECASE,
        )

    def places(self, words: Words) -> list[OptionText]:
        """Where option texts stand; of texts that contain each other, the longest."""
        if not self.letters:
            return []
        found = (self._place(words, match) for match in self._pattern.finditer(words.text))
        return [place for place in found if place.letters]

    def _place(self, words: Words, match: re.Match[str]) -> OptionText:
        # A sign that only ignoring case makes equal ("ſ" and "s") is not the option's text.
        letters = self.letters.get(_reduced(match[0]), set())
        first = bisect_left(words.starts, match.start())
        last = bisect_left(words.starts, match.end())
        return OptionText(frozenset(letters), first, last, match.start(), match.end())


def is_denied(place: OptionText, text: str) -> bool:
    """Whether the words around an option's text say that it does not hold."""
    before = text[max(0, place.start - _LOOK_BACK) : place.start]
    if _DENIED_BEFORE.search(before):
        return True
    return _DENIED_AFTER.match(text, place.end, place.end + _LOOK_BACK) is not None


def is_determiner(place: OptionText, words: Words) -> bool:
    """Whether the text is a "no" that belongs to the word after it ("no artifact")."""
    if place.last - place.first != 1 or words.at(place.first) not in _NEGATIVES:
        return False
    after = words.at(place.last)
    return bool(after) and after[0].isalnum()


def _reduced(option: str) -> str:
    plain = re.sub(r"[\s-]+", " ", option.lower()).strip(" .,;:!?\"'`")
    if plain.startswith("(") and plain.endswith(")"):
        plain = plain[1:-1]
    return plain
