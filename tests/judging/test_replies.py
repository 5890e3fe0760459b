from __future__ import annotations

from typing import Any

import pytest

from medbench_vlmeval.judging import Rubric
from medbench_vlmeval.judging.replies import (
    Reply,
    no_choice_note,
    read_reply,
    reply_of,
    second_question,
    stricter_form,
)
from medbench_vlmeval.types import Status

from .asking import GOOD, MEDEBENCH, SCORE


def response(content: Any, **choice: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, **choice}]}


@pytest.mark.parametrize(
    ("given", "text"),
    [
        (response("Score: 2"), "Score: 2"),
        (response(None), ""),
        (
            response([{"type": "text", "text": "Score: "}, {"type": "text", "text": "2"}]),
            "Score: 2",
        ),
        ({"choices": [{"message": None}]}, ""),
        ({"choices": [{}], "usage": None, "model": None}, ""),
    ],
)
def test_the_shapes_that_servers_send_are_understood(given: Any, text: str) -> None:
    reply = reply_of(given)
    assert reply is not None
    assert reply.text == text
    assert reply.prompt_tokens is None


@pytest.mark.parametrize("given", [{}, {"choices": []}, {"choices": None}, "<html>", None, [1]])
def test_a_response_without_a_choice_is_no_reply(given: Any) -> None:
    assert reply_of(given) is None
    assert "no choices" in no_choice_note(given)


def test_an_error_inside_a_good_response_is_quoted() -> None:
    assert "overloaded" in no_choice_note({"error": {"message": "overloaded"}})


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(GOOD, finish_reason="stop"), Status.ANSWER),
        (Reply("Editing Accuracy: 8/10", finish_reason="stop"), Status.PARTIAL),
        (Reply("It is fine.", finish_reason="stop"), Status.UNPARSED),
        (Reply("", finish_reason="stop"), Status.UNPARSED),
        (Reply("", finish_reason="length"), Status.TRUNCATED),
        (Reply("Editing Accuracy: 8/10", finish_reason="length"), Status.TRUNCATED),
        (Reply(GOOD.replace("7/10", "1"), finish_reason="length"), Status.TRUNCATED),
        (Reply(GOOD + "\nThe scores reflect", finish_reason="length"), Status.ANSWER),
        (Reply(GOOD, finish_reason="content_filter"), Status.REFUSAL),
        (Reply("", refusal="I cannot."), Status.REFUSAL),
        (Reply("I'm sorry, but I can't help with analyzing medical images."), Status.REFUSAL),
    ],
)
def test_every_reply_has_one_status(reply: Reply, status: Status) -> None:
    reading = read_reply(reply, MEDEBENCH)
    assert reading.status is status
    assert (reading.scores is not None) == status.has_value


@pytest.mark.parametrize("status", Status)
def test_only_what_may_get_better_is_asked_again(status: Status) -> None:
    again = second_question(status, SCORE) is not None
    assert again == (
        status
        in {
            Status.UNPARSED,
            Status.PARTIAL,
            Status.REFUSAL,
            Status.TRUNCATED,
            Status.API_FAIL,
        }
    )


def test_the_stricter_form_names_scores_and_scale_without_giving_a_value() -> None:
    named, single = stricter_form(MEDEBENCH), stricter_form(SCORE)
    assert "Visual Quality: x/10" in named
    assert "3 lines" in named
    assert "0, 1, 2" in single
    for form, rubric in ((named, MEDEBENCH), (single, SCORE)):
        assert read_reply(Reply(form), rubric).scores is None


def test_a_rubric_needs_names_and_a_scale() -> None:
    with pytest.raises(ValueError, match="name"):
        Rubric("empty", (), 0, 1)
    with pytest.raises(ValueError, match="low < high"):
        Rubric("flat", ("Score",), 1, 1)
