"""A finished evaluation as text for a terminal or a log."""

from __future__ import annotations

from collections.abc import Sequence

from ..types import MetricInfo, Summary
from .medebench import MedEBenchResult
from .run_files import RunFiles
from .tables import summary_table


def shown_summaries(
    summaries: Sequence[Summary],
    metrics: Sequence[MetricInfo],
    files: RunFiles,
    *,
    title: str,
    group_by: str,
    group_metrics: Sequence[MetricInfo],
    notes: Sequence[str] = (),
) -> str:
    """The overall table, one table of groups, notes, and where the files are, for a log.

    Args:
        summaries: of all metrics and groupings.
        metrics: the columns, in order.
        files: of the run.
        title: what the tables are about.
        group_by: the grouping of the second table.
        group_metrics: its columns, few enough for a terminal; those without a value are left out.
        notes: lines after the tables.
    """
    with_value = {summary.metric for summary in summaries if summary.value is not None}
    shown = [metric for metric in group_metrics if metric.name in with_value]
    groups = []
    if shown and any(summary.group_by == group_by for summary in summaries):
        groups.append(summary_table(summaries, shown, title=f"By {group_by}", group_by=group_by))
    return "\n".join(
        [
            summary_table(summaries, metrics, title=f"{title}: {files.predictions.stem}"),
            *groups,
            *notes,
            f"per sample: {files.scores}",
            f"all groups: {files.groups}",
            f"provenance: {files.manifest}",
        ]
    )


def shown_result(result: MedEBenchResult, title: str) -> str:
    """`shown_summaries` of MedEBench, by organ, with the judge's note and the warnings."""
    notes = [*filter(None, [result.judge_note]), *result.warnings, *result.gaming]
    return shown_summaries(
        result.summaries,
        result.metrics,
        result.files,
        title=title,
        group_by="organ",
        group_metrics=[metric for metric in result.metrics if metric.protocol != "extra"],
        notes=notes,
    )
