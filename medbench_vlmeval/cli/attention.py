"""``medbench attention``: where an editor looks for each word, and whether that is the ROI."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evaluation.attention import AttentionResult
    from ..report.quadrants import GroundedRun, QuadrantCount
    from ..report.quadrants_plot import PlotFormat

_FOLDER = click.Path(path_type=Path, file_okay=False)
_FILE = click.Path(path_type=Path, exists=True, dir_okay=False)
_RUN = click.Path(path_type=Path, exists=True)


@click.command()
@click.option("--model", required=True, help="An editor on a UNet, e.g. InstructPix2Pix.")
@click.option("--data", "dataset", required=True, help="MedEBench_test or MedEBench_sample.")
@click.option("--out", type=_FOLDER, default=None, help="Folder.  [default: attention/MODEL@DATA]")
@click.option("--config", type=_FILE, default=None, help="Take the model from this --config file.")
@click.option("--limit", type=click.IntRange(1), default=None, help="Only the first samples.")
@click.option("--square", is_flag=True, help="Squash pictures to 512 x 512, as published.")
@click.option("--tokens", type=_FILE, default=None, help="Words by sample: checked before editing.")
def attention(
    model: str,
    dataset: str,
    out: Path | None,
    config: Path | None,
    limit: int | None,
    square: bool,
    tokens: Path | None,
) -> None:
    """Let MODEL edit DATA and record where its UNet looks for each word of the instruction.

    Samples that have their maps are left out, so a killed command goes on where it stopped.
    """
    from ..data import load_medebench
    from ..evaluation.attention_keys import keys_of, read_keys
    from ..hosting.attention_run import AttentionTask, record_attention
    from ..hosting.one_edit_options import models_of_config
    from ..hosting.probes import find_host
    from ..naming import file_stem

    data = load_medebench(dataset)
    if tokens is not None:
        keys_of(data.samples, read_keys(tokens))
    folder = out or Path("attention") / file_stem(model, dataset)
    models = models_of_config(config) if config else {}
    task = AttentionTask(model, data, folder, models, limit=limit, square=square)
    done = record_attention(task, find_host())
    click.echo(
        f"{folder}: {done.n_recorded} maps in {done.seconds:.0f} s, {done.n_there} were there, "
        f"{len(done.failed)} failed"
    )
    for index, note in list(done.failed.items())[:10]:
        click.echo(f"  sample {index}: {note}")
    chosen = f" --tokens {tokens}" if tokens else ""
    click.echo(f"next: medbench attention-score {folder} --data {dataset}{chosen}")


@click.command("attention-score")
@click.argument("maps", type=click.Path(path_type=Path, exists=True, file_okay=False))
@click.option("--data", "dataset", required=True, help="MedEBench_test or MedEBench_sample.")
@click.option("--run", type=_RUN, default=None, help="Write beside this run of the same editor.")
@click.option("--name", default=None, help="Name of the model.  [default: that of MAPS]")
@click.option("--tokens", type=_FILE, default=None, help="JSON or CSV: words by sample's id.")
@click.option("--overlays", type=_FOLDER, default=None, help="Write a picture of each sample here.")
def attention_score(
    maps: Path,
    dataset: str,
    run: Path | None,
    name: str | None,
    tokens: Path | None,
    overlays: Path | None,
) -> None:
    """Score the attention maps of MAPS (npz or png by sample's id) against the ROIs of DATA."""
    from ..data import load_medebench
    from ..evaluation.attention import AttentionFiles, evaluate_attention
    from ..evaluation.attention_keys import keys_of, read_keys
    from ..naming import file_stem

    data = load_medebench(dataset)
    keys = keys_of(data.samples, read_keys(tokens) if tokens else None)
    stem = maps.resolve().name if name is None else name
    if f"@{dataset}" not in stem:
        stem = file_stem(stem, dataset)
    predictions, edits = maps / f"{stem}.jsonl", None
    if run is not None:
        predictions, edits = _judged(run, dataset)
    files = AttentionFiles(predictions)
    result = evaluate_attention(maps, data, keys, files, edits=edits, overlays=overlays)
    click.echo(_shown(result, f"attention of {files.predictions.stem}"))


def _judged(path: Path, dataset: str) -> tuple[Path, Mapping[int, str | None]]:
    """The prediction file of a run, and what it edited by sample."""
    from ..report.runs import Run

    run = Run.at(path)
    if run.dataset != dataset:
        raise ValueError(f"expected a run on {dataset}, got {run.stem} on {run.dataset}")
    return run.predictions, {
        int(row["index"]): (row.get("edited") or {}).get("sha256") for row in run.rows
    }


def _shown(result: AttentionResult, title: str) -> str:
    from ..evaluation.attention_metrics import ATTENTION_METRICS, SHOWN_BY_GROUP
    from ..evaluation.tables import summary_table

    notes = result.notes()
    groups = [
        summary_table(result.summaries, SHOWN_BY_GROUP, title=f"By {name}", group_by=name)
        for name in ("organ", "task")
    ]
    return "\n".join(
        [
            summary_table(result.summaries, ATTENTION_METRICS, title=title),
            *groups,
            *notes,
            f"per sample: {result.files.scores}",
            f"all groups: {result.files.groups}",
            f"rule and data: {result.files.manifest}",
        ]
    )


@click.command("attention-quadrants")
@click.argument("runs", nargs=-1, required=True, type=_RUN)
@click.option("--iou", type=float, default=None, help="Where high IoU begins.  [default: 0.35]")
@click.option("--ea", type=float, default=None, help="Where high EA begins.  [default: 0.5]")
@click.option("--accuracy", type=click.Choice(["EA", "EA_strict"]), default="EA")
@click.option("--other-edits", is_flag=True, help="Also where map and judgement differ in image.")
@click.option("--csv", "table", type=click.Path(path_type=Path, dir_okay=False), default=None)
@click.option(
    "--plot",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Draw to this .svg or .png file.",
)
def attention_quadrants(
    runs: tuple[Path, ...],
    iou: float | None,
    ea: float | None,
    accuracy: str,
    other_edits: bool,
    table: Path | None,
    plot: Path | None,
) -> None:
    """Sort the samples of judged RUNS by attention IoU and editing accuracy."""
    from ..files import write_bytes_atomic, write_text_atomic
    from ..report.quadrants import (
        HIGH_EA,
        HIGH_IOU,
        CutOffs,
        grounded_run,
        quadrant_counts,
        quadrants_csv,
    )
    from ..report.quadrants_plot import draw_quadrants
    from ..report.runs import Run

    kind = _plot_kind(plot)
    cuts = CutOffs(HIGH_IOU if iou is None else iou, HIGH_EA if ea is None else ea)
    grounded = [
        grounded_run(Run.at(path), accuracy=accuracy, other_edits=other_edits) for path in runs
    ]
    counts = list(quadrant_counts(grounded, cuts))
    click.echo(_shown_quadrants(grounded, counts))
    click.echo(f"high from IoU {cuts.iou:g}, {accuracy} {cuts.accuracy:g}; not published, ours")
    if table is not None:
        click.echo(f"table: {write_text_atomic(table, quadrants_csv(counts))}")
    if plot is not None:
        drawn = draw_quadrants(grounded, cuts, accuracy=accuracy, kind=kind)
        click.echo(f"plot: {write_bytes_atomic(plot, drawn)}")


def _plot_kind(plot: Path | None) -> PlotFormat:
    suffix = ".svg" if plot is None else plot.suffix.lower()
    if suffix == ".svg":
        return "svg"
    if suffix == ".png":
        return "png"
    raise click.UsageError(f"expected a .svg or .png file for --plot, got {plot}")


def _shown_quadrants(runs: Sequence[GroundedRun], counts: Sequence[QuadrantCount]) -> str:
    from ..evaluation.tables import plain_table
    from ..report.quadrants import PATTERNS, QUADRANTS

    # the quadrants' full names would fold the models' in a terminal
    short = [name.replace(" IoU, ", "/").removesuffix(" EA") for name in QUADRANTS]
    header = ("model", "task", "n", *short, *(name.removesuffix(" edit") for name in PATTERNS))
    rows = [
        (
            it.model,
            "all" if it.group_by == "overall" else it.group,
            str(it.n),
            *(str(it.counts.get(name, 0)) for name in QUADRANTS),
            *(_share(*it.shares[name]) for name in PATTERNS),
        )
        for it in counts
        if it.group_by in ("overall", "task")
    ]
    lines = [plain_table(header, rows, title="Samples by attention IoU / editing accuracy")]
    for run in runs:
        for reason, n in sorted(run.left_out.items()):
            lines.append(f"{run.model}: {n} left out, {reason}")
    return "\n".join(lines)


def _share(value: float, low: float | None, high: float | None) -> str:
    text = f"{value:.2f}"
    return text if low is None or high is None else f"{text} ({low:.2f}–{high:.2f})"
