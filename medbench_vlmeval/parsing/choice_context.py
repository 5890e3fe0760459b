"""How plainly the words around a letter or an option's text make it the answer."""

from __future__ import annotations

from enum import IntEnum
from typing import NamedTuple

from .choice_text import Words, is_word
from .choice_words import (
    ANSWER_NOUNS,
    BEING,
    CHOOSING,
    CHOSEN_AFTER,
    CLAUSE_ENDS,
    CORRECTING,
    CUES,
    DISCARDING,
    FITTING,
    GRADE_NOUNS,
    HYPOTHETICAL,
    LEADING,
    NOT,
    OPTION_NOUNS,
    PREPOSITIONS,
    REJECTED_AFTER,
    SMALL,
)

_FARTHEST = 14
_LOOK_AHEAD = 80
_OPENING = frozenset("\"'“”‘„«»「」『』([{<|:=,*#>-→∴~…)]}【】《》")
_CLOSING = frozenset("\"'“”’«»」』)]}>|…】》")
_STOPS = frozenset(".;!?。！？；")
_ABBREVIATIONS = frozenset({"fig", "figs", "vs", "ref", "eq", "tab", "sec"})
_GOING = ("go", "going", "went", "goes")


class Rank(IntEnum):
    """What a letter or a text counts; the higher rank decides."""

    REJECTED = -1
    """Said not to be the answer, supposed, or asked."""
    NOTHING = 0
    CUE = 1
    """A word such as "as" or brackets make it likely."""
    OPTION = 2
    """"Option B", without a word about it."""
    ALONE = 3
    """The whole line or sentence, the label at the start, or a conclusion."""
    MARK = 4
    """Marked as the answer."""


class Context(NamedTuple):
    """What the words around a letter or a text make of it."""

    rank: Rank
    concludes: bool = False
    """Said as a conclusion, so that it replaces what was said before."""
    corrects: bool = False
    """Said as a correction, so that it replaces even what was marked."""
    is_all: bool = False
    """Only words that say nothing stand before it in its sentence."""


def context_before(words: Words, at: int) -> Context:
    """What the words before position `at` make of the letter or text there."""
    passed: set[str] = set()
    position, nearest = at - 1, max(-1, at - 1 - _FARTHEST)
    while position > nearest:
        word = words.at(position)
        if "\n" in passed and not _may_end_heading(word):
            break
        decided = _decided(words, position, passed)
        if decided is not None:
            return decided
        if not _is_passed(words, position) or (word in FITTING and "," in passed):
            break
        passed.add(word)
        position -= 1
    return _undecided(words, position, passed)


def _decided(words: Words, position: int, passed: set[str]) -> Context | None:
    """What the word at `position` alone decides, given the words between it and the letter."""
    word = words.at(position)
    if word in HYPOTHETICAL:
        return Context(Rank.REJECTED)
    is_grade = word in GRADE_NOUNS and not passed.isdisjoint(BEING)
    is_going = word in ("with", "for") and words.at(position - 1) in _GOING
    if word in ANSWER_NOUNS or word in CHOOSING or is_grade or is_going:
        return _unless_denied(words, position)
    is_apart = "," in passed
    if word in LEADING or (word == "no" and is_apart):
        rank = Rank.ALONE if passed.isdisjoint(OPTION_NOUNS) else Rank.MARK
        return Context(rank, concludes=True, corrects=word in CORRECTING or word == "no")
    if word in DISCARDING and not is_apart:
        return Context(Rank.REJECTED)
    return None


def _undecided(words: Words, position: int, passed: set[str]) -> Context:
    """What the words passed over make of the letter; `position` is where looking back stopped."""
    names_option = not passed.isdisjoint(OPTION_NOUNS)
    is_being = not passed.isdisjoint(BEING)
    fits = not passed.isdisjoint(FITTING) and (names_option or is_being)
    if fits or (is_being and _names_it_earlier(words, position)):
        return _unless_denied(words, position + 1)
    if names_option:
        return Context(Rank.OPTION)
    is_start = words.at(position) in ("", "\n") or _is_stop(words, position)
    is_all = is_start and "\n" not in passed
    return Context(Rank.NOTHING if passed.isdisjoint(CUES) else Rank.CUE, is_all=is_all)


def _is_stop(words: Words, position: int) -> bool:
    """Whether a sentence ends at `position`, and no abbreviation."""
    return words.at(position) in _STOPS and words.at(position - 1) not in _ABBREVIATIONS


def _is_passed(words: Words, position: int) -> bool:
    word = words.at(position)
    if word in OPTION_NOUNS or word in FITTING or word in CUES:
        return True
    return _is_small(words, position)


def context_after(words: Words, end: int) -> Rank:
    """What the words from the place `end` of the text on make of the letter before it."""
    if CHOSEN_AFTER.match(words.text, end, end + _LOOK_AHEAD):
        return Rank.MARK
    if REJECTED_AFTER.match(words.text, end, end + _LOOK_AHEAD):
        return Rank.REJECTED
    return Rank.NOTHING


def past_closing(words: Words, at: int) -> int:
    """The first position from `at` on that is no closing bracket or quotation mark."""
    while words.at(at) in _CLOSING:
        at += 1
    return at


def is_asked(words: Words, at: int) -> bool:
    """Whether a question mark stands at `at`, behind closing marks."""
    return words.at(past_closing(words, at)) == "?"


def begins_line(words: Words, at: int) -> bool:
    """Whether only brackets, bullets and quotation marks stand before `at` on its line."""
    position = at - 1
    while position >= 0 and (words.at(position) in _OPENING or words.at(position) in "•·▪●○◦"):
        position -= 1
    return position < 0 or words.at(position) == "\n"


def begins_sentence(words: Words, at: int) -> bool:
    """Whether `at` follows the end of a sentence, or begins a line."""
    position = at - 1
    while position >= 0 and words.at(position) in "\"'([{“":
        position -= 1
    return _is_stop(words, position) or begins_line(words, at)


def ends_sentence(words: Words, at: int) -> bool:
    """Whether a sentence or a line ends at `at`, behind closing marks."""
    after = words.at(past_closing(words, at))
    return not after or after == "\n" or after in ".!。！"


def ends_line(words: Words, at: int) -> bool:
    """Whether nothing but punctuation follows on the line of `at`."""
    while words.at(at) and words.at(at) != "\n" and not words.at(at)[0].isalnum():
        if words.at(at) == "?":
            return False
        at += 1
    return not words.at(at) or words.at(at) == "\n"


def follows_break(words: Words, at: int) -> bool:
    """Whether `at` is set off from the words before it by punctuation or a bracket."""
    before = words.at(at - 1)
    return before in "([{,:=→-" and bool(before)


def _is_small(words: Words, position: int) -> bool:
    """Whether the word says nothing; a letter that no word follows may be an option's."""
    word = words.at(position)
    if len(word) == 1 and word.isascii() and word.isalpha():
        is_lower = word == "i" or not words.is_capital(position)
        return word in SMALL and is_lower and is_word(words.at(position + 1))
    return word in SMALL or word in _OPENING or word == "\n"


def _may_end_heading(word: str) -> bool:
    """Whether a line that ends with this word can announce what stands below it."""
    is_sign = word in _OPENING or word in BEING or word == "\n"
    return is_sign or word in ANSWER_NOUNS or word in GRADE_NOUNS or word in OPTION_NOUNS


def _names_it_earlier(words: Words, position: int) -> bool:
    """Whether a noun before a verb of being says what the letter is ("the answer to this is")."""
    nearest = max(-1, position - _FARTHEST)
    while position > nearest and words.at(position) not in _STOPS and words.at(position) != "\n":
        word = words.at(position)
        if (word in ANSWER_NOUNS or word in OPTION_NOUNS) and (
            words.at(position + 1) in PREPOSITIONS
        ):
            return True
        position -= 1
    return False


def _unless_denied(words: Words, position: int) -> Context:
    """A mark at `position`, unless its clause denies or supposes it."""
    nearest = max(-1, position - 7)
    position -= 1
    while position > nearest and words.at(position) not in CLAUSE_ENDS:
        word = words.at(position)
        if word in NOT or word in HYPOTHETICAL:
            return Context(Rank.REJECTED)
        if not is_word(word) and word not in _OPENING:
            break
        position -= 1
    return Context(Rank.MARK)
