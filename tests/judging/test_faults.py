from __future__ import annotations

from datetime import datetime, timezone

import pytest

from medbench_vlmeval.judging.faults import MESSAGES, Failure, Remedy, fault_of, retry_after

NOT_MAX_TOKENS = (
    "Unsupported parameter: 'max_tokens' is not supported with this model. "
    "Use 'max_completion_tokens' instead."
)
ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/..."


@pytest.mark.parametrize(
    ("failure", "remedy", "detail"),
    [
        (Failure(401, "Incorrect API key"), Remedy.STOP, "bad_key"),
        (Failure(403, "country not supported"), Remedy.STOP, "bad_key"),
        (Failure(404, "no such model"), Remedy.STOP, "unknown_model"),
        (Failure(400, "x", code="model_not_found"), Remedy.STOP, "unknown_model"),
        (Failure(429, "x", code="insufficient_quota"), Remedy.STOP, "quota"),
        (Failure(402, "insufficient balance"), Remedy.STOP, "quota"),
        (Failure(429, "slow down", code="rate_limit_exceeded"), Remedy.SLOW_DOWN, ""),
        (Failure(500, "x"), Remedy.REPEAT, ""),
        (Failure(503, "overloaded"), Remedy.REPEAT, ""),
        (Failure(408, "x"), Remedy.REPEAT, ""),
        (Failure(0, "refused"), Remedy.REPEAT, ""),
        (Failure(400, "x", code="content_policy_violation"), Remedy.REFUSED, ""),
        (Failure(400, "image too large", code="invalid_image"), Remedy.GIVE_UP, ""),
        (Failure(413, "too large"), Remedy.GIVE_UP, ""),
        (
            Failure(400, "x", code="unsupported_value", param="temperature"),
            Remedy.ADAPT,
            "temperature",
        ),
        (Failure(400, NOT_MAX_TOKENS), Remedy.ADAPT, "max_tokens"),
        (Failure(422, "seed: Extra inputs are not permitted"), Remedy.ADAPT, "seed"),
        (Failure(400, ALTERNATE), Remedy.ADAPT, MESSAGES),
        (Failure(400, "x", code="unsupported_value", param="top_p"), Remedy.GIVE_UP, ""),
        (Failure(400, "max_tokens is too large: 1600"), Remedy.GIVE_UP, ""),
    ],
    ids=str,
)
def test_a_failure_has_one_remedy(failure: Failure, remedy: Remedy, detail: str) -> None:
    fault = fault_of(failure)
    assert fault.remedy is remedy
    assert (fault.kind or fault.param) == detail


def test_a_note_says_what_the_endpoint_said() -> None:
    assert fault_of(Failure(500, "broken", code="oops")).note == "HTTP 500: oops broken"
    assert fault_of(Failure(0, "5 s", timed_out=True)).note == "no answer in time: 5 s"


NOW = datetime(2026, 1, 1, 12, 0, 0, tzinfo=timezone.utc)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "250", "retry-after": "9"}, 0.25),
        ({"Retry-After": "Thu, 01 Jan 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Thu, 01 Jan 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_the_waiting_time_is_read_in_every_form(
    headers: dict[str, str], seconds: float | None
) -> None:
    assert retry_after(headers, now=NOW) == seconds
