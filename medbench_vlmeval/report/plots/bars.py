"""Bars by group, with intervals, and forests of models."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ...types import MetricInfo
from .data import Bars, Estimate, Place
from .kinds import group_link
from .sheet import COLOURS, INK, SMALL, Plot, Sheet, quiet, sheet, shown, ticks, with_n

_PANELS_A_LINE = 3
_THICKNESS = 11
"""Of a bar, in pixels."""


def draw_bars(bars: Bars, name: str, title: str, caption: str) -> Plot:
    """Horizontal bars, a panel a metric, in each a cluster of bars a group.

    Raises:
        ImportError: matplotlib is not installed.
    """
    lines = -(-len(bars.panels) // _PANELS_A_LINE)
    cluster = _THICKNESS * len(bars.series) + 10
    with sheet(40 + lines * (46 + cluster * len(bars.places))) as page:
        columns = min(len(bars.panels), _PANELS_A_LINE)
        grid = page.figure.subplots(lines, columns, sharey=True, squeeze=False).flat
        for axes, metric in zip(grid, bars.panels, strict=False):
            _panel(page, axes, bars, metric)
        for axes in list(grid)[len(bars.panels) :]:
            axes.remove()
        if len(bars.series) > 1:
            _legend(page, bars.series)
        return page.plot(name, title, caption)


def _panel(page: Sheet, axes: Any, bars: Bars, metric: MetricInfo) -> None:
    quiet(axes)
    axes.set_title(shown(metric.label))
    axes.set_xlabel(shown(metric.unit), fontsize=SMALL)
    axes.set_xlim(*_reach(bars, metric))
    ticks(axes.xaxis, 6 if len(bars.panels) == 1 else 2)
    axes.set_ylim(len(bars.places) - 0.4, -0.6)
    axes.set_yticks(range(len(bars.places)), [_place_label(bars, it) for it in bars.places])
    for overall in axes.get_yticklabels()[:1]:  # none beside the leftmost panel, which has them
        overall.set_fontweight("bold")
    thickness = 0.8 / len(bars.series)
    for at, place in enumerate(bars.places):
        for number, label in enumerate(bars.series):
            y = at - 0.4 + thickness * (number + 0.5)
            found = bars.estimates.get((metric.name, place, label))
            if found is not None:
                tip = _tip(place, label, metric, found)
                url = page.link(group_link(*place), tip)
                _bar(axes, metric, found, y, thickness, COLOURS[number], url)
                _note(axes, found, y, bars.n_of(place))


def _reach(bars: Bars, metric: MetricInfo) -> tuple[float, float]:
    """The metric's scale, and what leaves it: a published mean or its interval can."""
    found = [it for key, it in bars.estimates.items() if key[0] == metric.name]
    ends = [end for it in found for end in (it.value, it.low, it.high) if end is not None]
    return min(metric.bounds[0], *ends), max(metric.bounds[1], *ends)


def _bar(
    axes: Any,
    metric: MetricInfo,
    found: Estimate,
    y: float,
    thickness: float,
    colour: str,
    url: str,
) -> None:
    if found.value is None:
        return
    start = metric.bounds[0]
    (bar,) = axes.barh(y, found.value - start, thickness * 0.86, left=start, color=colour)
    bar.set_url(url)
    if found.interval is not None:
        axes.hlines(y, *found.interval, color=INK, linewidth=1.2, clip_on=False)


def _note(axes: Any, found: Estimate, y: float, n_range: tuple[int, int]) -> None:
    if found.value is None:
        text = "no value"
    elif n_range == (found.n_scored, found.n_scored):
        return
    else:
        text = f"n {found.n_scored}"
    place = axes.get_yaxis_transform()
    axes.text(1.02, y, text, transform=place, va="center", fontsize=9)


def _place_label(bars: Bars, place: Place) -> str:
    low, high = bars.n_of(place)
    n = str(low) if low == high else f"{low}–{high}"
    return with_n(place[1], n, most=28)


def _tip(place: Place, label: str, metric: MetricInfo, found: Estimate) -> str:
    return f"{place[1]}, {label}: {metric.label} {_spoken(found.value, found.interval)}, " + (
        f"{found.n_scored} of {found.n_expected} scored"
    )


def _spoken(value: float | None, interval: tuple[float, float] | None) -> str:
    if value is None:
        return "no value"
    if interval is None:
        return f"{value:.3f}, no interval"
    return f"{value:.3f} ({interval[0]:.3f} – {interval[1]:.3f})"


def titled(metric: MetricInfo) -> str:
    """A metric's label with its unit."""
    return shown(f"{metric.label} [{metric.unit}]" if metric.unit else metric.label)


def _legend(page: Sheet, names: Sequence[str]) -> None:
    from matplotlib.patches import Patch

    handles = [
        Patch(color=colour, label=shown(name)) for name, colour in zip(names, COLOURS, strict=False)
    ]
    columns = 1 if max(map(len, names)) > 26 else min(len(names), 3)
    page.figure.legend(handles=handles, loc="outside upper left", ncols=columns)


@dataclass(frozen=True)
class ForestRow:
    """One line of a forest plot: a model, what was measured of it and what was published."""

    label: str
    value: float | None = None
    """Measured here; None for a model that was only published."""
    low: float | None = None
    high: float | None = None
    n: int | None = None
    """Samples in the mean."""
    published: float | None = None
    is_baseline: bool = False
    """A trivial answer that a model should beat."""
    href: str = ""
    """A fragment or a relative address that the line leads to."""


def forest_plot(
    rows: Sequence[ForestRow],
    metric: MetricInfo,
    *,
    name: str = "forest",
    title: str = "",
    caption: str = "",
) -> Plot:
    """Models below each other, in the order given: mean with interval, published mean hollow.

    Args:
        rows: from the top down; rows without any number keep their line and say so.
        metric: gives label, unit and the axis.
        name: of the plot.
        title: for readers who cannot see it; the metric's label where empty.
        caption: in front of what the marks mean.

    Raises:
        ImportError: matplotlib is not installed.
    """
    with sheet(70 + 21 * max(len(rows), 1)) as page:
        axes = page.figure.subplots()
        quiet(axes)
        axes.set_title(titled(metric))
        axes.set_ylim(len(rows) - 0.4, -0.6)
        axes.set_yticks(range(len(rows)), [_row_label(row) for row in rows])
        for y, row in enumerate(rows):
            _forest_line(page, axes, metric, row, y)
        _widen(axes, metric)
        legend = "Dots are means measured here, lines their 95 % intervals, hollow diamonds "
        legend += "published means, grey squares trivial baselines."
        return page.plot(name, title or titled(metric), f"{caption} {legend}".strip())


def _row_label(row: ForestRow) -> str:
    most = 36
    return shown(row.label, most=most) if row.n is None else with_n(row.label, row.n, most=most)


def _forest_line(page: Sheet, axes: Any, metric: MetricInfo, row: ForestRow, y: float) -> None:
    interval = None if row.low is None or row.high is None else (row.low, row.high)
    if row.published is not None:
        url = page.link(row.href, f"{row.label}: published {row.published:.3f}")
        axes.scatter(
            [row.published], [y], s=52, marker="D", c="none", edgecolors=COLOURS[1],
            linewidths=1.6, urls=[url], clip_on=False, zorder=4,
        )  # fmt: skip
    if row.value is not None:
        colour = COLOURS[-1] if row.is_baseline else COLOURS[0]
        url = page.link(row.href, f"{row.label}: {_spoken(row.value, interval)}")
        if interval is not None:
            axes.hlines(y, *interval, color=colour, linewidth=2, clip_on=False)
        marker = "s" if row.is_baseline else "o"
        axes.scatter([row.value], [y], s=40, marker=marker, c=colour, urls=[url], clip_on=False)
    elif row.published is None:
        place = axes.get_yaxis_transform()
        axes.text(0.01, y, "no value", transform=place, va="center", fontsize=SMALL)


def _widen(axes: Any, metric: MetricInfo) -> None:
    """Show the whole scale of fractions and points; of wider scales the part that is used."""
    ticks(axes.xaxis, 6)
    if metric.bounds[1] - metric.bounds[0] <= 10:
        axes.set_xlim(*metric.bounds)
    else:
        axes.margins(x=0.05)
