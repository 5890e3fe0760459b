"""The numbers behind plots of two things at once: trade-offs and confusions."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from ...types import MetricInfo
from ..runs import Run
from .data import OVERALL, Estimate, estimates_of, score_of
from .kinds import Index, Row, failure_of

GRADES = ("good", "usable", "reject", "first", "second")
"""Conclusions in the order that a reader expects them in."""
NONE_READ = "none"
NO_SCORE = "no score"


@dataclass(frozen=True)
class Point:
    """One sample with a score on both axes."""

    index: Index
    x: float
    y: float


@dataclass(frozen=True)
class TradeOff:
    """The samples of a run by two metrics."""

    x: MetricInfo
    y: MetricInfo
    points: tuple[Point, ...]
    absent: tuple[str, ...]
    """Why samples are not among the points, a reason each."""


def trade_off(rows: Sequence[Row], x: MetricInfo, y: MetricInfo) -> TradeOff:
    """Samples that have both scores; of the others the reason on the first axis that lacks one."""
    points, absent = [], []
    for row in rows:
        across, up = score_of(row, x), score_of(row, y)
        if across is None or up is None:
            absent.append(str(failure_of(row, x) or failure_of(row, y)))
        else:
            points.append(Point(row["index"], across, up))
    return TradeOff(x, y, tuple(points), tuple(absent))


@dataclass(frozen=True)
class ModelPoint:
    """The overall means of one run on both axes."""

    label: str
    x: Estimate
    y: Estimate


def model_points(
    labels: Sequence[str], runs: Sequence[Run], x: MetricInfo, y: MetricInfo
) -> tuple[tuple[ModelPoint, ...], tuple[str, ...]]:
    """Runs with both means, and the labels of those without."""
    points, absent = [], []
    for label, run in zip(labels, runs, strict=True):
        table = estimates_of(run)
        across, up = table.get((OVERALL, x.name)), table.get((OVERALL, y.name))
        if across is None or up is None or across.value is None or up.value is None:
            absent.append(label)
        else:
            points.append(ModelPoint(label, across, up))
    return tuple(points), tuple(absent)


@dataclass(frozen=True)
class Matrix:
    """Samples by two labels; the last row or column can hold those without one."""

    label: str
    row_axis: str
    column_axis: str
    rows: tuple[str, ...]
    columns: tuple[str, ...]
    cells: Mapping[tuple[str, str], tuple[Index, ...]]

    def n(self, row: str, column: str) -> int:
        return len(self.cells.get((row, column), ()))

    def n_row(self, row: str) -> int:
        return sum(self.n(row, column) for column in self.columns)


def confusion(label: str, rows: Sequence[Row]) -> tuple[Matrix, int]:
    """Conclusions of references against those of replies, and how many references have none."""
    usable = [row for row in rows if row.get("reference_conclusion")]
    cells = _cells(
        usable,
        lambda row: str(row["reference_conclusion"]),
        lambda row: str(row.get("conclusion") or NONE_READ),
    )
    found = {name for pair in cells for name in pair} - {NONE_READ}
    known = [group for group in (GRADES[:3], GRADES[3:]) if found & set(group)]
    names = tuple(dict.fromkeys([*(name for group in known for name in group), *sorted(found)]))
    matrix = Matrix(label, "reference", "reply", names, (*names, NONE_READ), cells)
    return matrix, len(rows) - len(usable)


def agreement(label: str, rows: Sequence[Row], judged: MetricInfo, read: MetricInfo) -> Matrix:
    """Points by the judge against points read from the reply; means of rounds to whole points."""
    cells = _cells(rows, lambda row: _points(row, judged), lambda row: _points(row, read))
    low, high = judged.bounds
    names = (*(str(point) for point in range(int(low), int(high) + 1)), NO_SCORE)
    return Matrix(label, judged.label, read.label, names, names, cells)


def _points(row: Row, metric: MetricInfo) -> str:
    value = score_of(row, metric)
    return NO_SCORE if value is None else str(int(value + 0.5))


def _cells(
    rows: Sequence[Row], row_of: Callable[[Row], str], column_of: Callable[[Row], str]
) -> dict[tuple[str, str], tuple[Index, ...]]:
    cells: dict[tuple[str, str], list[Index]] = {}
    for row in rows:
        cells.setdefault((row_of(row), column_of(row)), []).append(row["index"])
    return {key: tuple(samples) for key, samples in cells.items()}
