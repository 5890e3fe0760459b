"""The columns of MedQ-Bench's reasoning tasks, where each comes from, and which way is better."""

from __future__ import annotations

from ..judging.medq import DIMENSIONS
from ..types import MetricInfo

TOP = 2.0
"""Most points a dimension gives."""

_LABELS = {
    "completeness": "Completeness",
    "preciseness": "Preciseness",
    "consistency": "Consistency",
    "quality_accuracy": "Quality accuracy",
}
_TABLES = "reasoning tables of the published leaderboard"
_STRICT_SOURCE = (
    "strict reading of the judge's reply, after one stricter question where the first cannot be "
    "read; a reply the model did not give counts 0"
)
_ONLY_OFFERED = {
    "quality_accuracy": "; in a comparison 1 point, which the rubric does not offer, is no score"
}
_ADMITTED = {
    "quality_accuracy": "; in a comparison 1 point is taken, although the rubric does not offer it"
}


def _official(dimension: str) -> MetricInfo:
    return MetricInfo(
        dimension,
        f"{_LABELS[dimension]} ↑",
        unit="points",
        bounds=(0.0, TOP),
        judged=True,
        source=f"{_TABLES}: the judge's first reply under the published rule, dropped from the "
        f"mean where that reads nothing{_ADMITTED.get(dimension, '')}",
    )


def _strict(dimension: str) -> MetricInfo:
    return MetricInfo(
        f"{dimension}_strict",
        f"{_LABELS[dimension]} strict ↑",
        unit="points",
        bounds=(0.0, TOP),
        protocol="strict",
        judged=True,
        source=f"{_STRICT_SOURCE}{_ONLY_OFFERED.get(dimension, '')}",
    )


OFFICIAL = {dimension: _official(dimension) for dimension in DIMENSIONS}
STRICT = {dimension: _strict(dimension) for dimension in DIMENSIONS}

OVERALL = MetricInfo(
    "Overall",
    "Overall ↑",
    unit="points",
    bounds=(0.0, TOP * len(DIMENSIONS)),
    judged=True,
    source=f"{_TABLES}: sum of the four means; the interval is over rows with all four",
    sum_of=tuple(metric.name for metric in OFFICIAL.values()),
)
OVERALL_STRICT = MetricInfo(
    "Overall_strict",
    "Overall strict ↑",
    unit="points",
    bounds=OVERALL.bounds,
    protocol="strict",
    judged=True,
    source="sum of the four strict means; the interval is over rows with all four",
    sum_of=tuple(metric.name for metric in STRICT.values()),
)
QUALITY_READ = MetricInfo(
    "quality_accuracy_read",
    "Quality accuracy, read ↑",
    unit="points",
    bounds=(0.0, TOP),
    protocol="strict",
    source="beyond the benchmark, needs no judge: the verdict that closes the reply held against "
    "the one that closes the reference, 2 for the same grade, 1 for neighbouring ones, 0 for "
    "opposite ones; 2 or 0 for pairs; a reply without a verdict counts 0",
)

METRICS = (*OFFICIAL.values(), OVERALL, *STRICT.values(), OVERALL_STRICT, QUALITY_READ)
JUDGED = tuple(metric.name for metric in METRICS if metric.judged)
HEADLINE = OVERALL.name
GROUP_METRICS = (*OFFICIAL.values(), OVERALL, OVERALL_STRICT)
"""Those that fit beside each other in a table of groups."""
