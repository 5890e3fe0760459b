"""Attention IoU against editing accuracy as a drawing: one panel a model, one point a sample."""

from __future__ import annotations

import io
import math
from collections.abc import Sequence
from typing import Any, Literal

from .quadrants import ACCURACY, QUADRANTS, CutOffs, GroundedRun

PlotFormat = Literal["svg", "png"]

_COLOURS = dict(zip(QUADRANTS, ("#009e73", "#d55e00", "#7a6fd0", "#808080"), strict=True))
_COLUMNS = 3
_SIDE_INCHES = 3.4
_STYLE: Any = {"svg.hashsalt": "medbench", "svg.fonttype": "none", "text.parse_math": False}


def draw_quadrants(
    runs: Sequence[GroundedRun],
    cut_offs: CutOffs | None = None,
    *,
    accuracy: str = ACCURACY,
    kind: PlotFormat = "svg",
) -> bytes:
    """The samples of each run by IoU and accuracy, with the cut-offs and the counts.

    The same runs give the same bytes.

    Args:
        runs: at least one.
        cut_offs: where the lines are.
        accuracy: name of the vertical axis.
        kind: of file.

    Raises:
        ImportError: matplotlib is not installed.
        ValueError: no runs.
    """
    if not runs:
        raise ValueError("expected at least one run to draw, got none")
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError(
            'expected the package matplotlib, got none; pip install "medbench-vlmeval[report]"'
        ) from error
    cuts = cut_offs or CutOffs()
    columns = min(_COLUMNS, len(runs))
    rows = math.ceil(len(runs) / columns)
    with mpl.rc_context(_STYLE):
        size = (_SIDE_INCHES * columns, _SIDE_INCHES * rows + 0.4)
        figure = Figure(figsize=size, layout="constrained")
        grid = figure.subplots(rows, columns, squeeze=False, sharex=True, sharey=True).flat
        for axes, run in zip(grid, runs, strict=False):
            _panel(axes, run, cuts, accuracy)
        for axes in list(grid)[len(runs) :]:
            axes.set_axis_off()
        stream = io.BytesIO()
        metadata = {"Date": None} if kind == "svg" else {"Software": None}
        figure.savefig(stream, format=kind, metadata=metadata, dpi=150)
    return stream.getvalue()


def _panel(axes: Any, run: GroundedRun, cuts: CutOffs, accuracy: str) -> None:
    places = [cuts.quadrant(edit.iou, edit.accuracy) for edit in run.edits]
    for name, colour in _COLOURS.items():
        chosen = [edit for edit, place in zip(run.edits, places, strict=True) if place == name]
        points = [edit.iou for edit in chosen], [edit.accuracy for edit in chosen]
        axes.scatter(*points, s=18, color=colour, alpha=0.6, linewidths=0, clip_on=False)
        _count(axes, name, len(chosen), colour)
    axes.axvline(cuts.iou, color="black", linewidth=0.8, linestyle=":")
    axes.axhline(cuts.accuracy, color="black", linewidth=0.8, linestyle=":")
    axes.set(xlim=(0, 1), ylim=(0, 1), xlabel="attention IoU", ylabel=accuracy)
    axes.set_title(f"{run.model} ({len(run.edits)} of {run.n_expected})", fontsize=9)


def _count(axes: Any, name: str, n: int, colour: str) -> None:
    right, top = name.startswith("high IoU"), name.endswith("high EA")
    axes.text(
        0.97 if right else 0.03,
        0.97 if top else 0.03,
        str(n),
        transform=axes.transAxes,
        horizontalalignment="right" if right else "left",
        verticalalignment="top" if top else "bottom",
        color=colour,
        fontweight="bold",
    )
