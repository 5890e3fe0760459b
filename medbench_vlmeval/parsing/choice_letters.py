"""The letters of a reply that may name an option, each with what its surroundings make of it."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from .choice_context import (
    Context,
    Rank,
    begins_line,
    begins_sentence,
    context_after,
    context_before,
    ends_line,
    ends_sentence,
    follows_break,
    is_asked,
    past_closing,
)
from .choice_options import OptionText
from .choice_text import Words, is_article_or_pronoun, stands_alone
from .choice_words import AFTER_CONCLUSION, AFTER_LETTER, ALTERNATIVES, HEDGES, OPTION_NOUNS

_MOST_LETTERS = 4000
_BRACKETS = frozenset("([")
_DELIMITERS = frozenset(".):]-,…'\"")


@dataclass(frozen=True)
class Named:
    """An option that a reply names, by letters (several of a list) or by its text."""

    letters: frozenset[str]
    rank: Rank
    first: int
    last: int
    """The position after its last word."""
    concludes: bool = False
    is_label: bool = False
    """A letter at the start of a line that labels what follows."""
    by_text: bool = False


class LetterReader:
    """Finds the letters of one reply."""

    def __init__(self, words: Words, offered: Collection[str], texts: list[OptionText]) -> None:
        self.words = words
        self.offered = frozenset(offered)
        self.text_at = {place.first: place for place in texts}

    def named(self) -> list[Named]:
        """Everything that letters name, in order; beyond 4,000 letters the first and last."""
        positions = [at for at in range(len(self.words.words)) if self._is_letter(at)]
        if len(positions) > _MOST_LETTERS:
            positions = positions[: _MOST_LETTERS // 2] + positions[-_MOST_LETTERS // 2 :]
        return _without_lists(list(self._grouped(positions)))

    def _grouped(self, positions: list[int]) -> Iterator[Named]:
        letters = frozenset(positions)
        behind = 0
        for at in positions:
            if at < behind:
                continue
            members, end = self._group(at, letters)
            behind = end
            yield self._judged(at, end, members)

    def _is_letter(self, at: int) -> bool:
        word = self.words.words[at]
        if not word.isascii() or not word.isalpha():
            return False
        if len(word) > 1:
            return self._is_run(at, word)
        if at in self.text_at and self.text_at[at].last > at + 1:
            return False
        if not stands_alone(self.words, at):
            return self._labels_own_text(at)
        has_own_text = at + 1 in self.text_at and word.upper() in self.text_at[at + 1].letters
        return has_own_text or not is_article_or_pronoun(self.words, at)

    def _labels_own_text(self, at: int) -> bool:
        """Whether it is no term because the option's own text follows ("B-Usable")."""
        place = self.text_at.get(at + 2)
        letter = self.words.words[at].upper()
        return self.words.at(at + 1) == "-" and place is not None and letter in place.letters

    def _is_run(self, at: int, word: str) -> bool:
        """Letters glued together ("AB") that can only stand for several options."""
        end = self.words.end(at)
        is_upper = self.words.text[self.words.starts[at] : end].isupper()
        is_offered = len(word) <= len(self.offered) and set(word.upper()) <= self.offered
        return is_upper and is_offered and at not in self.text_at

    def _group(self, at: int, positions: frozenset[int]) -> tuple[frozenset[str], int]:
        """The letters of the list that begins at `at`, and the position after it."""
        members, end = set(self.words.words[at].upper()), at + 1
        while len(members) < 30:
            following = past_closing(self.words, end)
            if self.words.at(following) not in ALTERNATIVES and self.words.at(following) != "(":
                break
            while self._joins(following):
                following += 1
            after = past_closing(self.words, following + 1)
            is_listed = following in positions and (
                self._may_end_list(after) or self._rank_after(following + 1) is Rank.REJECTED
            )
            if not is_listed or set(self.words.words[following].upper()) & members:
                break
            members |= set(self.words.words[following].upper())
            end = following + 1
        return frozenset(members), end

    def _joins(self, at: int) -> bool:
        word = self.words.at(at)
        joins = word in ALTERNATIVES or word in OPTION_NOUNS or word in HEDGES
        return bool(word) and (joins or word in "\"'([{")

    def _may_end_list(self, at: int) -> bool:
        word = self.words.at(at)
        return not word or word in ALTERNATIVES or word in ".;!?\n…" or not word[0].isalnum()

    def _judged(self, at: int, end: int, members: frozenset[str]) -> Named:
        found = Named(members, Rank.NOTHING, at, end)
        is_run = len(self.words.words[at]) > 1
        before = context_before(self.words, at)
        after = self._rank_after(end)
        is_aside = len(members) > 1 and self.words.at(past_closing(self.words, at + 1)) in ",;"
        if before.rank is Rank.MARK and after is Rank.REJECTED and is_aside:
            # "Answer: B, A and C are wrong"
            return Named(frozenset(self.words.words[at].upper()), Rank.MARK, at, at + 1)
        if before.rank is Rank.REJECTED or after is Rank.REJECTED or is_asked(self.words, end):
            return replace(found, rank=Rank.REJECTED)
        if before.rank is Rank.MARK:
            return replace(found, rank=Rank.MARK, concludes=before.concludes)
        if is_run:
            return found
        if after is Rank.MARK and (len(members) == 1):
            return replace(found, rank=Rank.MARK)
        return self._judged_by_place(found, before)

    def _rank_after(self, end: int) -> Rank:
        """What follows says, past the option's text in brackets or behind a colon."""
        following = past_closing(self.words, end)
        opening = following + 1 if self.words.at(following) in "([{:-" else following
        place = self.text_at.get(opening) if self.words.at(following) else None
        if place is not None:
            following = past_closing(self.words, place.last)
        return context_after(self.words, self.words.end(following - 1))

    def _judged_by_place(self, found: Named, before: Context) -> Named:
        at, end = found.first, found.last
        words = self.words
        is_capital = words.is_capital(at)
        if begins_line(words, at) and ends_line(words, end):
            is_edge = is_capital or at == words.first or end > words.last
            return replace(found, rank=Rank.ALONE) if is_edge else found
        if begins_line(words, at) and self._is_label(at, end):
            is_first = at == words.first
            rank = Rank.ALONE if is_first or is_capital else Rank.NOTHING
            return replace(found, rank=rank, is_label=True)
        if before.rank is Rank.OPTION:
            return replace(found, rank=Rank.OPTION)
        if not is_capital:
            return found
        is_sentence = ends_sentence(words, end)
        if before.rank is Rank.ALONE and (is_sentence or words.at(end) in AFTER_CONCLUSION):
            rank = Rank.MARK if before.corrects else Rank.ALONE
            return replace(found, rank=rank, concludes=True)
        if is_sentence and begins_sentence(words, at):
            return replace(found, rank=Rank.ALONE)
        is_set_off = follows_break(words, at) and words.at(end) in (*")]},.!;:\n", "")
        is_graded = is_sentence and (before.is_all or words.at(at - 1) == "a")
        has_cue = is_set_off or is_graded or before.rank is Rank.ALONE
        return replace(found, rank=Rank.CUE if has_cue else before.rank)

    def _is_label(self, at: int, end: int) -> bool:
        """Whether the letter labels the line: by a sign, by its option's text, as a subject."""
        after = self.words.at(end)
        if after in _DELIMITERS:
            return True
        place = self.text_at.get(end + 1 if after in _BRACKETS else end)
        if place is not None and self.words.words[at].upper() in place.letters:
            return True
        if after in _BRACKETS:
            # "A (very) mild blur" begins with an article.
            is_letter = self.words.at(at) not in ("a", "i")
            return is_letter or self.words.at(end + 1) in AFTER_LETTER
        return at == self.words.first and after in ("because", "since", "it")


def _without_lists(named: list[Named]) -> list[Named]:
    """`named` without restated options: labels of lines that ascend one by one."""
    labels = [place for place, item in enumerate(named) if item.is_label and len(item.letters) == 1]
    dropped: set[int] = set()
    run: list[int] = []
    for place in labels:
        letter = next(iter(named[place].letters))
        if run and ord(letter) == ord(next(iter(named[run[-1]].letters))) + 1:
            run.append(place)
            dropped.update(run)
        else:
            run = [place]
    return [item for place, item in enumerate(named) if place not in dropped]
