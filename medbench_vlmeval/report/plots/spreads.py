"""Histograms of scores beside the samples that have none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .bars import titled
from .data import Bin, Distribution
from .kinds import sample_link
from .sheet import COLOURS, INK, SMALL, Plot, Sheet, quiet, sheet, shown, ticks, with_n

_FAILED = COLOURS[1]


def draw_spreads(
    spreads: Sequence[Distribution],
    name: str,
    title: str,
    caption: str,
    marks: Sequence[float] = (),
) -> Plot:
    """A line a distribution: the histogram left, failures by name right, on the same counts.

    Args:
        spreads: from the top down, at least one.
        name: of the plot.
        title: of the plot.
        caption: of the plot.
        marks: values to draw a line at, such as thresholds.

    Raises:
        ImportError: matplotlib is not installed.
    """
    with sheet(sum(map(_height, spreads)) + 10) as page:
        heights = [_height(it) for it in spreads]
        grid = page.figure.subplots(
            len(spreads), 2, squeeze=False, width_ratios=(3, 2), height_ratios=heights
        )
        for (left, right), spread in zip(grid, spreads, strict=True):
            _histogram(page, left, spread, marks)
            _failures(page, right, spread)
        return page.plot(name, title, caption)


def _height(spread: Distribution) -> float:
    return max(120, 60 + 20 * len(spread.failures))


def _histogram(page: Sheet, axes: Any, spread: Distribution, marks: Sequence[float]) -> None:
    quiet(axes, across=False)
    axes.set_title(with_n(spread.label, spread.n))
    step = spread.bins[1].low - spread.bins[0].low
    width = step * (0.7 if spread.is_stepped else 0.94)
    for one in spread.bins:
        middle = (one.low + one.high) / 2
        (bar,) = axes.bar(middle, len(one.samples), width, color=COLOURS[0])
        if one.samples:
            bar.set_url(page.link(sample_link(one.samples), _tip(spread, one)))
        if one.samples and spread.is_stepped:
            axes.text(middle, len(one.samples), len(one.samples), ha="center", va="bottom",
                      fontsize=SMALL)  # fmt: skip
    for mark in marks:
        axes.axvline(mark, color=INK, linewidth=1, linestyle=(0, (4, 3)))
    _scales(axes, spread, step)
    if spread.label != spread.metric.label:
        axes.set_xlabel(titled(spread.metric), fontsize=SMALL)


def _scales(axes: Any, spread: Distribution, step: float) -> None:
    from matplotlib.ticker import MaxNLocator

    beyond = step / 2 if spread.is_stepped else 0
    axes.set_xlim(spread.bins[0].low - beyond, spread.bins[-1].high + beyond)
    ticks(axes.xaxis, 10)
    if spread.is_stepped:
        axes.set_xticks([it.low for it in spread.bins], [f"{it.low:g}" for it in spread.bins])
    axes.set_ylim(0, 1.18 * most(spread))
    axes.yaxis.set_major_locator(MaxNLocator(3, integer=True))
    if not spread.n_scored:
        place = axes.transAxes
        axes.text(0.5, 0.5, "no sample has a score", transform=place, ha="center", fontsize=SMALL)


def most(spread: Distribution) -> int:
    """The longest bar, which histogram and failures share the scale of; at least 1."""
    lengths = [len(it.samples) for it in spread.bins]
    return max(1, *lengths, *map(len, spread.failures.values()))


def _tip(spread: Distribution, one: Bin) -> str:
    end = "" if one.low == one.high else f" – {one.high:.3g}"
    n = len(one.samples)
    return f"{spread.label}: {n} sample{'' if n == 1 else 's'} with {one.low:.3g}{end}"


def _failures(page: Sheet, axes: Any, spread: Distribution) -> None:
    axes.tick_params(length=0, labelsize=SMALL)
    axes.set_xticks([])
    for side in ("bottom", "left"):
        axes.spines[side].set_visible(False)
    names = list(spread.failures)
    axes.set_title("without a score" if names else "all have a score", fontsize=SMALL)
    axes.set_xlim(0, 1.25 * most(spread))
    axes.set_ylim(max(len(names), 3) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [shown(name, most=32) for name in names])
    for y, (name, samples) in enumerate(spread.failures.items()):
        (bar,) = axes.barh(y, len(samples), 0.6, color=_FAILED)
        bar.set_url(page.link(sample_link(samples), f"{spread.label}: {len(samples)} {name}"))
        beside = {"xytext": (4, 0), "textcoords": "offset points"}
        axes.annotate(str(len(samples)), (len(samples), y), va="center", fontsize=SMALL, **beside)
