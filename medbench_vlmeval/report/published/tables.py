"""What a published table is made of, and the codes that its cells are marked with."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal

CAVEATS: Mapping[str, str] = {
    "misprint_suspected": "probably not what the authors measured; the note says what speaks "
    "against it",
    "does_not_add_up": "a total that its parts do not give, or a part of such a total where it is "
    "not known which figure is wrong",
    "denominator_unknown": "how many samples, or which, stand behind the figure is not known",
    "averaged_otherwise": "a mean by another rule than the totals of the other tables, which are "
    "over samples",
    "rounded": "printed to fewer digits than the benchmark's other figures",
    "extracted_by_machine": "a program took it out of a document; not checked against that",
    "read_off_picture": "read by eye off a picture in which it is printed",
    "digitised": "measured in a plot without figures; the half unit is the error of measuring",
    "earlier_version": "from a draft or the version under review; the final one was not compared",
    "other_protocol": "measured in another way than a run here does, so a difference is expected",
    "no_counterpart": "no result of a run here is defined like this: shown, never compared",
    "unreadable": "printed, but not in the copy that was read; there is no value",
    "not_printed": "the source leaves the place empty; there is no value",
}
"""Code to meaning."""

WITHOUT_VALUE = frozenset({"unreadable", "not_printed"})
"""The codes that say why a place of a table has no figure."""


@dataclass(frozen=True)
class Source:
    """Where a table comes from."""

    paper: str
    authors: str
    venue: str
    arxiv: str
    table: str
    date: str
    """Year, month or day of the version that was read."""
    read_from: str
    """The file or page that the figures were taken from."""

    @property
    def citation(self) -> str:
        """One line for a footnote."""
        return (
            f'{self.authors}, "{self.paper}", {self.venue}, arXiv {self.arxiv}, {self.table} '
            f"({self.date}; {self.read_from})"
        )


@dataclass(frozen=True)
class Judge:
    """The model that gave the points."""

    name: str
    version: str | None
    """`None`: not published."""


@dataclass(frozen=True)
class Column:
    """What the figures of one column are, in our terms."""

    key: str
    """Its name in the table, unique there."""
    metric: str
    """The name of our `MetricInfo`; the paper's name where the cells are ``no_counterpart``."""
    group_by: str
    group: str
    n: int | None
    """Samples, where known."""
    alone: str | None
    """Our data set of which this column is the overall figure, if there is one."""
    scale: Decimal
    """Printed figure times this is our value: 0.01 for percent."""
    decimals: int
    half_unit: float
    """In our scale."""


@dataclass(frozen=True)
class Row:
    """The figures of one model."""

    model: str
    """As published."""
    zoo: tuple[str, ...]
    """Names in the model zoo for the same model; of a service, its snapshots that may be meant."""
    cells: Mapping[str, str | None]
    """Column key to what is printed."""


@dataclass(frozen=True)
class Mark:
    """A caveat about all cells of a table, or about some rows and columns of it."""

    caveat: str
    note: str
    models: tuple[str, ...] = ()
    """Empty: all."""
    columns: tuple[str, ...] = ()
    """Empty: all."""

    def covers(self, model: str, column: str) -> bool:
        return (not self.models or model in self.models) and (
            not self.columns or column in self.columns
        )

    @property
    def breadth(self) -> int:
        """0 for some cells, 1 for whole rows or columns, 2 for the whole table."""
        return (not self.models) + (not self.columns)


@dataclass(frozen=True)
class PublishedCell:
    """One published figure, in our scale and named like a `Summary` of ours."""

    table: str
    """Id of its table."""
    column: str
    """Key of its column."""
    dataset: str
    """Our data set whose results it can be held against."""
    model: str
    zoo: tuple[str, ...]
    metric: str
    group_by: str
    group: str
    n: int | None
    value: float
    as_printed: str
    half_unit: float
    """What rounding to the last printed digit hides, in our scale: the measured value lies within
    this distance of `value`."""
    caveats: tuple[str, ...]
    """Codes of `CAVEATS`, those about few cells first."""
    note: str
    """The caveats' notes, in the same order; empty without caveats."""

    @property
    def is_comparable(self) -> bool:
        """Whether a run can have the same figure."""
        return "no_counterpart" not in self.caveats

    @property
    def is_doubtful(self) -> bool:
        """Whether the figure itself is probably wrong, or part of a sum that is."""
        return not {"misprint_suspected", "does_not_add_up"}.isdisjoint(self.caveats)


@dataclass(frozen=True)
class PublishedTable:
    """One table of a paper, as printed."""

    id: str
    benchmark: str
    title: str
    source: Source
    judge: Judge | None
    """`None`: not judged."""
    dataset: str
    """Ours, that the table is about."""
    n: int | None
    """Samples behind the whole table, where known."""
    note: str
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    marks: tuple[Mark, ...]

    def cells(self, dataset: str | None = None) -> Iterator[PublishedCell]:
        """Every figure; with `dataset`, those that its results can be held against."""
        for row in self.rows:
            for column in self.columns:
                printed = row.cells[column.key]
                if printed is None:
                    continue
                if dataset in (None, self.dataset):
                    yield self._cell(row, column, printed, alone=False)
                elif dataset == column.alone:
                    yield self._cell(row, column, printed, alone=True)

    def marks_of(self, model: str, column: str) -> list[Mark]:
        """The marks on one place, those about few cells first."""
        found = [mark for mark in self.marks if mark.covers(model, column)]
        return sorted(found, key=lambda mark: mark.breadth)

    def _cell(self, row: Row, column: Column, printed: str, *, alone: bool) -> PublishedCell:
        marks = self.marks_of(row.model, column.key)
        return PublishedCell(
            table=self.id,
            column=column.key,
            dataset=column.alone if alone and column.alone else self.dataset,
            model=row.model,
            zoo=row.zoo,
            metric=column.metric,
            group_by="overall" if alone else column.group_by,
            group="Overall" if alone else column.group,
            n=column.n,
            value=float(Decimal(printed) * column.scale),
            as_printed=printed,
            half_unit=column.half_unit,
            caveats=tuple(dict.fromkeys(mark.caveat for mark in marks)),
            note=" ".join(dict.fromkeys(mark.note for mark in marks)),
        )
