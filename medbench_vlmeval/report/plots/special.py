"""The plots of one benchmark: boxes, edits that keep or change, conclusions of descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from .clouds import draw_models, draw_trade_off
from .data import distributions_of
from .kinds import Row, counted
from .matrices import draw_matrices
from .pairs import agreement, confusion, model_points, trade_off
from .sheet import Plot
from .shown import SPREAD_CAPTION, Shown
from .spreads import draw_spreads

THRESHOLDS = (0.3, 0.5, 0.7)
"""Of IoU, as the published accuracies count hits."""


def boxes_plots(shown: Shown) -> Iterator[Plot]:
    if "IoU" not in shown.metrics or shown.kind.headline[0] != "IoU":
        return
    iou = shown.metrics["IoU"]
    rows: Mapping[str, Sequence[Row]] = shown.rows
    if shown.is_single:
        every = shown.every[0].rows
        tasks = dict.fromkeys(str(row.get("task", "")) for row in every)
        rows = {"all tasks": every} | {
            task: [row for row in every if str(row.get("task", "")) == task] for task in tasks
        }
    found = [it for it in distributions_of(rows, iou) if it.n]
    if found:
        yield draw_spreads(
            found,
            f"{shown.start}iou",
            "IoU of boxes",
            shown.caption(
                f"Dashed at {', '.join(map(str, THRESHOLDS))}, from which on a box is a hit.",
                SPREAD_CAPTION,
            ),
            marks=THRESHOLDS,
        )


def trade_off_plots(shown: Shown) -> Iterator[Plot]:
    if not {"CP", "EA"} <= set(shown.metrics):
        return
    x, y = shown.metrics["CP"], shown.metrics["EA"]
    name, title = f"{shown.start}trade-off", f"{y.label} against {x.label}"
    if shown.is_single:
        found = trade_off(shown.every[0].rows, x, y)
        absent = f"Not drawn: {counted(found.absent)}." if found.absent else ""
        if found.points:
            n = len(found.points)
            caption = f"A point a sample, n {n}; darker where several lie. {absent}".strip()
            yield draw_trade_off(found, name, title, caption)
        return
    points, without = model_points(shown.labels, shown.every, x, y)
    if points:
        caption = "A point a run; lines are 95 % intervals, absent where there is none. "
        caption += "The axes show the part of the scale in use."
        caption += f" Not drawn, as a mean is missing: {', '.join(without)}." if without else ""
        yield draw_models(points, x, y, name, title, caption)


def confusion_plots(shown: Shown) -> Iterator[Plot]:
    if all("reference_conclusion" not in row for run in shown.runs for row in run.rows[:1]):
        return
    found = {label: confusion(label, rows) for label, rows in shown.rows.items()}
    matrices = [matrix for matrix, _ in found.values() if matrix.cells]
    n = max(left for _, left in found.values())
    if matrices:
        yield draw_matrices(
            matrices,
            f"{shown.start}conclusions",
            "Conclusions: reference against reply",
            shown.caption(
                "Counts of samples; a cell is as deep as its share of its row, framed where both "
                "agree.",
                f"{n} samples are left out, as their reference closes with none." if n else "",
            ),
        )


def agreement_plots(shown: Shown) -> Iterator[Plot]:
    names = ("quality_accuracy", "quality_accuracy_read")
    if not set(names) <= set(shown.metrics):
        return
    judged, read = (shown.metrics[name] for name in names)
    found = [agreement(label, rows, judged, read) for label, rows in shown.rows.items()]
    matrices = [it for it in found if any(it.n_row(row) for row in it.rows[:-1])]
    if matrices:
        yield draw_matrices(
            matrices,
            f"{shown.start}agreement",
            "Quality accuracy: by the judge against read from the reply",
            shown.caption("Counts of samples, framed where both give the same points."),
        )
