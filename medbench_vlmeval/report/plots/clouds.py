"""Trade-offs of two metrics: a point a sample, or a point a model with its intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ...types import MetricInfo
from .bars import titled
from .kinds import sample_link
from .pairs import ModelPoint, TradeOff
from .sheet import COLOURS, INK, MARKERS, Plot, Sheet, quiet, sheet, shown, ticks

_SIDE = 430


def draw_trade_off(found: TradeOff, name: str, title: str, caption: str) -> Plot:
    """The samples of one run.

    Raises:
        ImportError: matplotlib is not installed.
    """
    with sheet(_SIDE) as page:
        axes = _axes(page, found.x, found.y)
        axes.scatter(
            [it.x for it in found.points],
            [it.y for it in found.points],
            s=30,
            facecolors=f"{COLOURS[0]}66",
            edgecolors=COLOURS[0],
            linewidths=1,
            clip_on=False,
            urls=[
                page.link(sample_link([it.index]), f"{it.index}: {it.x:.3g}, {it.y:.3g}")
                for it in found.points
            ],
        )
        # A published score can leave its bounds, as a negative SSIM does.
        axes.set_xlim(*_reaching(found.x, [it.x for it in found.points]))
        axes.set_ylim(*_reaching(found.y, [it.y for it in found.points]))
        return page.plot(name, title, caption)


def draw_models(
    points: Sequence[ModelPoint], x: MetricInfo, y: MetricInfo, name: str, title: str, caption: str
) -> Plot:
    """The means of several runs, with crosses where there are intervals.

    Raises:
        ImportError: matplotlib is not installed.
    """
    with sheet(_SIDE + 18 * -(-len(points) // 2)) as page:
        axes = _axes(page, x, y)
        for number, point in enumerate(points):
            _model(page, axes, point, number)
        axes.margins(0.15)
        long = any(len(point.label) > 40 for point in points)
        page.figure.legend(loc="outside upper left", ncols=1 if long else 2)
        return page.plot(name, title, caption)


def _model(page: Sheet, axes: Any, point: ModelPoint, number: int) -> None:
    across, up = point.x.value, point.y.value
    colour = COLOURS[number % len(COLOURS)]
    if point.x.interval is not None:
        axes.hlines(up, *point.x.interval, color=colour, linewidth=1.4, clip_on=False)
    if point.y.interval is not None:
        axes.vlines(across, *point.y.interval, color=colour, linewidth=1.4, clip_on=False)
    url = page.link("", f"{point.label}: {across:.3f}, {up:.3f}")
    axes.scatter(
        [across],
        [up],
        s=64,
        c=colour,
        marker=MARKERS[number % len(MARKERS)],
        label=shown(point.label),
        urls=[url],
        clip_on=False,
        zorder=4,
    )


def _reaching(metric: MetricInfo, values: Sequence[float]) -> tuple[float, float]:
    low, high = metric.bounds
    return min(low, *values), max(high, *values)


def _axes(page: Sheet, x: MetricInfo, y: MetricInfo) -> Any:
    axes = page.figure.subplots()
    quiet(axes, across=False)
    axes.grid(axis="x", color=INK, alpha=0.15, linewidth=0.8)
    axes.set_title(titled(y))
    axes.set_xlabel(titled(x))
    for axis in (axes.xaxis, axes.yaxis):
        ticks(axis, 6)
    return axes
