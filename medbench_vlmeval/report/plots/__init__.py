"""The plots of a report: which ones a run calls for, alone or beside others."""

from __future__ import annotations

from collections.abc import Sequence

from ..runs import Run
from .bars import ForestRow, forest_plot
from .common import bars_plots, spreads_plots
from .sheet import Plot
from .shown import Shown
from .special import agreement_plots, boxes_plots, confusion_plots, trade_off_plots

__all__ = ["ForestRow", "Plot", "forest_plot", "plots_of"]

_EVERY = (
    bars_plots, spreads_plots, boxes_plots, trade_off_plots, confusion_plots, agreement_plots,
)  # fmt: skip


def plots_of(runs: Sequence[Run]) -> tuple[Plot, ...]:
    """What the benchmark of a run calls for, or a comparison of runs on the same data set.

    A metric without any value gets no bars; the caption names it. Runs on several data sets are
    drawn data set by data set.

    Args:
        runs: one run, or several; none gives no plots.

    Returns:
        Plots in the order to show them in, with names that differ. The fragments that their marks
        link to are ``#<group_by>=<group>`` for a group, ``#sample=<index>`` for a sample, and
        ``#samples=<index>,<index>`` for the samples of a bar or cell, each part percent-encoded.

    Raises:
        RunUnreadable: rows or tables of a run cannot be read.
        ImportError: matplotlib is not installed.
    """
    by_dataset: dict[str, list[Run]] = {}
    for run in runs:
        by_dataset.setdefault(run.dataset, []).append(run)
    plots: list[Plot] = []
    for number, members in enumerate(by_dataset.values(), 1):
        start = f"{number}-" if len(by_dataset) > 1 else ""
        shown = Shown(tuple(members), start)
        for drawn in _EVERY:
            plots += drawn(shown)
    return tuple(plots)
