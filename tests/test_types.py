from __future__ import annotations

import pytest

from medbench_vlmeval.types import MetricInfo, Score, Status


def test_only_answer_and_partial_carry_a_value() -> None:
    assert {status for status in Status if status.has_value} == {Status.ANSWER, Status.PARTIAL}


@pytest.mark.parametrize("status", [status for status in Status if not status.has_value])
def test_a_failure_cannot_hold_a_number(status: Status) -> None:
    with pytest.raises(ValueError, match="expected a value exactly"):
        Score(0.0, status)


def test_an_answer_needs_a_value() -> None:
    with pytest.raises(ValueError, match="expected a value exactly"):
        Score(None)


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_value_is_finite(value: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        Score(value)


def test_the_worst_value_follows_the_direction() -> None:
    assert MetricInfo("CP", "CP").worst == 0.0
    assert MetricInfo("FID", "FID", higher_is_better=False, bounds=(0.0, 500.0)).worst == 500.0
