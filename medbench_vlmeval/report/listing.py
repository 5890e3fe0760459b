"""Finished runs side by side, one line a run: what ``medbench results`` prints."""

from __future__ import annotations

import io
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from .runs import Run
from .safe_text import terminal_text, visible

_MOST_COLUMNS = 6
_WIDTH = 118


@dataclass(frozen=True)
class FinishedRun:
    """The overall numbers of one run, and where its files are."""

    model: str
    dataset: str
    summary: Path
    values: dict[str, float]
    manifest: dict[str, Any]
    place: str
    """Its folder, or the archive that holds it."""


def finished_runs(runs: Iterable[Run]) -> list[FinishedRun]:
    """The overall numbers of runs, by data set, model and time.

    Raises:
        RunUnreadable: a summary that is not JSON; the message names it.
    """
    ordered = sorted(runs, key=lambda run: (run.dataset, run.model, run.created))
    return [
        FinishedRun(
            run.model,
            run.dataset,
            run.beside("_score.json"),
            dict(run.summary),
            dict(run.manifest),
            _place_of(run),
        )
        for run in ordered
    ]


def _place_of(run: Run) -> str:
    # What was unpacked is gone when the command ends.
    return str(Path(run.place).resolve()) if Path(run.place).is_dir() else run.place


def runs_table(runs: Iterable[FinishedRun]) -> str:
    """One line a run: official and strict columns with coverage, and the file behind the line."""
    by_dataset: dict[str, list[FinishedRun]] = {}
    for run in runs:
        by_dataset.setdefault(run.dataset, []).append(run)
    stream = io.StringIO()
    console = Console(file=stream, width=_WIDTH, color_system=None, legacy_windows=False)
    for dataset, members in by_dataset.items():
        console.print(_table(dataset, members))
    places = [
        f"{visible(run.model)}: {visible(run.place)}{_state(run)}"
        for group in by_dataset.values()
        for run in group
    ]
    return stream.getvalue() + "\n".join(places)


def _state(run: FinishedRun) -> str:
    if run.manifest.get("complete", True):
        return ""
    return f" (not complete: {visible(str(run.manifest.get('judge_note') or 'see its manifest'))})"


def _table(dataset: str, runs: list[FinishedRun]) -> Table:
    columns = _columns(runs)
    is_judged = any(metric.get("judged") for run in runs for metric in _metrics_of(run))
    table = Table(title=terminal_text(dataset), title_justify="left")
    table.add_column("model", overflow="fold")
    for name in (*columns, "expected", "answered", "scored"):
        table.add_column(name.replace("_", " "), justify="right")
    if is_judged:
        table.add_column("judge")
    for run in runs:
        judge = (run.manifest.get("judge") or {}).get("model_requested", "not judged")
        values = [_shown(run.values, name) for name in columns]
        counts = [f"{run.values.get(name, 0):.0f}" for name in ("n_expected", "n_answered")]
        scored = _scored(run.values, columns)
        judged_by = [terminal_text(str(judge))] if is_judged else []
        table.add_row(terminal_text(run.model), *values, *counts, scored, *judged_by)
    return table


def _columns(runs: list[FinishedRun]) -> list[str]:
    """Official metrics, then strict ones, in the order in which the manifests name them."""
    names: dict[str, None] = {}
    for protocol in ("official", "strict"):
        for run in runs:
            for metric in _metrics_of(run):
                if metric.get("protocol") == protocol:
                    names[str(metric["name"])] = None
    return [name for name in names if any(name in run.values for run in runs)][:_MOST_COLUMNS]


def _metrics_of(run: FinishedRun) -> list[dict[str, Any]]:
    metrics: list[dict[str, Any]] = run.manifest.get("metrics", [])
    return metrics


def _shown(values: dict[str, float], name: str) -> str:
    value = values.get(name)
    if value is None:
        return "–"
    low, high = values.get(f"{name}_low"), values.get(f"{name}_high")
    if low is None or high is None:
        return f"{value:.3f}"
    return f"{value:.3f} ±{(high - low) / 2:.3f}"


def _scored(values: dict[str, float], columns: list[str]) -> str:
    """Samples in the means: one number, or one a column where they differ."""
    counts = {name: round(values.get(f"{name}_n", 0)) for name in columns if name in values}
    if len(set(counts.values())) <= 1:
        return str(next(iter(counts.values()), 0))
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in counts.items())
