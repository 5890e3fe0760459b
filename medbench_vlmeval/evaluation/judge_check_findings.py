"""From the answers of a check to all its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from .judge_check_asking import FIRST, SECOND, Judgement
from .judge_check_numbers import (
    Agreement,
    Replies,
    Sanity,
    Scores,
    Separation,
    Shift,
    agreement,
    replies,
    sanity,
    separation,
    shift,
)
from .judge_check_plan import AS_SCORED, RETEST, CheckPlan


@dataclass(frozen=True)
class Findings:
    """All numbers of a check."""

    retest: tuple[Agreement, ...]
    second: tuple[Agreement, ...]
    sanity: tuple[Sanity, ...]
    separations: tuple[Separation, ...]
    shifts: tuple[Shift, ...]
    replies: tuple[Replies, ...]
    constant: dict[str, float]
    """Columns in which the judge gave the same points to everything it was shown."""

    @property
    def n_samples(self) -> int:
        """Most samples behind any number."""
        counts = [it.n for it in (*self.retest, *self.second)]
        counts += [it.passed.n for it in self.sanity] + [it.difference.n for it in self.shifts]
        return max(counts, default=0)


def findings(plan: CheckPlan, judgements: Sequence[Judgement]) -> Findings:
    """What the answers say, as far as they came."""
    scores = Scores(judgements)
    kinds = {probe.kind for group in plan.groups for probe in group}
    judges = dict.fromkeys(it.judge for it in judgements)
    return Findings(
        tuple(_agreements(plan, scores, (FIRST, RETEST))) if RETEST in kinds else (),
        tuple(_agreements(plan, scores, (SECOND, AS_SCORED))) if SECOND in judges else (),
        tuple(sanity(it, scores.of(FIRST, it.kind, it.column), scores) for it in plan.expectations),
        tuple(separation(it, FIRST, scores) for it in plan.contrasts),
        tuple(
            shift(change, column.name, FIRST, scores)
            for change in plan.changes
            for column in plan.columns
        ),
        tuple(replies(judge, judgements) for judge in judges),
        dict(_constant(plan, scores)),
    )


def _agreements(plan: CheckPlan, scores: Scores, other: tuple[str, str]) -> Iterator[Agreement]:
    for column in plan.columns:
        pairs = scores.paired((FIRST, AS_SCORED, column.name), (*other, column.name))
        yield agreement(column.name, *pairs)


def _constant(plan: CheckPlan, scores: Scores) -> Iterator[tuple[str, float]]:
    for column in plan.columns:
        points = scores.every(FIRST, column.name)
        if len(points) > 1 and len(set(points)) == 1:
            yield column.name, points[0]
