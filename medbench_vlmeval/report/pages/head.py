"""What stands at the top of a page: numbers with interval and coverage, groups."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...types import MetricInfo
from ..direction import better
from ..runs import Run
from ..table_numbers import count_of, number_of

_PROTOCOLS = ("official", "strict", "extra")


@dataclass(frozen=True)
class Cell:
    """One number of a table."""

    value: float | None
    low: float | None
    high: float | None
    n_scored: int
    n_expected: int
    n_answered: int
    floor: float | None = None
    ceiling: float | None = None
    """The value if what could not be scored had got the worst or the best one."""
    is_best: bool = False
    """The best of several runs; a tie is nobody's, and nobody is best where no way is better."""


@dataclass(frozen=True)
class Line:
    """A metric (or a group) with one cell a run; None where a run has none."""

    name: str
    metric: MetricInfo
    cells: tuple[Cell | None, ...]


def metrics_of(runs: Sequence[Run]) -> tuple[MetricInfo, ...]:
    """The columns of all runs, official before strict before extra."""
    known = {metric.name: metric for run in reversed(runs) for metric in run.metrics}
    order = dict.fromkeys(metric.name for run in runs for metric in run.metrics)
    return tuple(sorted((known[name] for name in order), key=_place))


def _place(metric: MetricInfo) -> int:
    return _PROTOCOLS.index(metric.protocol)


def headline(runs: Sequence[Run], metrics: Sequence[MetricInfo]) -> dict[str, list[Line]]:
    """Overall lines by protocol; metrics that no run has a value for come too, blank."""
    tables = [_cells(run) for run in runs]
    blocks: dict[str, list[Line]] = {}
    for metric in metrics:
        found = [table.get(("overall", "Overall", metric.name)) for table in tables]
        if any(found):
            cells = _with_best(found, metric)
            blocks.setdefault(metric.protocol, []).append(Line(metric.label, metric, cells))
    return blocks


def group_tables(
    runs: Sequence[Run], metrics: Sequence[MetricInfo]
) -> dict[str, dict[str, list[Line]]]:
    """By grouping, then metric: a line a group. Extra metrics and blank ones are left out."""
    tables = [_cells(run) for run in runs]
    groups: dict[str, dict[str, None]] = {}
    for table in tables:
        for group_by, group, _ in table:
            if group_by != "overall":
                groups.setdefault(group_by, {})[group] = None
    return {
        group_by: {
            metric.name: lines
            for metric in metrics
            if metric.protocol != "extra"
            and (lines := list(_group_lines(tables, group_by, members, metric)))
        }
        for group_by, members in groups.items()
    }


def _group_lines(
    tables: Sequence[Mapping[tuple[str, str, str], Cell]],
    group_by: str,
    groups: Mapping[str, None],
    metric: MetricInfo,
) -> Iterator[Line]:
    lines = []
    for group in groups:
        found = [table.get((group_by, group, metric.name)) for table in tables]
        lines.append(Line(group, metric, _with_best(found, metric)))
    if any(cell and cell.value is not None for line in lines for cell in line.cells):
        yield from lines


def _cells(run: Run) -> dict[tuple[str, str, str], Cell]:
    return {
        (line["group_by"], line["group"], line["metric"]): Cell(
            number_of(line, "value"),
            number_of(line, "low"),
            number_of(line, "high"),
            count_of(line, "n_scored"),
            count_of(line, "n_expected"),
            count_of(line, "n_answered"),
            number_of(line, "floor"),
            number_of(line, "ceiling"),
        )
        for line in run.table
    }


def _with_best(cells: Sequence[Cell | None], metric: MetricInfo) -> tuple[Cell | None, ...]:
    if better(metric) == "neither":
        return tuple(cells)
    values = [cell.value for cell in cells if cell and cell.value is not None]
    best = (max if metric.higher_is_better else min)(values, default=None)
    if len(values) < 2 or values.count(best) > 1:  # type: ignore[arg-type]
        return tuple(cells)
    return tuple(
        Cell(**{**vars(cell), "is_best": True}) if cell and cell.value == best else cell
        for cell in cells
    )
