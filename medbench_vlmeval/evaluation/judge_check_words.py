"""What a check found, in sentences."""

from __future__ import annotations

from ..types import Status
from .judge_check_asking import FIRST
from .judge_check_findings import Findings
from .judge_check_numbers import Agreement, Measured, Replies, Sanity, Separation, Shift
from .judge_check_plan import CheckPlan

UNREADABLE = (Status.UNPARSED, Status.TRUNCATED)


def verdict_lines(found: Findings, plan: CheckPlan, second: str) -> list[str]:
    """What was found, a sentence each; `second` names the other judge."""
    return [
        *(f"repeats itself: {_agreed(it)}" for it in found.retest),
        *(f"agrees with {second}: {_agreed(it)}; {_level(it)}" for it in found.second),
        *(_expected(it, plan) for it in found.sanity),
        *(_separated(it) for it in found.separations),
        *(_shifted(it) for it in found.shifts),
        *(_replied(it, second) for it in found.replies),
    ]


def _agreed(it: Agreement) -> str:
    equal = shown(it.equal, percent=True)
    if it.weighted_kappa.value is None:
        return f"{it.column} {equal} equal, no kappa: {it.weighted_kappa.reason}, n = {it.n}"
    return f"{it.column} {equal} equal, weighted kappa {shown(it.weighted_kappa)}, n = {it.n}"


def _level(it: Agreement) -> str:
    measures = {"ICC(2,1)": it.icc_agreement, "alpha": it.alpha}
    known = [f"{name} {shown(m)}, " for name, m in measures.items() if m.value is not None]
    return f"{''.join(known)}it gives {shown(it.mean_difference, sign=True)} points"


def _expected(it: Sanity, plan: CheckPlan) -> str:
    wanted = it.expectation
    word = "at least" if wanted.at_least else "at most"
    return (
        f"sanity: {wanted.text} gets {wanted.column} of {word} {wanted.limit:g} of "
        f"{plan.top(wanted.column):g} in {shown(it.passed, percent=True)} of "
        f"{shown_samples(it.passed.n)}, mean {shown(it.mean)}"
    )


def _separated(it: Separation) -> str:
    told = is_told_apart(it)
    text = "tells apart" if told else "does not distinguish"
    if told is None:
        text = "not known whether it tells apart"
    return (
        f"{text}: {it.contrast.text}, {it.contrast.column} {shown(it.difference, sign=True)} "
        f"points, in {shown(it.told_apart, percent=True)} of samples"
    )


def _shifted(it: Shift) -> str:
    return (
        f"{it.change.name} ({it.change.text}): {it.column} shifts by "
        f"{shown(it.difference, sign=True)} points, {shown(it.equal, percent=True)} equal"
    )


def _replied(it: Replies, second: str) -> str:
    whose = "replies" if it.judge == FIRST else f"replies of {second}"
    refused, unread = it.share(Status.REFUSAL), it.share(*UNREADABLE)
    partial, failed = it.share(Status.PARTIAL), it.share(Status.API_FAIL)
    return (
        f"{whose}: {it.n} verdicts, refused {shown_share(refused)}, unreadable "
        f"{shown_share(unread)}, read in part {shown_share(partial)}, failed calls "
        f"{shown_share(failed)}; {it.asked_twice} asked twice"
    )


def is_told_apart(it: Separation) -> bool | None:
    """Whether the better work gets more points, beyond what the choice of samples explains.

    None where the difference has no interval, unless it is not in favour of the better work anyway.
    """
    difference = it.difference
    if difference.low is None:
        return None if difference.value is None or difference.value > 0 else False
    return difference.low > 0


def shown(it: Measured, *, percent: bool = False, sign: bool = False) -> str:
    """A number with its interval, such as ``0.91 [0.85, 0.95]``, or why there is none."""
    if it.value is None:
        return f"undefined ({it.reason})"
    form = "{:.0%}" if percent else "{:+.2f}" if sign else "{:.2f}"
    text = _number(form, it.value)
    if it.low is None or it.high is None:
        return text
    return f"{text} [{_number(form, it.low)}, {_number(form, it.high)}]"


def in_cell(it: Measured, *, percent: bool = False, sign: bool = False) -> str:
    """As `shown`, for a table: a dash where there is no number."""
    return "–" if it.value is None else shown(it, percent=percent, sign=sign)


def _number(form: str, value: float) -> str:
    # No "-0.00": rounding has no sign.
    return form.format(round(value, 4) + 0.0).replace("-0.00", "0.00").replace("%", " %")


def shown_samples(n: int) -> str:
    """A number of samples in words."""
    return "1 sample" if n == 1 else f"{n} samples"


def shown_share(share: float | None) -> str:
    """A share of verdicts in percent."""
    return "unknown" if share is None else f"{share:.1%}".replace("%", " %")
