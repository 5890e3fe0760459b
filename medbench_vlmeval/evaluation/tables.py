"""Summaries as text tables for a terminal or a log."""

from __future__ import annotations

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from ..types import MetricInfo, Summary

_WIDTH = 118


def summary_table(
    summaries: Sequence[Summary],
    metrics: Sequence[MetricInfo],
    *,
    title: str,
    group_by: str = "overall",
) -> str:
    """A table as plain text, one line per metric (or per group), with interval and coverage."""
    chosen = [summary for summary in summaries if summary.group_by == group_by]
    if group_by == "overall":
        return _rendered(_by_metric(chosen, metrics, title))
    return _rendered(_by_group(chosen, metrics, title, group_by))


def plain_table(header: Sequence[str], rows: Sequence[Sequence[str]], *, title: str = "") -> str:
    """A table of texts, as plain text."""
    table = Table(title=title or None, title_justify="left")
    for name in header:
        table.add_column(name, overflow="fold")
    for row in rows:
        table.add_row(*map(_plain, row))
    return _rendered(table)


def _by_metric(summaries: Sequence[Summary], metrics: Sequence[MetricInfo], title: str) -> Table:
    table = Table(title=title, title_justify="left")
    for column in ("metric", "protocol"):
        table.add_column(column)
    for column in ("value", "95 % interval", "expected", "answered", "scored"):
        table.add_column(column, justify="right")
    by_name = {summary.metric: summary for summary in summaries}
    for metric in metrics:
        summary = by_name.get(metric.name)
        if summary is None:
            continue
        label = f"{metric.label} [{metric.unit}]" if metric.unit else metric.label
        table.add_row(
            _plain(label),
            metric.protocol,
            shown_value(summary, metric),
            shown_interval(summary, metric),
            str(summary.n_expected),
            str(summary.n_answered),
            str(summary.n_scored),
        )
    return table


def _by_group(
    summaries: Sequence[Summary], metrics: Sequence[MetricInfo], title: str, group_by: str
) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(group_by, no_wrap=True)
    for metric in metrics:
        table.add_column(_plain(metric.label), justify="right")
    table.add_column("expected", justify="right")
    table.add_column("answered", justify="right")
    table.add_column("scored", justify="right")
    by_key = {(summary.group, summary.metric): summary for summary in summaries}
    for group in dict.fromkeys(summary.group for summary in summaries):
        row = [by_key.get((group, metric.name)) for metric in metrics]
        first = next(summary for summary in row if summary is not None)
        values = [
            "" if summary is None else _value_with_interval(summary, metric)
            for summary, metric in zip(row, metrics, strict=True)
        ]
        table.add_row(
            _plain(group),
            *values,
            str(first.n_expected),
            str(first.n_answered),
            str(first.n_scored),
        )
    return table


def shown_value(summary: Summary, metric: MetricInfo) -> str:
    """A value with the digits its unit deserves; a dash where there is none."""
    return "–" if summary.value is None else f"{summary.value:.{_digits(metric)}f}"


def shown_interval(summary: Summary, metric: MetricInfo) -> str:
    """The interval, or the reason for none; with bounds where samples could not be scored."""
    if summary.value is None:
        return "not judged" if metric.judged else "not scored"
    digits = _digits(metric)
    if summary.low is None or summary.high is None:
        text = "one cluster"
    else:
        text = f"{summary.low:.{digits}f} – {summary.high:.{digits}f}"
    if summary.floor is not None and summary.floor != summary.ceiling:
        text += f" (all: {summary.floor:.{digits}f} – {summary.ceiling:.{digits}f})"
    return text


def _value_with_interval(summary: Summary, metric: MetricInfo) -> str:
    text = shown_value(summary, metric)
    if summary.low is None or summary.high is None:
        return text
    digits = _digits(metric) - 1
    return f"{text} ({summary.low:.{digits}f}–{summary.high:.{digits}f})"


def _digits(metric: MetricInfo) -> int:
    return 2 if metric.unit else 3


def _plain(text: str) -> str:
    # rich reads [words in brackets] as markup; names of data are never markup.
    return text.replace("[", r"\[")


def _rendered(table: Table) -> str:
    stream = io.StringIO()
    Console(file=stream, width=_WIDTH, color_system=None, legacy_windows=False).print(table)
    return stream.getvalue().rstrip("\n")
