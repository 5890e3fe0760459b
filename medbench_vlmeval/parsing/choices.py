"""Reading the option a model chose, in whatever form the model named it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ..types import Status
from .choice_context import Rank, begins_line, context_before, ends_line, past_closing
from .choice_letters import LetterReader, Named
from .choice_opening import opened
from .choice_options import OptionText, OptionTexts, is_denied, is_determiner
from .choice_text import Words, choice_text
from .refusals import is_refusal

_BETWEEN = frozenset(".):]}-,'\"([{=*>")
_MOST_TEXTS = 4000


@dataclass(frozen=True)
class ChoiceReading:
    """The option one reply chose, or why there is none."""

    letter: str | None
    """One of the letters offered, as it is written in the options."""
    status: Status
    by: str = ""
    """How it was found: ``mark`` (an answer mark names it), ``letter``, ``text`` or empty."""


def read_choice(reply: object, options: Mapping[str, str]) -> ChoiceReading:
    """The option a reply chooses, None where it does not choose exactly one.

    Answer marks ("the answer is", "I choose", a box, their forms in other languages) come first and
    the last of them wins; then a letter that is a line or a sentence of its own, labels the reply
    or is its conclusion; then "option B"; then a letter in brackets or after a word such as "as".
    Without a letter the text of an option counts, whole and at word boundaries, if only one occurs
    and is not denied. Rejected, supposed and asked letters, articles, pronouns, units, symbols and
    terms are no answers; restated lists of options are passed over. Two letters of one rank, and a
    letter beside the text of another option, give nothing. Ordinals and similarity are not used.

    Args:
        reply: the model's text; None, NaN and blank text are a missing reply, other objects are
            read as text.
        options: the texts the row offers by their letters, e.g. ``{"A": "Good", "B": "Usable"}``;
            any letters of the Latin alphabet, texts may be empty.

    Returns:
        The letter with status ANSWER. Without one the status is MISSING, API_FAIL, TRUNCATED (a
        thinking part that never ends), REFUSAL or UNPARSED.

    Raises:
        ValueError: no options, or a key that is not one letter.

    Notes:
        Nothing is guessed and no judge is asked. The published rule is `official.medq.choice`.
        Time is linear in the length of the reply.
    """
    keys = _keys(options)
    text, status = opened(reply)
    if status is not None:
        return ChoiceReading(None, status)
    found = _chosen(text, {letter: options[key] for letter, key in keys.items()})
    if found is None:
        return ChoiceReading(None, Status.REFUSAL if is_refusal(text) else Status.UNPARSED)
    by = "text" if found.by_text else "mark" if found.rank in _MARKED else "letter"
    return ChoiceReading(keys[next(iter(found.letters))], Status.ANSWER, by)


_MARKED = (Rank.MARK, Rank.OPTION)


def _keys(options: Mapping[str, str]) -> dict[str, str]:
    """The keys of `options` by their capital letter."""
    keys = {key.upper(): key for key in options}
    is_sound = all(len(key) == 1 and key.isascii() and key.isalpha() for key in options)
    if not keys or not is_sound or len(keys) != len(options):
        raise ValueError(
            f"expected options by single distinct letters such as {{'A': ..., 'B': ...}}, "
            f"got {list(options)!r}; leave out options the row does not have"
        )
    return keys


def _chosen(reply: str, options: Mapping[str, str]) -> Named | None:
    """The one option named, or None."""
    words = Words.of(choice_text(reply))
    texts = OptionTexts(options).places(words)
    letters = LetterReader(words, options, texts).named()
    by_text = [_named_by_text(place, words) for place in _bounded(texts)]
    ranked = [item for item in (*letters, *by_text) if item.rank > Rank.NOTHING]
    if not ranked:
        found = _by_prose(texts, words)
        return None if found is None or _disagrees(found, texts, words) else found
    ranked.sort(key=lambda item: item.first)
    highest = max(item.rank for item in ranked)
    found = _decided([item for item in ranked if item.rank is highest])
    if found is None or not found.letters <= options.keys():
        return None
    return None if _disagrees(found, texts, words) else found


def _decided(ranked: list[Named]) -> Named | None:
    """Which of the options named with one rank, in the order of the reply, is chosen."""
    last = ranked[-1]
    if last.rank is not Rank.MARK and not last.concludes:
        named = frozenset().union(*(item.letters for item in ranked))
        if len(named) > 1 and not all(item.letters == last.letters for item in ranked):
            return None
    return last if len(last.letters) == 1 else None


def _bounded(texts: list[OptionText]) -> list[OptionText]:
    if len(texts) <= _MOST_TEXTS:
        return texts
    return texts[: _MOST_TEXTS // 2] + texts[-_MOST_TEXTS // 2 :]


def _named_by_text(place: OptionText, words: Words) -> Named:
    """An option's text that is marked as the answer or fills its line."""
    named = Named(place.letters, Rank.NOTHING, place.first, place.last, by_text=True)
    if is_determiner(place, words):
        return named
    if context_before(words, place.first).rank is Rank.MARK:
        return Named(place.letters, Rank.MARK, place.first, place.last, by_text=True)
    if begins_line(words, place.first) and ends_line(words, place.last):
        return Named(place.letters, Rank.ALONE, place.first, place.last, by_text=True)
    return named


def _by_prose(texts: list[OptionText], words: Words) -> Named | None:
    """The only option whose text occurs, if nothing denies it."""
    first: dict[tuple[frozenset[str], bool], OptionText] = {}
    for place in texts:
        kind = (place.letters, is_determiner(place, words))
        if kind not in first and not is_denied(place, words.text):
            first[kind] = place
    bare = [place for (_, determines), place in first.items() if not determines]
    is_opened = bool(bare) and bare[0].first == words.first and words.at(bare[0].last) in _SETS_OFF
    named = bare if is_opened else list(first.values())
    if not bare or len({place.letters for place in named}) != 1 or len(bare[0].letters) != 1:
        return None
    return Named(bare[0].letters, Rank.CUE, bare[0].first, bare[0].last, by_text=True)


_SETS_OFF = (*",.;:!-\n", "")


def _disagrees(found: Named, texts: list[OptionText], words: Words) -> bool:
    """Whether the text of another option, and not its own, stands beside the chosen letter."""
    if found.by_text:
        return _is_beside_letter(found, words)
    after = found.last
    while words.at(after) in _BETWEEN or words.at(after) == "\n":
        after += 1
    for place in texts:
        is_beside = place.first == after and _is_set_off(words, place.last)
        is_before = past_closing(words, place.last) == found.first - 1 and (
            words.at(found.first - 1) in "([{"
        )
        is_opening = place.first == words.first and words.at(place.last) in (".", "!", "\n")
        if (is_beside or is_before or is_opening) and not found.letters & place.letters:
            return True
    return False


def _is_beside_letter(found: Named, words: Words) -> bool:
    """Whether the letter of another option labels the chosen text or follows it in brackets."""
    before = found.first - 1
    while words.at(before) in _BETWEEN:
        before -= 1
    is_label = before < found.first - 1 and begins_line(words, before)
    is_bracket = words.at(found.last) in ("(", "[") and words.at(found.last + 2) in (")", "]")
    places = [before] * is_label + [found.last + 1] * is_bracket
    letters = {words.at(at).upper() for at in places if words.at(at) and words.is_capital(at)}
    return any(len(letter) == 1 and letter not in found.letters for letter in letters)


def _is_set_off(words: Words, at: int) -> bool:
    after = words.at(at)
    return not after or not after[0].isalnum()
