"""The plots that every run calls for: means by group, and how scores spread."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ...types import MetricInfo
from .bars import draw_bars
from .data import Distribution, Series, bars_of, distributions_of
from .kinds import strict_twin
from .sheet import Plot
from .shown import SPREAD_CAPTION, Shown
from .spreads import draw_spreads


def bars_plots(shown: Shown) -> Iterator[Plot]:
    for group_by in shown.kind.group_by:
        if all(line["group_by"] != group_by for run in shown.runs for line in run.table):
            continue
        if shown.is_single:
            yield from _bars_of(shown, group_by, _both_protocols(shown), "")
        else:
            yield from _bars_of(shown, group_by, _side_by_side(shown, strict=False), "")
            yield from _bars_of(shown, group_by, _side_by_side(shown, strict=True), "strict")


def _both_protocols(shown: Shown) -> list[Series]:
    (run,) = shown.runs
    series: dict[str, dict[str, str]] = {"official": {}, "strict": {}}
    for metric in shown.headline:
        twin = strict_twin(run, metric)
        series.setdefault(metric.protocol, {})[metric.name] = metric.name
        if twin is not None:
            series[twin.protocol][metric.name] = twin.name
    return [Series(label, run, metric_of) for label, metric_of in series.items() if metric_of]


def _side_by_side(shown: Shown, *, strict: bool) -> list[Series]:
    series = []
    for label, run in zip(shown.labels, shown.runs, strict=False):
        twins = {metric.name: strict_twin(run, metric) for metric in shown.headline}
        names = {name: twin.name for name, twin in twins.items() if twin is not None}
        series.append(Series(label, run, names if strict else {name: name for name in twins}))
    return series


def _bars_of(
    shown: Shown, group_by: str, series: Sequence[Series], protocol: str
) -> Iterator[Plot]:
    metrics = [it for it in shown.headline if any(it.name in one.metric_of for one in series)]
    bars = bars_of(series, metrics, group_by)
    if not bars.panels:
        return
    words = group_by.replace("_", " ")
    yield draw_bars(
        bars,
        "-".join(filter(None, (f"{shown.start}bars", _slug(group_by), protocol))),
        f"Means by {words}{protocol and f', {protocol}'}",
        shown.caption(
            "Lines are 95 % intervals; where there is none, there is no line. n beside a bar is "
            "what is in its mean, where that is not the whole group.",
            f"Without any value: {', '.join(bars.empty)}." if bars.empty else "",
        ),
    )


def spreads_plots(shown: Shown) -> Iterator[Plot]:
    metrics = [it for it in shown.headline if it.name != "IoU"]
    found = {metric.label: _spread(shown, metric) for metric in metrics}
    unjudged = [label for label, spreads in found.items() if not spreads]
    if not shown.is_single:
        for metric in metrics:
            if found[metric.label]:
                yield draw_spreads(
                    found[metric.label],
                    f"{shown.start}scores-{_slug(metric.name)}",
                    f"{metric.label}: scores of samples",
                    shown.caption("Scores of single samples, a line a run.", SPREAD_CAPTION),
                )
    elif any(found.values()):
        yield draw_spreads(
            [one for spreads in found.values() for one in spreads],
            f"{shown.start}scores",
            "Scores of samples",
            shown.caption(
                "Scores of single samples, a line a metric.",
                SPREAD_CAPTION,
                f"Not judged: {', '.join(unjudged)}." if unjudged else "",
            ),
        )


def _spread(shown: Shown, metric: MetricInfo) -> list[Distribution]:
    """A distribution a run; none at all where nobody was judged."""
    rows = {metric.label: shown.every[0].rows} if shown.is_single else shown.rows
    found = distributions_of(rows, metric, shown.kind.steps.get(metric.name, 0))
    if all(it.n_scored == 0 and "not judged" in it.failures for it in found):
        return []
    return [it for it in found if it.n]


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
