"""The rows of a board: from runs, from answers that need no model, from the published ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from ...types import MetricInfo
from ..published import PublishedCell, PublishedTable, ledger_name, tables
from ..runs import Run
from ..table_numbers import count_of, number_of
from .board import Board, Cell, CellKey, Row, RowKind, headline_metrics
from .comparability import Comparison, Standing
from .judge_identity import snapshots_of

BASELINE_PREFIX = "Baseline-"
"""What the names of our trivial models begin with."""

_KINDS: tuple[RowKind, ...] = ("measured", "baseline", "published")


def board_of(comparison: Comparison, *, with_published: bool = True) -> Board:
    """The board of the runs that may be compared.

    Args:
        comparison: with at least one run that stands.
        with_published: add the models of the published tables.

    Raises:
        ValueError: no run stands.
        RunUnreadable: a table of groups that cannot be read.
    """
    reference = comparison.reference
    if reference is None:
        raise ValueError(f"expected a run that can stand on a board of {comparison.dataset}")
    metrics = _metrics(comparison.standing)
    rows = [measured_row(it, metrics) for it in comparison.standing]
    rows += trivial_rows(reference)
    unmatched: tuple[PublishedCell, ...] = ()
    if with_published and not _is_partial(reference):
        published, unmatched = published_rows(comparison.dataset, {it.name for it in metrics})
        rows += published
    sorted_by = _sorting_metric(rows, metrics)
    return Board(
        dataset=comparison.dataset,
        metrics=metrics,
        rows=tuple(sorted(rows, key=lambda row: _order(row, sorted_by))),
        groups=_groups(rows),
        comparison=comparison,
        sorted_by=sorted_by,
        n_samples=len(reference.rows),
        unmatched=unmatched,
        notes=tuple(_notes(comparison, reference, with_published)),
    )


def measured_row(standing: Standing, metrics: Sequence[MetricInfo]) -> Row:
    """The row of a run; judged cells are blank where its judge is not the board's."""
    run = standing.run
    by_name = {metric.name: metric for metric in metrics}
    cells: dict[CellKey, Cell] = {}
    for line in run.table:
        metric = by_name.get(line["metric"])
        if metric is not None:
            blank = standing.why_unjudged if metric.judged else ""
            key = CellKey(metric.name, line["group_by"], line["group"])
            cells[key] = _measured_cell(line, blank)
    return Row(
        name=run.model,
        kind="baseline" if run.model.startswith(BASELINE_PREFIX) else "measured",
        cells=cells,
        run=run,
        source=run.place,
        judge=_judged_by(standing),
        created=run.created,
        notes=(*standing.notes, *_gaming(run)),
    )


def _gaming(run: Run) -> list[str]:
    """Signs that the run's scores were not earned, as its evaluation found them."""
    found = run.manifest.get("gaming", ())
    return [str(line) for line in found] if isinstance(found, list) else []


def _judged_by(standing: Standing) -> str:
    if standing.judge is None:
        return ""
    answered = ", ".join(snapshots_of(standing.run))
    return standing.judge.model + (f" ({answered})" if answered else "")


def _measured_cell(line: Mapping[str, str], blank: str) -> Cell:
    n_expected, n_answered = (count_of(line, name) for name in ("n_expected", "n_answered"))
    if blank:
        return Cell(None, n_expected=n_expected, n_answered=n_answered, note=blank)
    value, low, high, floor, ceiling = (
        number_of(line, name) for name in ("value", "low", "high", "floor", "ceiling")
    )
    return Cell(
        value, low, high, n_expected, n_answered, count_of(line, "n_scored"), floor, ceiling,
        note="" if value is not None else "no sample could be scored",
    )  # fmt: skip


def trivial_rows(run: Run) -> list[Row]:
    """What answers without looking reach, where the manifest says so (MedSG-Bench)."""
    answers: Mapping[str, Mapping[str, Any]] = run.manifest.get("trivial_answers") or {}
    known = {metric.name for metric in run.metrics}
    return [
        Row(
            name=name,
            kind="baseline",
            cells={
                CellKey(metric): Cell(float(value), n_expected=len(run.rows))
                for metric, value in means.items()
                if metric in known
            },
            source="computed from the data",
            notes=("answers without looking at any image",),
        )
        for name, means in answers.items()
    ]


def published_rows(
    dataset: str, metrics: Iterable[str]
) -> tuple[list[Row], tuple[PublishedCell, ...]]:
    """The models of the published tables, and the figures that no run has a counterpart for."""
    known = set(metrics)
    by_model: dict[str, list[tuple[PublishedTable, PublishedCell]]] = {}
    unmatched = []
    for table in tables():
        for cell in table.cells(ledger_name(dataset)):
            if cell.is_comparable and cell.metric in known:
                by_model.setdefault(cell.model, []).append((table, cell))
            else:
                unmatched.append(cell)
    return [_published_row(model, found) for model, found in by_model.items()], tuple(unmatched)


def _published_row(model: str, found: Sequence[tuple[PublishedTable, PublishedCell]]) -> Row:
    of_tables = {table.id: table for table, _ in found}.values()
    judges = {table.judge for table in of_tables if table.judge is not None}
    return Row(
        name=model,
        kind="published",
        cells={
            CellKey(cell.metric, cell.group_by, cell.group): Cell(
                cell.value,
                n_scored=cell.n,
                note=cell.note,
                printed=cell.as_printed,
                half_unit=cell.half_unit,
                caveats=cell.caveats,
                is_doubtful=cell.is_doubtful,
                table=cell.table,
            )
            for _, cell in found
        },
        source="; ".join(table.source.citation for table in of_tables),
        judge=", ".join(
            f"{judge.name} ({judge.version or 'version not published'})" for judge in judges
        ),
        created=max(table.source.date for table in of_tables),
        zoo=tuple(dict.fromkeys(name for _, cell in found for name in cell.zoo)),
    )


def _metrics(standing: Sequence[Standing]) -> tuple[MetricInfo, ...]:
    """The columns of all runs, in the order of the run that has most."""
    found: dict[str, MetricInfo] = {}
    for own in sorted((it.run.metrics for it in standing), key=len, reverse=True):
        for metric in own:
            found.setdefault(metric.name, metric)
    return tuple(found.values())


def _groups(rows: Iterable[Row]) -> dict[str, tuple[str, ...]]:
    found: dict[str, dict[str, None]] = {}
    for row in rows:
        for key in row.cells:
            if key.group_by != "overall":
                found.setdefault(key.group_by, {})[key.group] = None
    return {group_by: tuple(groups) for group_by, groups in found.items()}


def _sorting_metric(rows: Sequence[Row], metrics: Sequence[MetricInfo]) -> MetricInfo:
    """The first judged headline that at least half of the runs have, else the first headline.

    Where a judge was asked, its verdict is the point of the benchmark: a model that changes nothing
    preserves the context perfectly.
    """
    headline = headline_metrics(metrics) or tuple(metrics)
    measured = [row for row in rows if row.run is not None]
    for metric in (it for it in headline if it.judged and it.protocol == "official"):
        with_value = [row for row in measured if _value(row, metric) is not None]
        if 2 * len(with_value) >= len(measured):
            return metric
    return next((metric for metric in headline if not metric.judged), headline[0])


def _order(row: Row, metric: MetricInfo) -> tuple[int, bool, float, str]:
    value = _value(row, metric)
    sign = -1.0 if metric.higher_is_better else 1.0
    return _KINDS.index(row.kind), value is None, sign * (value or 0.0), row.name


def _value(row: Row, metric: MetricInfo) -> float | None:
    cell = row.cell(metric.name)
    return cell.value if cell else None


def _is_partial(run: Run) -> bool:
    data = run.manifest.get("data", {})
    return bool(data.get("partial"))


def _notes(comparison: Comparison, reference: Run, with_published: bool) -> Iterator[str]:
    yield from comparison.notes
    data = reference.manifest.get("data", {})
    if any(metric.name == "accuracy" for metric in reference.metrics):
        yield "accuracy is plain: every question once, options in the order of the release"
    published_as = ledger_name(comparison.dataset)
    sizes = {it.n for it in tables() if it.dataset == published_as and it.n is not None}
    if sizes and with_published and max(sizes) != len(reference.rows):
        yield (
            f"over {len(reference.rows)} samples; the published figures of the whole benchmark are "
            f"over {max(sizes)}"
        )
    if _is_partial(reference):
        yield (
            f"about {len(reference.rows)} of {data.get('n_samples')} samples only"
            + ("; published figures are over all, so none is shown" if with_published else "")
        )
