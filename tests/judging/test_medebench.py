from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.judging import Message
from medbench_vlmeval.judging.medebench import RUBRIC, medebench_call, medebench_prompt_sha256
from medbench_vlmeval.judging.replies import Reply, read_reply
from medbench_vlmeval.types import Status

PREVIOUS, REFERENCE, EDITED = Path("p.png"), Path("r.png"), Path("e.png")


def call(description: str = "Remove the mole.", layout: str = "separate") -> tuple[Message, ...]:
    return medebench_call(
        "7", description, PREVIOUS, REFERENCE, EDITED, {"organ": "Skin"}, layout=layout
    ).messages


def test_five_user_messages_in_the_published_order() -> None:
    messages = call()
    assert [message.role for message in messages] == ["user"] * 5
    assert '"Remove the mole."' in str(messages[0].parts[0])
    images = [part for message in messages for part in message.parts if isinstance(part, Path)]
    assert images == [PREVIOUS, REFERENCE, EDITED]
    assert [len(message.parts) for message in messages] == [1, 2, 2, 2, 1]


def test_a_single_message_has_the_same_parts_in_the_same_order() -> None:
    (single,) = call(layout="single")
    assert single.parts == tuple(part for message in call() for part in message.parts)


def test_the_instructions_ask_for_every_score_in_the_form_that_is_read() -> None:
    instructions = str(call()[-1].parts[0])
    for name in RUBRIC.names:
        assert f"{name}: x/10" in instructions
    asked_for = "\n".join(f"- {name}: 7/10" for name in RUBRIC.names)
    reading = read_reply(Reply(asked_for, finish_reason="stop"), RUBRIC)
    assert reading.status is Status.ANSWER
    assert reading.scores is not None
    assert set(reading.scores.values.values()) == {7.0}


def test_text_of_the_description_cannot_become_template() -> None:
    assert "{{description}}" in str(call("{{description}}")[0].parts[0])


def test_the_instructions_hold_no_score_that_could_be_read_as_a_verdict() -> None:
    reading = read_reply(Reply(str(call()[-1].parts[0]), finish_reason="stop"), RUBRIC)
    assert reading.scores is None


def test_the_hash_names_wording_and_layout() -> None:
    assert medebench_prompt_sha256() == medebench_prompt_sha256("separate")
    assert medebench_prompt_sha256() != medebench_prompt_sha256("single")


def test_an_unknown_layout_is_refused() -> None:
    with pytest.raises(ValueError, match="layout"):
        call(layout="triple")


def test_in_another_order_each_image_keeps_its_words() -> None:
    other = medebench_call(
        "7",
        "Remove the mole.",
        PREVIOUS,
        REFERENCE,
        EDITED,
        {},
        order=("edited", "reference", "previous"),
    ).messages
    published = call()
    assert other == (published[0], published[3], published[2], published[1], published[4])


@pytest.mark.parametrize("order", [(), ("previous", "reference"), ("edited",) * 3])
def test_an_order_has_each_image_once(order: tuple[str, ...]) -> None:
    with pytest.raises(ValueError, match="order of previous, reference, edited"):
        medebench_call("7", "x", PREVIOUS, REFERENCE, EDITED, {}, order=order)
