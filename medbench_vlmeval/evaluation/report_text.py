"""A finished evaluation as text for a terminal or a log."""

from __future__ import annotations

from .medebench import MedEBenchResult
from .medebench_metrics import METRICS
from .tables import summary_table


def shown_result(result: MedEBenchResult, title: str) -> str:
    """The overall table, the organs, and where the files are, as text for a log."""
    parts = [
        summary_table(result.summaries, METRICS, title=f"{title}: {result.files.predictions.stem}")
    ]
    shown = [
        metric for metric in METRICS if metric.protocol != "extra" and metric.name in result.flat
    ]
    parts.append(summary_table(result.summaries, shown, title="By organ", group_by="organ"))
    if result.judge_note:
        parts.append(result.judge_note)
    parts.extend(result.warnings)
    parts.append(f"per sample: {result.files.scores}")
    parts.append(f"all groups: {result.files.groups}")
    parts.append(f"provenance: {result.files.manifest}")
    return "\n".join(parts)
