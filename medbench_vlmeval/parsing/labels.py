"""The names a rubric asks for, and where they stand in a text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

GENERIC = ""
"""The name of a label such as "Score:" that names no dimension of its own."""

_GENERIC_WORDS = ("scores", "score", "ratings", "rating", "verdict")
_GENERIC_SIGNS = ("分数", "评分", "得分")
GENERIC_KEYS = frozenset(
    (*_GENERIC_WORDS, *_GENERIC_SIGNS, "value", "grade", "points", "finalscore")
)

_PARENTHESES = re.compile(r"[(\[{][^()\[\]{}]{0,80}[)\]}]")
_NUMBERING = re.compile(
    r"^\W*(?:(?:step|criterion|dimension|metric)?\s*(?:\d{1,2}|[a-z]|[ivx]{1,4})[.):]\s+)?"
)
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")

_OPENING = re.compile(
    r"[\s>#*+•·▪●○◦|{\[(,\"'-]*"
    r"(?:(?:(?:step|criterion|criteria|dimension|metric) )?"
    r"[([]?(?:[0-9]{1,2}|[a-z]|[ivx]{1,4})[.):\]]+ ?)*"
    r"[*\"']*(?:(?:my|the|final|revised|corrected|updated|overall) )*[\s\"'([]*",
    re.IGNORECASE,
)
_LONGEST_OPENING = 60
_LONGEST_CELL = 200


@dataclass(frozen=True)
class Label:
    """One of the names asked for (or `GENERIC`) where it stands in a line."""

    name: str
    start: int
    end: int
    opens_line: bool


def key(text: str) -> str:
    """`text` reduced to its letters and digits in one case, for comparing names."""
    return "".join(sign for sign in text.casefold() if sign.isalnum())


class Labels:
    """Finds the names of one rubric in lines, cells and keys."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = tuple(names)
        self._by_key = {key(name): name for name in names}
        alternatives = [_name_pattern(name) for name in sorted(names, key=len, reverse=True)]
        if self.single is not None:
            alternatives.append(_GENERIC_PATTERN)
        self._pattern = re.compile("|".join(alternatives), re.IGNORECASE)
        self._is_generic = self.single is not None and key(self.single) in GENERIC_KEYS

    @property
    def single(self) -> str | None:
        """The only name asked for, if there is but one."""
        return self.names[0] if len(self.names) == 1 else None

    def in_line(self, line: str) -> list[Label]:
        """The labels of a line of plain text, in order; a `GENERIC` one only where a line opens."""
        found = (
            Label(
                self._named(match[0]), match.start(), match.end(), opens_line(line, match.start())
            )
            for match in self._pattern.finditer(line)
        )
        return [label for label in found if label.name != GENERIC or label.opens_line]

    def named(self, text: str) -> str | None:
        """The name that a whole cell, key or heading is, but for numbering and brackets."""
        if len(text) > _LONGEST_CELL or not self._may_name(key(text)):
            return None
        bare = _NUMBERING.sub("", _PARENTHESES.sub("", text), count=1)
        reduced = key(bare)
        name = self._by_key.get(reduced) or self._by_key.get(_without_suffix(reduced))
        if name is None and self._is_generic and reduced in GENERIC_KEYS:
            return self.single
        return name

    def _may_name(self, reduced: str) -> bool:
        keys = GENERIC_KEYS if self._is_generic else ()
        return bool(reduced) and any(wanted in reduced for wanted in (*self._by_key, *keys))

    def _named(self, found: str) -> str:
        reduced = key(found)
        name = self._by_key.get(reduced) or self._by_key.get(_without_suffix(reduced))
        if name is None and self._is_generic:
            return self.names[0]
        return GENERIC if name is None else name


@lru_cache(maxsize=64)
def labels_of(names: tuple[str, ...]) -> Labels:
    """`Labels` for these names, made once.

    Raises:
        ValueError: no names, an empty one, or two that differ in case or punctuation only.
    """
    keys = [key(name) for name in names]
    if not names or not all(keys) or len(set(keys)) < len(keys):
        raise ValueError(f"expected distinct names with letters or digits, got {list(names)}")
    return Labels(names)


def opens_line(line: str, start: int) -> bool:
    """Whether only bullets, numbering, brackets and words like "final" stand before `start`."""
    if start > _LONGEST_OPENING:
        return False
    return _OPENING.fullmatch(line, 0, start) is not None


def is_generic_key(text: str) -> bool:
    """Whether a table header or JSON key just says "score"."""
    return key(_PARENTHESES.sub("", text)).removesuffix("010").removesuffix("10") in GENERIC_KEYS


def _without_suffix(reduced: str) -> str:
    return _SUFFIX.sub("", reduced)


def _name_pattern(name: str) -> str:
    words = re.findall(r"[^\W_]+", _CAMEL.sub(" ", name)) or [name]
    joined = _JOIN.join(map(re.escape, words))
    return rf"(?<![^\W_]){joined}(?:{_JOIN}(?:scores?|ratings?))?(?![^\W_])"


_SUFFIX = re.compile(r"(?:scores?|ratings?)$")
_JOIN = r"[ \t_-]{0,3}"
_GENERIC_PATTERN = (
    rf"(?<![^\W_])(?:{'|'.join(_GENERIC_WORDS)})(?![^\W_])|{'|'.join(_GENERIC_SIGNS)}"
)
