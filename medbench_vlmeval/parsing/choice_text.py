"""A reply as words with their places, and the letters in it that stand alone."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property

from . import choice_words
from .plain_text import ELISION, folded, without_markup

_ASIAN = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_ASIAN_WORDS = sorted(
    (
        word
        for words in vars(choice_words).values()
        if isinstance(words, frozenset)
        for word in words
        if re.fullmatch(f"[{_ASIAN}]{{2,}}", word)
    ),
    key=len,
    reverse=True,
)
_LATIN = rf"[^\W\d_{_ASIAN}]"
_WORD = re.compile(
    rf"{'|'.join(dict.fromkeys(_ASIAN_WORDS))}|[{_ASIAN}]|{_LATIN}+(?:['’](?:t|d|s|m|re|ll|ve)\b)?"
    rf"|\d+|\n|\S",
)

_ANSWER_TAGS = {"answer", "finalanswer", "choice", "option", "ans", "prediction", "result"}
_WRAPPED = re.compile(r"\\(?:text|math)[a-z]{0,6}\s?\{([^{}\n]{0,200})\}")
_BOXED = re.compile(r"\\(?:boxed|fbox)\s?\{((?:[^{}\n]|\{[^{}\n]{0,200}\}){0,300})\}")
_FORMULA = re.compile(r"[\\^=+{}]")
_PLACEHOLDER = re.compile(r"<\s?([A-Za-z])\s?>")
_END_TOKEN = re.compile(r"<\|[^<>|\n]{0,40}\|>")
_UNDERSCORES = re.compile(r"(?<![^\W_])_{1,3}|_{1,3}(?![^\W_])")
_CIRCLED = {
    first + place: chr(ord("A") + place)
    for first in (0x24B6, 0x24D0, 0x1F150, 0x1F130, 0x1F170)
    for place in range(26)
}


def choice_text(reply: str) -> str:
    """`reply` in plain signs: boxes and answer tags as "answer: …", no other markup."""
    text = folded(reply.translate(_CIRCLED)).replace("’", "'")
    text = _END_TOKEN.sub("\n", text)
    for _ in range(3):
        text, n_wrapped = _WRAPPED.subn(r"\1", text)
        if not n_wrapped:
            break
    text = _BOXED.sub(_boxed_answer, text)
    closed = set(re.findall(r"</\s?([a-z])\s?>", text.lower()))
    text = _PLACEHOLDER.sub(lambda tag: tag[0] if tag[1].lower() in closed else f"({tag[1]})", text)
    text = without_markup(text, tag_label=_tag_label)
    return _UNDERSCORES.sub("", text).replace("`", "")


def _boxed_answer(box: re.Match[str]) -> str:
    content = box[1].strip()
    return f" {ELISION} " if _FORMULA.search(content) else f" answer: {content} {ELISION} "


def _tag_label(name: str) -> str | None:
    reduced = name.replace("_", "").replace("-", "").lower()
    return "answer" if reduced in _ANSWER_TAGS else None


@dataclass(frozen=True)
class Words:
    """The words and signs of a plain text, in lower case, each with its place."""

    text: str
    starts: list[int]
    words: list[str]

    @classmethod
    def of(cls, text: str) -> Words:
        """Every word, number, sign and line break of `text`."""
        starts, words = [], []
        for match in _WORD.finditer(text):
            starts.append(match.start())
            words.append(match[0].lower())
        return cls(text, starts, words)

    def at(self, position: int) -> str:
        """The word at `position`, empty beyond either end."""
        return self.words[position] if 0 <= position < len(self.words) else ""

    def end(self, position: int) -> int:
        return self.starts[position] + len(self.words[position])

    def touches(self, position: int) -> bool:
        """Whether the word at `position` touches the one before it."""
        if not 0 < position < len(self.words):
            return False
        return self.end(position - 1) == self.starts[position]

    def is_capital(self, position: int) -> bool:
        return self.text[self.starts[position]].isupper()

    @cached_property
    def first(self) -> int:
        """The first word or number."""
        return next((at for at, word in enumerate(self.words) if word[0].isalnum()), 0)

    @cached_property
    def last(self) -> int:
        """The last word or number."""
        places = range(len(self.words) - 1, -1, -1)
        return next((at for at in places if self.words[at][0].isalnum()), 0)


def is_word(word: str) -> bool:
    return bool(word) and word[0].isalpha()


def stands_alone(words: Words, at: int) -> bool:
    """Whether the letter at `at` is no part of a term, a unit, an abbreviation or a possessive."""
    before, after = words.at(at - 1), words.at(at + 1)
    if words.touches(at):
        is_joined = words.touches(at - 1) and words.at(at - 2)[:1].isalnum()
        if before.isdigit() or before in "\\°@~$" or (before in "-'.&" and is_joined):
            return False
        if before == "/" and is_joined and len(words.at(at - 2)) > 1:
            return False
    elif before.isdigit():
        return False
    if words.touches(at + 1):
        is_joined = words.touches(at + 2) and words.at(at + 2)[:1].isalnum()
        if after.isdigit() or after in "°+²³'" or (after in "-.&" and is_joined):
            return after == "'" and not is_joined
        return not (after == "/" and is_joined and len(words.at(at + 2)) > 1)
    return after != "°"


def is_article_or_pronoun(words: Words, at: int) -> bool:
    """Whether "a" or "I" at `at` is followed by a word as an article or a pronoun is."""
    after = words.at(at + 1)
    if words.at(at) not in ("a", "i") or not (is_word(after) or after.isdigit()):
        return False
    if ord(after[0]) > 0x2E80:
        return False
    if after not in choice_words.AFTER_LETTER:
        return True
    return words.at(at) == "i" and after in choice_words.PRONOUN_VERBS
