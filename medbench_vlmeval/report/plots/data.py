"""The numbers behind the plots of runs, apart from their drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ...types import MetricInfo
from ..runs import Run, RunUnreadable, read_score
from ..table_numbers import count_of, number_of
from .kinds import Index, Row, failure_of

Place = tuple[str, str]
"""What groups are made by, and the group; ``("overall", "Overall")`` is all samples."""

OVERALL: Place = ("overall", "Overall")
N_BINS = 20


@dataclass(frozen=True)
class Estimate:
    """A mean with its interval, as the table of a run has it; None where there is none."""

    value: float | None
    low: float | None
    high: float | None
    n_scored: int
    n_expected: int

    @property
    def interval(self) -> tuple[float, float] | None:
        """Both ends, or None: an interval with one end is none."""
        return None if self.low is None or self.high is None else (self.low, self.high)


def estimates_of(run: Run) -> dict[tuple[Place, str], Estimate]:
    """The table of a run, by place and metric.

    Raises:
        RunUnreadable: the table is absent, or a line holds something else than numbers.
    """
    table: dict[tuple[Place, str], Estimate] = {}
    for number, line in enumerate(run.table, 2):
        try:
            table[(line["group_by"], line["group"]), line["metric"]] = _estimate(line)
        except (KeyError, TypeError, ValueError) as error:
            raise RunUnreadable(
                f"{run.beside('_acc.csv')}, line {number}: expected a metric's numbers "
                f"({error!r}); evaluate the run again"
            ) from error
    return table


def _estimate(line: Mapping[str, str]) -> Estimate:
    value, low, high = (number_of(line, name) for name in ("value", "low", "high"))
    return Estimate(value, low, high, count_of(line, "n_scored"), count_of(line, "n_expected"))


@dataclass(frozen=True)
class Series:
    """Bars of one colour: a run, and which of its metrics stands in which panel."""

    label: str
    run: Run
    metric_of: Mapping[str, str]


@dataclass(frozen=True)
class Bars:
    """Means by group: a panel a metric, in each a bar a group and series."""

    panels: tuple[MetricInfo, ...]
    places: tuple[Place, ...]
    series: tuple[str, ...]
    estimates: Mapping[tuple[str, Place, str], Estimate]
    """By panel, place and series; where a run has no such group there is nothing."""
    empty: tuple[str, ...]
    """Labels of metrics without a single value, which have no panel."""

    def n_of(self, place: Place) -> tuple[int, int]:
        """The fewest and the most samples that the runs have of a group."""
        found = [it.n_expected for key, it in self.estimates.items() if key[1] == place]
        return (min(found), max(found)) if found else (0, 0)


def bars_of(series: Sequence[Series], metrics: Sequence[MetricInfo], group_by: str) -> Bars:
    """Overall and every group of one kind, in the order of the tables."""
    estimates: dict[tuple[str, Place, str], Estimate] = {}
    places: dict[Place, None] = {OVERALL: None}
    for one in series:
        table = estimates_of(one.run)
        places |= {place: None for place, _ in table if place[0] == group_by}
        for metric in metrics:
            for place in places:
                found = table.get((place, one.metric_of.get(metric.name, "")))
                if found is not None:
                    estimates[metric.name, place, one.label] = found
    valued = {panel for (panel, _, _), it in estimates.items() if it.value is not None}
    return Bars(
        tuple(metric for metric in metrics if metric.name in valued),
        tuple(places),
        tuple(one.label for one in series),
        estimates,
        tuple(metric.label for metric in metrics if metric.name not in valued),
    )


@dataclass(frozen=True)
class Bin:
    """The samples whose score lies from `low` up to `high`; on `low` itself where both are one."""

    low: float
    high: float
    samples: tuple[Index, ...]


@dataclass(frozen=True)
class Distribution:
    """How the scores of one metric spread, and the samples that have none."""

    label: str
    metric: MetricInfo
    bins: tuple[Bin, ...]
    failures: Mapping[str, tuple[Index, ...]]
    """Samples by why they have no score."""

    @property
    def is_stepped(self) -> bool:
        """Whether the bins are single values rather than ranges."""
        return all(it.low == it.high for it in self.bins)

    @property
    def n_scored(self) -> int:
        return sum(len(it.samples) for it in self.bins)

    @property
    def n(self) -> int:
        return self.n_scored + sum(map(len, self.failures.values()))


def distributions_of(
    named_rows: Mapping[str, Sequence[Row]], metric: MetricInfo, steps: int = 0
) -> tuple[Distribution, ...]:
    """One distribution a list of rows, all on the same bins.

    Args:
        named_rows: rows of ``_scores.jsonl`` by the label of their panel.
        metric: the column.
        steps: single values instead of ranges, where every score lies on one of the
            ``steps + 1`` values that divide the bounds evenly; 0 for ranges always.

    Raises:
        RunUnreadable: value and status of a score contradict each other.
    """
    scored: dict[str, list[tuple[float, Index]]] = {}
    failures: dict[str, dict[str, list[Index]]] = {}
    for label, rows in named_rows.items():
        scored[label], failures[label] = _parted(rows, metric)
    values = [value for pairs in scored.values() for value, _ in pairs]
    edges = _edges(values, metric, steps)
    return tuple(
        Distribution(
            label,
            metric,
            _filled(edges, scored[label]),
            {why: tuple(samples) for why, samples in sorted(failures[label].items())},
        )
        for label in named_rows
    )


def _parted(
    rows: Sequence[Row], metric: MetricInfo
) -> tuple[list[tuple[float, Index]], dict[str, list[Index]]]:
    scored: list[tuple[float, Index]] = []
    failures: dict[str, list[Index]] = {}
    for row in rows:
        why = failure_of(row, metric)
        value = score_of(row, metric) if why is None else None
        if value is None:
            failures.setdefault(str(why), []).append(row["index"])
        else:
            scored.append((value, row["index"]))
    return scored, failures


def score_of(row: Row, metric: MetricInfo) -> float | None:
    """The number to draw for a row; None where it has none of its own."""
    score = read_score(row.get("scores", {}).get(metric.name))
    return None if score is None or failure_of(row, metric) is not None else score.value


def _edges(values: Sequence[float], metric: MetricInfo, steps: int) -> list[tuple[float, float]]:
    low, high = metric.bounds
    if steps:
        grid = [low + (high - low) * step / steps for step in range(steps + 1)]
        if all(min(abs(value - it) for it in grid) < 1e-9 for value in values):
            return [(it, it) for it in grid]
    width = (high - low) / N_BINS
    # A published score can leave its bounds, as a negative SSIM does: it gets bins of its own.
    first = min([0, *(_step(value - low, width) for value in values)])
    last = max(
        [N_BINS, *(_step(value - high, width) + N_BINS + 1 for value in values if value > high)]
    )
    return [(low + at * width, low + (at + 1) * width) for at in range(first, last)]


def _step(distance: float, width: float) -> int:
    # A score on an edge belongs above it, as thresholds are inclusive, whatever floats make of it.
    return math.floor(distance / width + 1e-9)


def _filled(
    edges: Sequence[tuple[float, float]], scored: Sequence[tuple[float, Index]]
) -> tuple[Bin, ...]:
    held: list[list[Index]] = [[] for _ in edges]
    (start, end), is_stepped = edges[0], edges[0][0] == edges[0][1]
    width = edges[1][0] - start if is_stepped else end - start
    for value, index in scored:
        at = round((value - start) / width) if is_stepped else _step(value - start, width)
        held[min(at, len(edges) - 1)].append(index)
    return tuple(
        Bin(low, high, tuple(samples)) for (low, high), samples in zip(edges, held, strict=True)
    )
