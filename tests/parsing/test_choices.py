from __future__ import annotations

import json
import random
import time
from collections.abc import Mapping
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medbench_vlmeval.parsing import ChoiceReading, read_choice
from medbench_vlmeval.types import Status
from tests.parsing.choice_replies import (
    COUNTS,
    FAULTS,
    FORMS,
    GRADES,
    NOISE,
    NONE,
    REPLIES,
    SIX,
    TEN,
    YES_NO,
)
from tests.shared import shared_cases, shared_path


@pytest.mark.parametrize("case", shared_cases("choices.jsonl"))
def test_case_is_read_as_a_careful_reader_would(case: dict[str, Any]) -> None:
    reading = read_choice(case["reply"], case["options"])
    assert reading.letter in case.get("expected_any", [case["expected"]])
    if reading.letter == case["expected"]:
        classes = case["class"] if isinstance(case["class"], list) else case["class"].split("|")
        assert reading.status in classes


@pytest.mark.parametrize(
    ("reply", "options", "expected", "by"),
    [pytest.param(*row[1:], id=row[0]) for row in REPLIES],
)
def test_reply_is_read_as_the_table_says(
    reply: object, options: Mapping[str, str], expected: str | Status, by: str
) -> None:
    reading = read_choice(reply, options)
    assert (reading.letter or reading.status) == expected
    assert reading.by == by
    assert reading.status.has_value == (reading.letter is not None)


@pytest.mark.parametrize("form", FORMS)
def test_every_option_is_read_in_every_form(form: str) -> None:
    for options in (SIX, GRADES, YES_NO, NONE, NOISE, TEN, COUNTS):
        for letter, text in options.items():
            reply = form.format(L=letter, l=letter.lower(), T=text)
            assert read_choice(reply, options).letter == letter, reply


def vectors(kind: str) -> list[dict[str, Any]]:
    text = shared_path("data/medq_test_vectors.json").read_text(encoding="utf-8")
    return list(json.loads(text)[kind])


def test_vectors_of_letters_hold() -> None:
    texts = [*FAULTS.items()]
    for vector in vectors("letter_extraction"):
        options = dict(texts[: vector["options"]])
        assert read_choice(vector["text"], options).letter == vector["expected"], vector


def test_vectors_of_option_texts_hold() -> None:
    for vector in vectors("option_text"):
        assert read_choice(vector["text"], vector["options"]).letter == vector["expected"], vector


_FAULT_OPTIONS = {
    "Usable": (GRADES, "B"),
    "Yes": (YES_NO, "A"),
    "E": ({**FAULTS, "E": "Ringing"}, "E"),
    "E. Ringing": ({**FAULTS, "E": "Ringing"}, "E"),
}


def test_faults_of_the_published_rule_are_not_shared() -> None:
    text = shared_path("data/medq_faults.json").read_text(encoding="utf-8")
    n_read = 0
    for record in json.loads(text)["faults"]:
        if record["id"] not in ("Q1", "Q1d", "Q4c"):
            continue
        reply = record["input"].strip("'").replace("\\\\", "\\").replace("\\n", "\n")
        options, letter = _FAULT_OPTIONS.get(reply, (FAULTS, record["expected"]))
        expected = None if letter.startswith("(no letter") else letter
        assert read_choice(reply, options).letter == expected, record
        n_read += 1
    assert n_read >= 18


@pytest.mark.parametrize(
    ("reply", "letter"),
    [
        ("A sharp image with no noise; answer B", "B"),
        ("A faint ring artefact; answer C", "C"),
        ("A clear vessel tree; answer B", "B"),
    ],
)
def test_article_before_a_marked_letter_is_none(reply: str, letter: str) -> None:
    assert read_choice(reply, FAULTS).letter == letter


def test_option_text_that_looks_like_a_missing_value_is_an_answer() -> None:
    assert read_choice("None", {"A": "Motion", "B": "None"}).letter == "B"
    assert read_choice("N/A", {"A": "N/A", "B": "Motion"}).letter == "A"


def test_keys_may_be_in_lower_case() -> None:
    assert read_choice("B", {"a": "Yes", "b": "No"}) == ChoiceReading("b", Status.ANSWER, "letter")


@pytest.mark.parametrize("options", [{}, {"AB": "x"}, {"1": "x"}, {"a": "x", "A": "y"}])
def test_options_that_are_no_letters_are_an_error(options: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="expected options by single distinct letters"):
        read_choice("A", options)


_ALPHABET = "ABCDE abcde.,:;()[]{}<>*_-/\\'\"$|&?!\n0123ıßİſＢⒷ答案选是は정답isnotorhe"


@given(st.text(st.sampled_from(_ALPHABET), max_size=80), st.sampled_from([FAULTS, YES_NO, GRADES]))
@settings(max_examples=400, deadline=None)
def test_any_text_gives_a_letter_of_the_row_or_a_reason(text: str, options: dict[str, str]) -> None:
    reading = read_choice(text, options)
    assert reading.status.has_value == (reading.letter is not None)
    assert reading.letter is None or reading.letter in options
    assert (reading.by == "") == (reading.letter is None)
    assert read_choice(text, options) == reading


@given(st.sampled_from("ABCD"), st.sampled_from("ABCD"))
def test_a_thinking_part_changes_nothing(thought: str, letter: str) -> None:
    reply = f"<think>Answer: {thought}</think>Answer: {letter}"
    assert read_choice(reply, FAULTS).letter == letter


_UNITS = [
    "A ", "A", "B, ", "answer ", "answer is ", "answer: B\n", "option A is wrong. ", "(((", "A or ",
    "A) Motion blur\n", "no ", "yes, ", "not motion blur, ", "\\boxed{", "\\boxed{A}", "{", "<",
    "<a>", "<B>", "**", "_", "`", "选", "选B", "是", "\n", "…", "if answer A ", "motion ",
    "the option that is ", "ı", "1 ", "A-", "\\text{", "motion  ", " ", ")", "is ", "A)\n", "<|",
]  # fmt: skip


def seconds(reply: str, options: Mapping[str, str] = FAULTS) -> float:
    begin = time.process_time()
    read_choice(reply, options)
    return time.process_time() - begin


@pytest.mark.parametrize("unit", _UNITS)
def test_repetitions_take_linear_time(unit: str) -> None:
    base = min(seconds(unit * (15_000 // len(unit))) for _ in range(2))
    # Quadratic growth would give 256.
    assert seconds(unit * (240_000 // len(unit))) < 64 * max(base, 0.005)


@pytest.mark.parametrize("options", [FAULTS, YES_NO, GRADES], ids=["faults", "yes_no", "grades"])
def test_a_megabyte_of_everything_is_read_in_bounded_time(options: dict[str, str]) -> None:
    pieces = random.Random(0).choices(_UNITS, k=1 << 18)
    assert seconds("".join(pieces)[: 1 << 20], options) < 20


@pytest.mark.parametrize(
    "unit", ["A ", "no ", "answer: B\n", "option A is wrong. ", "\\boxed{", "选B"]
)
def test_a_megabyte_of_repetitions_is_read_in_bounded_time(unit: str) -> None:
    # Quadratic time would be hours.
    assert seconds(unit * ((1 << 20) // len(unit)), YES_NO) < 20
