"""What speaks against relying on a judge."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..types import Status
from .judge_check_asking import FIRST
from .judge_check_findings import Findings
from .judge_check_numbers import Agreement, Measured, Replies
from .judge_check_plan import CheckPlan, Limits
from .judge_check_words import UNREADABLE, is_told_apart, shown, shown_samples, shown_share

FEW_SAMPLES = 10


def warnings(found: Findings, plan: CheckPlan, limits: Limits, second: str) -> list[str]:
    """What speaks against relying on the judge, at these limits."""
    return [
        *(f"{name}: the judge gives {v:g} to everything" for name, v in found.constant.items()),
        *_of_agreement("a repeated call", found.retest, limits),
        *_of_agreement(second, found.second, limits),
        *_of_level(found, plan, limits, second),
        *_of_sanity(found, limits),
        *_of_shifts(found, plan, limits),
        *_of_replies(found.replies, limits, second),
        *_of_size(found.n_samples),
    ]


def _of_agreement(other: str, agreements: Iterable[Agreement], limits: Limits) -> Iterator[str]:
    for it in agreements:
        kappa = it.weighted_kappa
        if kappa.value is None:
            yield f"{it.column}: agreement with {other} cannot be measured: {kappa.reason}"
        elif kappa.value < limits.kappa:
            yield (
                f"{it.column}: weighted kappa with {other} is {shown(kappa)}, below "
                f"{limits.kappa:g}"
            )


def _of_level(found: Findings, plan: CheckPlan, limits: Limits, second: str) -> Iterator[str]:
    for it in found.second:
        if _is_large(it.mean_difference, limits.shift * plan.top(it.column)):
            difference = shown(it.mean_difference, sign=True)
            yield f"{it.column}: {second} gives {difference} points, so levels do not compare"


def _of_sanity(found: Findings, limits: Limits) -> Iterator[str]:
    for it in found.sanity:
        name = f"{it.expectation.column}: {it.expectation.text}"
        if it.passed.value is None:
            yield f"{name}: not known, {it.passed.reason}"
        elif it.passed.value < limits.pass_rate:
            yield (
                f"{name} is scored as expected in {shown(it.passed, percent=True)} only, below "
                f"{100 * limits.pass_rate:.0f} %"
            )
    for gap in found.separations:
        told, name = is_told_apart(gap), gap.contrast.column
        if told is None:
            why = gap.difference.reason
            yield f"{name}: not known whether the judge distinguishes {gap.contrast.text}, {why}"
        elif not told:
            yield f"{name}: the judge does not distinguish {gap.contrast.text}"


def _of_shifts(found: Findings, plan: CheckPlan, limits: Limits) -> Iterator[str]:
    for it in found.shifts:
        if _is_large(it.difference, limits.shift * plan.top(it.column)):
            yield (
                f"{it.column}: depends on the {it.change.name} of the images, "
                f"{shown(it.difference, sign=True)} points with {it.change.text}"
            )


def _is_large(difference: Measured, limit: float) -> bool:
    if difference.value is None or abs(difference.value) < limit:
        return False
    # Without an interval a large difference is reported, not explained away.
    return (
        difference.low is None
        or difference.high is None
        or not (difference.low <= 0 <= difference.high)
    )


def _of_replies(found: Iterable[Replies], limits: Limits, second: str) -> Iterator[str]:
    kinds = {
        "refuses": (Status.REFUSAL,),
        "gives replies that cannot be read": UNREADABLE,
        "gives no reply": (Status.API_FAIL,),
    }
    for it in found:
        who = "the judge" if it.judge == FIRST else second
        for what, statuses in kinds.items():
            share = it.share(*statuses)
            if share is not None and share > limits.failed:
                yield f"{who} {what} in {shown_share(share)} of {it.n} verdicts"


def _of_size(n: int) -> Iterator[str]:
    if n < FEW_SAMPLES:
        verb = "is" if n == 1 else "are"
        yield f"only {shown_samples(n)} {verb} behind these numbers, too few to rely on"
