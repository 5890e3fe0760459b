"""What raters entered, item by item, and everything about their tables that cannot be used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .cells import CANNOT_JUDGE, COMMENT, cells_sha256, unguarded
from .key import KeyItem, SheetKey
from .rubrics import Dimension
from .tables import FilledRow, FilledTable

_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")
_YES = frozenset({"x", "yes", "y", "1", "true", "ja", "wahr"})
_NO = frozenset({"", "no", "n", "0", "false", "nein", "falsch", "-", "'-"})


@dataclass(frozen=True)
class Problem:
    """Something that was not taken over, and what to do about it."""

    file: str
    row: int | None
    """As spreadsheets count, the header being row 1; None where an item has no row at all."""
    what: str
    remedy: str

    def __str__(self) -> str:
        row = "" if self.row is None else f", row {self.row}"
        return f"{self.file}{row}: {self.what}; {self.remedy}"


@dataclass(frozen=True)
class Entry:
    """What one rater says of one answer."""

    rater: str
    answer: int
    """Position among the key's answers."""
    item: int
    ratings: Mapping[str, float]
    """By dimension; those that were given and are on the scale."""
    cannot_judge: bool = False
    comment: str = ""


@dataclass
class Entries:
    """The entries of all tables, and the problems with them."""

    key: SheetKey
    entries: list[Entry] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)

    @classmethod
    def read(cls, paths: Sequence[Path], key: SheetKey) -> Entries:
        """The entries of filled-in tables.

        Whatever cannot be used is in `problems`; the rest counts.

        Raises:
            TableUnreadable: a file that is no filled-in sheet, or one of another export.
        """
        found = cls(key)
        required = [*key.columns, *key.rubric.names, CANNOT_JUDGE, COMMENT]
        seen: dict[tuple[str, int], list[tuple[str, int, Entry]]] = {}
        for path, name in _names(paths).items():
            table = FilledTable.read(path, required)
            for row, entry in found._of_table(table, name):
                seen.setdefault((entry.rater, entry.item), []).append((name, row, entry))
        for same in seen.values():
            found._take(same)
        found._list_missing({rater for rater, _ in seen}, set(seen))
        return found

    def _say(self, file: str, row: int | None, what: str, remedy: str) -> None:
        self.problems.append(Problem(file, row, what, remedy))

    def _of_table(self, table: FilledTable, name: str) -> Iterator[tuple[int, Entry]]:
        for column in table.extra:
            self._say(name, 1, f"column {column!r} is none of the sheet's", "it was not read")
        if not table.rows:
            self._say(name, None, "no rows", "give the table that was filled in")
        for number in table.ragged:
            self._say(
                name, number, "more cells than columns", "put cells that hold a separator in quotes"
            )
        first_rater = table.rows[0].cells["rater"].strip() if table.rows else ""
        for row in table.rows:
            if row.number in table.ragged:
                continue
            item = self._item(name, row, first_rater)
            if item is not None:
                yield row.number, self._entry(name, row, first_rater, item)

    def _item(self, name: str, row: FilledRow, first_rater: str) -> KeyItem | None:
        """The item that a row is about; None, and a problem, where that is not certain."""
        cells = {column: cell.strip() for column, cell in row.cells.items()}
        if cells["sheet"] != self.key.sheet:
            what = f"sheet {cells['sheet'] or '(empty)'}, the key is of {self.key.sheet}"
            self._say(name, row.number, what, "give the key of the same export")
            return None
        if cells["rater"] != first_rater:
            what = f"rater {cells['rater'] or '(empty)'} in the table of {first_rater}"
            self._say(name, row.number, what, "keep the rows of each rater in a file of their own")
            return None
        items = self.key.raters.get(cells["rater"])
        if items is None:
            what = f"unknown rater {cells['rater'] or '(empty)'}"
            self._say(name, row.number, what, f"the key knows {', '.join(self.key.raters)}")
            return None
        item = next((it for it in items if str(it.item) == cells["item"]), None)
        if item is None:
            what = f"unknown item {cells['item'] or '(empty)'}"
            self._say(name, row.number, what, f"items are numbered 1 to {len(items)}")
            return None
        if (
            cells_sha256({column: row.cells[column] for column in self.key.columns})
            != item.cells_sha256
        ):
            what = f"item {item.item}: cells that are not to be filled in were changed"
            self._say(name, row.number, what, "copy its row from the sheet that was handed out")
            return None
        return item

    def _entry(self, name: str, row: FilledRow, rater: str, item: KeyItem) -> Entry:
        cannot = self._cannot_judge(name, row)
        ratings = self._ratings(name, row, is_expected=not cannot)
        if cannot and ratings:
            what = f"item {item.item}: rated and marked {CANNOT_JUDGE}"
            self._say(name, row.number, what, "leave one of the two empty")
            ratings = {}
        comment = unguarded(row.cells[COMMENT]).strip()
        return Entry(rater, item.answer, item.item, ratings, bool(cannot), comment)

    def _ratings(self, name: str, row: FilledRow, *, is_expected: bool) -> dict[str, float]:
        dimensions = self.key.rubric.dimensions
        written = {it.name: unguarded(row.cells[it.name]).strip() for it in dimensions}
        empty = [column for column, text in written.items() if not text]
        if empty and is_expected:
            which = "not rated" if len(empty) == len(written) else f"{', '.join(empty)} empty"
            what = f"item {row.cells['item'].strip()}: {which}"
            self._say(name, row.number, what, f"rate it, or write x under {CANNOT_JUDGE}")
        found = {it.name: self._rating(name, row, it, written[it.name]) for it in dimensions}
        return {column: grade for column, grade in found.items() if grade is not None}

    def _cannot_judge(self, name: str, row: FilledRow) -> bool:
        mark = row.cells[CANNOT_JUDGE].strip().casefold()
        if mark not in _YES | _NO:
            what = f"{CANNOT_JUDGE}: expected x or nothing, got {mark[:40]!r}"
            self._say(name, row.number, what, "write x, or leave it empty")
        return mark in _YES

    def _rating(
        self, name: str, row: FilledRow, dimension: Dimension, written: str
    ) -> float | None:
        grade = _number(written)
        if written and (grade is None or not dimension.allows(grade)):
            what = f"{dimension.name}: expected {dimension.scale}, got {written[:40]!r}"
            self._say(name, row.number, what, "correct it")
            return None
        return grade

    def _take(self, same: Sequence[tuple[str, int, Entry]]) -> None:
        """One entry of those that a rater made about one item."""
        *earlier, (file, row, last) = same
        differs = any(
            (entry.ratings, entry.cannot_judge) != (last.ratings, last.cannot_judge)
            for _, _, entry in earlier
        )
        for other, number, _ in earlier:
            what = f"item {last.item} of rater {last.rater} again, as in {other}, row {number}"
            if differs:
                self._say(file, row, f"{what}, rated otherwise", "keep one; neither is used")
            else:
                self._say(file, row, f"{what}, rated alike", "used once, nothing to do")
        if not differs:
            self.entries.append(last)

    def _list_missing(self, raters: set[str], seen: set[tuple[str, int]]) -> None:
        for rater, items in self.key.raters.items():
            if rater not in raters:
                self._say(f"rater {rater}", None, "no table came back", "ask for it, or go on")
                continue
            for item in items:
                if (rater, item.item) not in seen:
                    what = f"no usable row for item {item.item}"
                    self._say(f"rater {rater}", None, what, "put its row back, filled in")


def _names(paths: Sequence[Path]) -> dict[Path, str]:
    """How problems call each file: by its name, or by its path where names are not enough."""
    different = list(dict.fromkeys(paths))
    counts = Counter(path.name for path in different)
    return {path: path.name if counts[path.name] == 1 else str(path) for path in different}


def _number(written: str) -> float | None:
    """A number with a decimal point or comma; None for anything else."""
    return float(written.replace(",", ".")) if _NUMBER.fullmatch(written) else None
