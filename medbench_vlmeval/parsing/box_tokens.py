"""A reply about a box as a list of tokens: numbers, words, brackets, signs."""

from __future__ import annotations

import re
from typing import NamedTuple

from .box_words import BOX_TAGS, KEYS, NUMBERED, UNITS, normalised
from .plain_text import folded

_FENCE = re.compile(r"```[A-Za-z]*")
_TAG = re.compile(r"<(/?)([A-Za-z|][^<>\n]{0,80})>")
_BOXED = re.compile(r"\\boxed\b")
_LATEX_WORD = re.compile(r"\\[A-Za-z]+")
_DROPPED = dict.fromkeys(map(ord, "*`\"'“”‘’\\$"), " ")
_FOREIGN_SIGNS = {ord("【"): "[", ord("】"): "]", ord("〔"): "[", ord("〕"): "]", ord("、"): ","}

_TOKEN = re.compile(
    r"(?P<separator>[,;|])|(?P<open>[\[({])|(?P<close>[\])}])|(?P<equals>[:=])"
    r"|(?P<number>(?P<digits>(?:(?<![A-Za-z0-9_.)\]])[-+])?(?<![A-Za-z0-9_.])"
    r"(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:e[-+]?[0-9]{1,3})?)(?:\s?(?:px|pixels?)\b)?"
    rf"(?![A-Za-z0-9_°]|\.[0-9]|\s?%|\s?(?:{UNITS})\b))"
    # Pictures that are named by numbers; such numbers are no coordinates.
    rf"|(?P<reference>(?=[a-z])(?:{NUMBERED})"
    r"(?:s\s?[0-9]+(?:\s?(?:,\s?and|,|and|to|or|&|-)\s?[0-9]+)*|[ _-]?\#?[0-9]+)"
    r"(?![A-Za-z0-9_]))"
    r"|(?P<word>[A-Za-z_][A-Za-z0-9_]*|[0-9][A-Za-z0-9_.]*)|(?P<sign>\S)",
    re.IGNORECASE,
)


class Token(NamedTuple):
    """One piece of a reply."""

    kind: str
    """``number``, ``word``, ``reference``, ``open``, ``close``, ``separator``, ``equals`` or
    ``sign``."""
    text: str
    start: int
    value: float = 0.0
    """Of a number."""


def without_dressing(reply: str) -> str:
    r"""`reply` in plain form, without fences, quotation marks, LaTeX and tags.

    Tags around coordinates become brackets, tags named like a coordinate (``<x1>10</x1>``) become
    "x1: 10", and what announces the answer (``<answer>``, ``\boxed``) becomes "answer:".
    """
    text = folded(reply).translate(_FOREIGN_SIGNS)
    text = _FENCE.sub(" ", text)
    text = _TAG.sub(_without_tag, text)
    text = _LATEX_WORD.sub(" ", _BOXED.sub("answer: ", text))
    return text.translate(_DROPPED)


def tokens_of(text: str) -> list[Token]:
    """The tokens of a text without dressing; blanks part them and are no tokens.

    Numbers that belong to a word ("T2"), carry a unit or a percent sign, or have several points are
    words. Linear in the length of the text.
    """
    return [
        Token(match.lastgroup or "", match[0], match.start(), _value(match))
        for match in _TOKEN.finditer(text)
    ]


def _value(match: re.Match[str]) -> float:
    return float(match["digits"]) if match.lastgroup == "number" else 0.0


def _without_tag(match: re.Match[str]) -> str:
    closes, content = bool(match[1]), match[2]
    name = normalised(content.strip())
    if name == "answer":
        return ". " if closes else " answer: "
    if name in BOX_TAGS:
        return "]" if closes else "["
    if name in KEYS:
        return "; " if closes else f" {name}: "
    return f"{{{content}}}" if "=" in content else " "
