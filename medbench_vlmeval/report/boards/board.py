"""A board: measured and published results on one data set, every cell with its terms.

`rows.board_of` builds one from runs that may be compared and from the published ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ...types import MetricInfo
from ..published import PublishedCell
from ..runs import Run
from .comparability import Comparison

RowKind = Literal["measured", "baseline", "published"]


class CellKey(NamedTuple):
    """A place on a board, named as in `Summary`."""

    metric: str
    group_by: str = "overall"
    group: str = "Overall"


@dataclass(frozen=True)
class Cell:
    """One number of a row, or why there is none."""

    value: float | None
    low: float | None = None
    high: float | None = None
    """Ends of the 95 % interval; None where it is not known."""
    n_expected: int | None = None
    n_answered: int | None = None
    n_scored: int | None = None
    """Of a published figure: the samples behind it, where known."""
    floor: float | None = None
    ceiling: float | None = None
    """The mean if what could not be scored had got the worst or the best value."""
    note: str = ""
    """Why it is blank, or what speaks against comparing it."""
    printed: str | None = None
    """A published figure as it was printed."""
    half_unit: float | None = None
    """What rounding hides in a published figure."""
    caveats: tuple[str, ...] = ()
    """Codes of `published.CAVEATS`."""
    is_doubtful: bool = False
    """The published figure itself is probably wrong."""
    table: str = ""
    """Id of the published table."""

    @property
    def is_bounded(self) -> bool:
        """Whether samples that could not be scored leave the value open."""
        return self.floor != self.ceiling


@dataclass(frozen=True)
class Row:
    """One model: measured, a trivial baseline, or published."""

    name: str
    kind: RowKind
    cells: Mapping[CellKey, Cell]
    run: Run | None = None
    """Behind a measured row, and behind a baseline that was run."""
    source: str = ""
    """Where the run lies, or the citations of the published tables."""
    judge: str = ""
    """Who judged: as asked for and, in brackets, who answered; as published; empty for nobody."""
    created: str = ""
    """When it was evaluated; the date of the published version."""
    notes: tuple[str, ...] = ()
    zoo: tuple[str, ...] = ()
    """Of a published model: its names in the model zoo."""

    @property
    def is_of_groups_only(self) -> bool:
        """Whether a published model has figures of groups, and none over all samples."""
        return self.kind == "published" and all(key.group_by != "overall" for key in self.cells)

    def cell(self, metric: str, group_by: str = "overall", group: str = "Overall") -> Cell | None:
        return self.cells.get(CellKey(metric, group_by, group))


@dataclass(frozen=True)
class Board:
    """Everything that is shown of one data set."""

    dataset: str
    metrics: tuple[MetricInfo, ...]
    """All columns of the runs."""
    rows: tuple[Row, ...]
    """Measured ones first, best first by `sorted_by`; then baselines, then published ones."""
    groups: Mapping[str, tuple[str, ...]]
    """Organ, task, modality … to the groups that a row has, in the runs' order."""
    comparison: Comparison
    sorted_by: MetricInfo
    n_samples: int
    unmatched: tuple[PublishedCell, ...] = ()
    """Published figures that no run has a counterpart for: listed, never compared."""
    notes: tuple[str, ...] = ()

    @property
    def headline(self) -> tuple[MetricInfo, ...]:
        """Official and strict columns; of those that add up to another one only the sum."""
        return headline_metrics(self.metrics)

    @property
    def overall_rows(self) -> tuple[Row, ...]:
        """Runs, baselines, and the published models that have a figure over all samples."""
        return tuple(row for row in self.rows if not row.is_of_groups_only)

    @property
    def for_groups_only(self) -> tuple[str, ...]:
        """Names of the published models that only tables of groups have."""
        return tuple(row.name for row in self.rows if row.is_of_groups_only)

    def of_kind(self, *kinds: RowKind) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.kind in kinds)

    def metric(self, name: str) -> MetricInfo:
        return next(metric for metric in self.metrics if metric.name == name)


def headline_metrics(metrics: Iterable[MetricInfo]) -> tuple[MetricInfo, ...]:
    """See `Board.headline`: official columns, then strict ones, in the order given."""
    known = list(metrics)
    parts = {name for metric in known for name in metric.sum_of}
    return tuple(
        metric
        for protocol in ("official", "strict")
        for metric in known
        if metric.protocol == protocol and metric.name not in parts
    )
