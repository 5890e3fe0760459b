"""Means over descriptions, and how well the judge agrees with itself and with plain reading."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..data.medq import MedQQuestion
from ..judging import retest_sd
from ..judging.medq import DIMENSIONS, SCORE
from ..metrics import agreement_rate, quadratic_weighted_kappa
from ..stats import sum_of_means, summarise
from ..types import Summary
from .medq_reasoning_metrics import (
    METRICS,
    OVERALL,
    OVERALL_STRICT,
    QUALITY_READ,
    STRICT,
)
from .medq_reasoning_rows import GROUP_OF, ReasoningRow

_GROUP_OF: Mapping[str, Callable[[MedQQuestion], str]] = {
    "overall": lambda sample: "Overall",
    **GROUP_OF,
}


@dataclass(frozen=True)
class Agreement:
    """The judge's quality accuracy against the one read from the texts, where both are there."""

    n: int
    equal: float | None
    """Share of descriptions that get the same points from both."""
    kappa: float | None
    """Quadratic weighted; `None` where it is undefined."""


def summarise_reasoning(rows: Sequence[ReasoningRow]) -> Iterator[Summary]:
    """Summaries of every metric: overall, and by modality, level and difficulty where given.

    ``Overall`` is the sum of the four means, as published, also where a judgement was dropped from
    one of them, and so are its floor and ceiling; None where a dimension has no mean. Its interval
    and `n_scored` are those of the rows that have all four. Intervals are clustered by image.
    """
    for group_by, group_of in _GROUP_OF.items():
        groups: dict[str, list[ReasoningRow]] = {}
        for row in rows:
            if label := group_of(row.sample):
                groups.setdefault(label, []).append(row)
        for group, members in sorted(groups.items()):
            yield from _of_group(members, group, group_by)


def _of_group(rows: Sequence[ReasoningRow], group: str, group_by: str) -> list[Summary]:
    clusters = [row.sample.case for row in rows]
    found = {
        metric.name: summarise(
            [row.scores[metric.name] for row in rows],
            metric,
            clusters=clusters,
            group=group,
            group_by=group_by,
        )
        for metric in METRICS
    }
    for total in (OVERALL, OVERALL_STRICT):
        parts = [found[name] for name in total.sum_of]
        found[total.name] = sum_of_means(found[total.name], parts)
    return list(found.values())


def quality_agreement(rows: Sequence[ReasoningRow]) -> Agreement:
    """How far the judge's strict quality accuracy is the one that the two verdicts give."""
    judged, read = STRICT["quality_accuracy"].name, QUALITY_READ.name
    pairs = [
        (first, second)
        for row in rows
        if (first := row.scores[judged].value) is not None
        and (second := row.scores[read].value) is not None
    ]
    by_judge, by_reading = [first for first, _ in pairs], [second for _, second in pairs]
    return Agreement(
        len(pairs),
        agreement_rate(by_judge, by_reading),
        quadratic_weighted_kappa(by_judge, by_reading),
    )


def spread_of_rounds(rows: Sequence[ReasoningRow]) -> dict[str, float]:
    """Test-retest standard deviation of every dimension; empty when each was judged once."""
    spread = {}
    for dimension in DIMENSIONS:
        verdicts = [row.verdicts[dimension] for row in rows if dimension in row.verdicts]
        by_name = retest_sd(verdicts)
        if SCORE in by_name:
            spread[dimension] = by_name[SCORE]
    return spread
