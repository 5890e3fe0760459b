"""Tables of a board's page: cells as texts with the number that they are sorted by."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...types import MetricInfo
from ..safe_text import visible
from .firmness import ComparedPair, MetricStatistics
from .text import firmness_line, shown_number

MOST_PAIRS = 300
"""Pairs in a page; of a larger board only those that differ, and all are in the JSON file."""


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    text: str
    is_number: bool = False


@dataclass(frozen=True)
class PageCell:
    """A cell; `order` is what it is sorted by, None for its text."""

    text: str
    is_number: bool = False
    order: float | None = None
    interval: str = ""
    is_doubtful: bool = False
    marks: tuple[Any, ...] = ()

    @classmethod
    def number(cls, text: str, order: float | None = None) -> PageCell:
        if order is None and text.isdigit():
            order = float(text)
        return cls(text, True, order)


@dataclass(frozen=True)
class PageRow:
    """A line of a table."""

    cells: tuple[PageCell, ...]
    kind: str = ""


@dataclass(frozen=True)
class PageTable:
    """A table with sortable columns."""

    head: tuple[Column, ...]
    rows: tuple[PageRow, ...] = field(default=())


def numbers_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> PageTable:
    """A table of plain texts."""
    return PageTable(
        tuple(map(Column, head)),
        tuple(PageRow(tuple(PageCell(visible(text)) for text in row)) for row in rows),
    )


def firmness_parts(statistics: MetricStatistics) -> dict[str, Any]:
    """What the page says about the order in one column."""
    pairs = statistics.pairs
    caption = "All pairs; p after Holm over the pairs of this column"
    if len(pairs) > MOST_PAIRS:
        pairs = tuple(it for it in pairs if it.is_different)[:MOST_PAIRS]
        caption = (
            f"{len(pairs)} of {len(statistics.pairs)} pairs, of those that differ; all are in the "
            "JSON file beside this page"
        )
    return {
        "line": firmness_line(statistics),
        "n_resamples": statistics.n_resamples,
        "ranks": _ranks(statistics) if len(statistics.ranked) > 1 else None,
        "pairs": _pairs(pairs, statistics.metric) if pairs else None,
        "pairs_caption": caption,
    }


def _ranks(statistics: MetricStatistics) -> PageTable:
    below = {it.upper: it for it in statistics.neighbours}
    rows = []
    for it in statistics.ranked:
        next_one = below.get(it.name)
        overtaken = "" if next_one is None else f"{next_one.flipped:.0%}"
        rows.append(
            PageRow(
                (
                    PageCell(visible(it.name)),
                    PageCell.number(f"{it.rank:g}", it.rank),
                    PageCell(f"{it.low:g} – {it.high:g}"),
                    PageCell.number(f"{it.first:.0%}", it.first),
                    PageCell.number(overtaken, next_one.flipped if next_one else None),
                )
            )
        )
    head = (
        Column("model"), Column("rank", True), Column("rank interval"), Column("first in", True),
        Column("overtaken by the next in", True),
    )  # fmt: skip
    return PageTable(head, tuple(rows))


def _pairs(pairs: Iterable[ComparedPair], metric: MetricInfo) -> PageTable:
    head = (
        Column("first"), Column("second"), Column("first less second", True), Column("p", True),
        Column("adjusted p", True), Column("test"), Column("samples", True),
    )  # fmt: skip
    return PageTable(head, tuple(_pair(pair, metric) for pair in pairs))


def _pair(pair: ComparedPair, metric: MetricInfo) -> PageRow:
    interval = ""
    if pair.low is not None and pair.high is not None:
        interval = f"[{shown_number(pair.low, metric)}, {shown_number(pair.high, metric)}]"
    difference = "–" if pair.difference is None else f"{pair.difference:+.3f}"
    return PageRow(
        (
            PageCell(visible(pair.first)),
            PageCell(visible(pair.second)),
            PageCell(difference, True, pair.difference, interval),
            _p_cell(pair.p_value),
            _p_cell(pair.p_adjusted),
            PageCell(pair.test),
            PageCell.number(str(pair.n_samples)),
        )
    )


def _p_cell(p_value: float | None) -> PageCell:
    return PageCell.number("–" if p_value is None else f"{p_value:.2g}", p_value)
