"""What is expected of MedEBench's judge."""

from __future__ import annotations

from collections.abc import Sequence

from ..judging.medebench import RUBRIC
from .judge_check_plan import (
    AS_JPEG,
    AS_PNG,
    AS_SCORED,
    BLANK,
    INPUT,
    OTHER_ORDER,
    REFERENCE,
    Change,
    Contrast,
    Expectation,
    Limits,
)


def readings(
    checks: Sequence[str], limits: Limits
) -> tuple[tuple[Expectation, ...], tuple[Contrast, ...], tuple[Change, ...]]:
    """What must be scored high or low, what told apart, and what must not move a score.

    Args:
        checks: those that are made.
        limits: what counts as high and low.
    """
    high, low = limits.high * RUBRIC.high, limits.low * RUBRIC.high
    expectations = (
        Expectation(REFERENCE, "EA", high, True, "the ground truth as edited image"),
        Expectation(INPUT, "EA", low, False, "the input as edited image"),
        Expectation(BLANK, "VQ", low, False, "a blank picture as edited image"),
    )
    contrasts = (
        Contrast("EA", REFERENCE, INPUT, "the ground truth and the unchanged input"),
        Contrast("VQ", REFERENCE, BLANK, "the ground truth and a blank picture"),
    )
    order = Change("order", AS_SCORED, OTHER_ORDER, "edited image first, input last")
    as_jpeg = Change("format", AS_PNG, AS_JPEG, "JPEG instead of PNG")
    is_sane = "sanity" in checks
    return (
        expectations if is_sane else (),
        contrasts if is_sane else (),
        tuple(change for change in (order, as_jpeg) if change.name in checks),
    )
