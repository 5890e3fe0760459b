"""Which word of an editing instruction names what is to be seen: ``polyp``, ``ear``, ``lip``.

MedEBench measures attention for one such word a prompt and says neither how it was chosen nor which
it was, but for six examples. The rule here is ours: the head noun of the verb's object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

KeyRule = Literal["object", "organ", "last word", "none", "given"]

_WORD = re.compile(r"[^\W\d_]+(?:[-'’][^\W\d_]+)*|[.,;:()!?]")


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_VERBS = _words(
    """add adjust align apply augment beautify bring change clear close colour color complete
    correct cover create cut darken decrease delete draw elevate eliminate enhance enlarge erase
    excise extract fade fill fix flatten generate give heal implant improve increase inject insert
    keep lengthen lift lighten make match mend minimise minimize narrow perform place plump realign
    rebuild reconstruct reduce refine regenerate rejuvenate remove repair replace reposition
    resect reshape resize restore revise shape shorten show shrink simulate slim smooth soften
    stitch straighten suture thicken thin tighten transform transplant treat trim turn unclog
    whiten widen"""
)
_ENDS = _words(
    """about above across after along among around as at before behind below beneath beside between
    beyond by down during for from in inside into like near next of off on onto out over so that
    through to toward towards under until up using via when where which while with within
    without"""
)
_STARTS = ("▁", "Ġ")
_JOINTS = frozenset(["and", "or", ","])
_DETERMINERS = _words("a an all any both each her his its my one our some the their your")
_DESCRIBING = _words(
    """additional bad bigger black blue bright brown clean clear damaged dark darker deformed dental
    diminutive diseased double excess excessive extra facial faded fewer finer fuller
    flatter grey gray-brown grey-brown healthier healthy injured intestinal invisible large larger
    left less lighter longer loose lower missing more narrower natural new normal pale red right
    rounder sharp sharper short shorter slimmer small smaller smoother softer straight straighter
    symmetric symmetrical thick thicker thin thinner tighter unwanted upper visible white whiter
    wider yellow younger"""
)
_UNSEEN = _words(
    """alignment angle appearance area augmentation color colour condition contour correction
    ectropion enhancement health implantation injection length liposuction look placement position
    reconstruction reduction region removal repair replacement restoration shape size smoothness
    surgery symmetry texture thickness tightening tone transplant transplantation treatment volume
    width"""
)
"""Nouns that name a procedure or a property; the word before them is what is seen."""


@dataclass(frozen=True)
class KeyWord:
    """The word whose attention is measured, and how it was found."""

    word: str
    """As in the instruction; empty where the rule is ``none``."""
    rule: KeyRule


def key_word(instruction: str, *, organ: str = "") -> KeyWord:
    """The word of an instruction that names what is to be seen.

    The head noun of the object of the first verb: what follows the verb, up to a preposition, a
    punctuation mark or a conjunction, without words that only describe (``missing``, ``thicker``)
    and without procedures and properties (``augmentation``, ``appearance``); of the rest the last
    word. Without such a word, the organ's name where the instruction holds it; else the last word
    of three letters or more.

    Args:
        instruction: what the editor is asked, in English.
        organ: the sample's organ, e.g. ``Ears``; empty for none.

    Returns:
        A word of the instruction with the rule that gave it; the rule ``none`` for a text without
        any word.
    """
    words = _WORD.findall(instruction)
    head = _head_noun(words)
    if head:
        return KeyWord(head, "object")
    named = next((it for it in words if _is_organ(it, organ)), "")
    if named:
        return KeyWord(named, "organ")
    long = [it for it in words if len(it) > 2 and it.casefold() not in _ENDS | _DETERMINERS]
    return KeyWord(long[-1], "last word") if long else KeyWord("", "none")


def _head_noun(words: Sequence[str]) -> str:
    phrase = list(_object_of_first_verb(words))
    while phrase and (_describes(phrase[-1]) or phrase[-1].casefold() in _UNSEEN):
        phrase.pop()
    return phrase[-1] if phrase else ""


def _object_of_first_verb(words: Sequence[str]) -> Iterator[str]:
    """The words after the verb (or the verbs, ``Remove or revise``) up to where the object ends."""
    lowered = [word.casefold() for word in words]
    verb = next((at for at, word in enumerate(lowered) if word in _VERBS), len(words))
    start = verb + 1
    while start < len(words) and _joins_verbs(lowered, start):
        start += 2
    last = ""
    for word, low in zip(words[start:], lowered[start:], strict=True):
        if low in _JOINTS and last and _describes(last):
            continue
        if low in _ENDS | _JOINTS or not word[0].isalpha():
            return
        if low not in _DETERMINERS:
            last = word
            yield word


def _joins_verbs(lowered: Sequence[str], at: int) -> bool:
    return lowered[at] in _JOINTS and at + 1 < len(lowered) and lowered[at + 1] in _VERBS


def _describes(word: str) -> bool:
    low = word.casefold()
    return low in _DESCRIBING or (low.endswith("ly") and low not in ("anomaly", "belly"))


def _is_organ(word: str, organ: str) -> bool:
    low, names = word.casefold(), re.findall(r"[a-z]+", organ.casefold())
    forms = {low, f"{low}s", low.removesuffix("s"), {"tooth": "teeth", "foot": "feet"}.get(low, "")}
    return len(low) > 2 and any(name in forms for name in names)


def word_positions(tokens: Sequence[str], word: str) -> tuple[int, ...]:
    """Where a word stands among the tokens of a prompt; all its pieces, each time it occurs.

    Args:
        tokens: as a tokenizer names them, start and end included: ``polyp</w>``, ``▁pol``, ``yp``.
        word: one word, or several with spaces between; case does not matter.

    Returns:
        Positions in ascending order; none when the word is not there as whole tokens. Start, end
        and padding tokens (in angle or square brackets) are never among them.
    """
    wanted = "".join(word.split()).casefold()
    pieces, goes_on = [_piece(token) for token in tokens], _going_on(tokens)
    found: set[int] = set()
    for start in range(len(pieces)):
        length = _length_of(pieces[start:], wanted)
        stop = start + length
        if length and not goes_on[start] and not (stop < len(pieces) and goes_on[stop]):
            found.update(range(start, stop))
    return tuple(sorted(found))


def _piece(token: str) -> str:
    """The letters of a token; a line break, which no word holds, for one that stands for none."""
    if _stands_for_none(token):
        return "\n"
    return token.removesuffix("</w>").lstrip("".join(_STARTS)).removeprefix("##").casefold()


def _stands_for_none(token: str) -> bool:
    return bool(re.fullmatch(r"<.*>|\[.+\]", token)) and not token.endswith("</w>")


def _going_on(tokens: Sequence[str]) -> list[bool]:
    """Whether each token goes on with the word before it, as far as the tokenizer marks words."""
    ends_marked = any(token.endswith("</w>") for token in tokens)
    starts_marked = any(token.startswith(_STARTS) for token in tokens)
    found = []
    for before, token in zip(["<>", *tokens], tokens, strict=False):
        if _stands_for_none(before) or _stands_for_none(token):
            found.append(False)
        elif ends_marked:
            found.append(not before.endswith("</w>"))
        elif starts_marked:
            found.append(not token.startswith(_STARTS) and token[:1].isalnum())
        else:
            found.append(token.startswith("##"))
    return found


def _length_of(pieces: Sequence[str], wanted: str) -> int:
    rest = wanted
    for length, piece in enumerate(pieces, start=1):
        if not piece or not rest.startswith(piece):
            return 0
        rest = rest.removeprefix(piece)
        if not rest:
            return length
    return 0
