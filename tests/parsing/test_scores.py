from __future__ import annotations

import ast
import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medbench_vlmeval.official import medebench, medq
from medbench_vlmeval.parsing import ScoreReading, read_scores
from medbench_vlmeval.types import Status
from tests.parsing.replies import CP, EA, NAMED, SINGLE, VQ
from tests.shared import shared_cases, shared_path

RUBRICS = {"0-10 named": (0, 10), "0-2 single": (0, 2)}


def read_case(case: dict[str, Any]) -> ScoreReading:
    low, high = RUBRICS[case["rubric"]]
    return read_scores(
        case["reply"], case["names"], low=low, high=high, allowed=case.get("allowed")
    )


def read_single(reply: object) -> ScoreReading:
    return read_scores(reply, ["Score"], low=0, high=2, allowed=(0, 1, 2))


@pytest.mark.parametrize("case", shared_cases("judge_scores.jsonl"))
def test_case_is_read_as_expected(case: dict[str, Any]) -> None:
    readings = [read_case(case) for _ in range(case.get("repeat", 1))]
    accepted = [
        {name: (expected or {}).get(name) for name in case["names"]}
        for expected in case.get("expected_any", [case["expected"]])
    ]
    assert readings[0].values in accepted
    assert all(reading == readings[0] for reading in readings)
    if readings[0].values == accepted[0] or "expected_any" not in case:
        classes = case["class"] if isinstance(case["class"], list) else case["class"].split("|")
        assert str(readings[0].status) in classes


@pytest.mark.parametrize("case", shared_cases("judge_scores.jsonl"))
def test_case_is_scored_as_published(case: dict[str, Any]) -> None:
    if case["rubric"] == "0-2 single":
        assert medq.score(case["reply"]) == case["official"]
    elif tuple(case["names"]) == medebench.JUDGED:
        assert medebench.judge_scores(case["reply"]) == case["official"]
    else:
        assert case["official"] is None


def test_strict_reading_of_the_replies_that_fooled_the_published_rule() -> None:
    records = json.loads(shared_path("data/medq_faults.json").read_text(encoding="utf-8"))["faults"]
    [record] = [record for record in records if record["id"] == "J6"]
    for text in record["input"]:
        wanted = record["expected"][text]
        value = read_single(ast.literal_eval(text)).values["Score"]
        assert value == (wanted if isinstance(wanted, int) else None), text


@pytest.mark.parametrize(
    ("reply", "expected"), [pytest.param(*row[1:], id=row[0]) for row in NAMED]
)
def test_named_scores_are_read_from_replies_as_models_write_them(
    reply: str, expected: tuple[float | None, ...]
) -> None:
    reading = read_scores(reply, (EA, CP, VQ), low=0, high=10)
    assert tuple(reading.values.values()) == expected
    n_read = sum(value is not None for value in expected)
    status = {0: Status.UNPARSED, 3: Status.ANSWER}.get(n_read, Status.PARTIAL)
    assert reading.status is status


@pytest.mark.parametrize(
    ("reply", "expected"), [pytest.param(*row[1:], id=row[0]) for row in SINGLE]
)
def test_single_score_is_read_from_replies_as_models_write_them(
    reply: str, expected: float | None
) -> None:
    reading = read_single(reply)
    assert reading.values == {"Score": expected}
    assert reading.status is (Status.UNPARSED if expected is None else Status.ANSWER)


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        pytest.param("8", 8, id="bare"),
        pytest.param("Score: 8/10", 8, id="generic_label"),
        pytest.param("Rating: 8", 8, id="rating"),
        pytest.param('{"score": 8}', 8, id="generic_key"),
        pytest.param("Overall Visual Quality: 8", 8, id="own_label"),
        pytest.param("Visual Quality: 6\n\nScore: 6", 6, id="both_agree"),
        pytest.param("Visual Quality: 6\n\nScore: 8", None, id="both_differ"),
        pytest.param("Editing Accuracy score: 8", None, id="other_name"),
    ],
)
def test_one_named_dimension_may_be_given_without_its_name(reply: str, value: float | None) -> None:
    assert read_scores(reply, ["Visual Quality"], low=0, high=10).values["Visual Quality"] == value


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        pytest.param(None, Status.MISSING, id="none"),
        pytest.param(float("nan"), Status.MISSING, id="nan"),
        pytest.param(" \n", Status.MISSING, id="blank"),
        pytest.param("Failed to obtain answer: 2", Status.API_FAIL, id="short_failure_text"),
        pytest.param("<think>Score: 2", Status.TRUNCATED, id="thinking_never_ends"),
        pytest.param("Score: 1 <think>or 2", Status.TRUNCATED, id="thinking_begins_after"),
        pytest.param("<think>Score: 2</think>", Status.UNPARSED, id="nothing_after_thinking"),
        pytest.param("I can't assist with that.", Status.REFUSAL, id="refusal"),
        pytest.param("true", Status.UNPARSED, id="truth_value"),
    ],
)
def test_reply_without_a_score_says_why(reply: object, status: Status) -> None:
    assert read_single(reply) == ScoreReading({"Score": None}, status)


@pytest.mark.parametrize(("reply", "value"), [(2, 2), (1.0, 1), (True, None), ({"Score": 1}, 1)])
def test_other_objects_are_read_as_their_text(reply: object, value: float | None) -> None:
    assert read_single(reply).values["Score"] == value


def test_names_are_returned_in_the_order_asked_for() -> None:
    reading = read_scores("Visual Quality: 7\nEditing Accuracy: 8", (EA, VQ), low=0, high=10)
    assert list(reading.values.items()) == [(EA, 8), (VQ, 7)]


def test_name_that_contains_another_is_told_apart() -> None:
    reading = read_scores("Visual Quality: 7\nQuality: 4", ["Quality", VQ], low=0, high=10)
    assert reading.values == {"Quality": 4, VQ: 7}


def test_scale_below_zero_reads_negative_numbers() -> None:
    reading = read_scores("Balance: -1", ["Balance"], low=-1, high=1)
    assert reading.values == {"Balance": -1}


@pytest.mark.parametrize(
    ("names", "scale", "message"),
    [
        pytest.param([], {"low": 0, "high": 1}, "distinct names", id="no_names"),
        pytest.param([""], {"low": 0, "high": 1}, "distinct names", id="empty_name"),
        pytest.param(["A b", "a_B"], {"low": 0, "high": 1}, "distinct names", id="alike"),
        pytest.param(["A"], {"low": 1, "high": 1}, "low < high", id="no_width"),
        pytest.param(["A"], {"low": 0, "high": float("nan")}, "low < high", id="nan"),
        pytest.param(
            ["A"], {"low": 0, "high": 1, "allowed": (0, 2)}, "allowed values", id="allowed_outside"
        ),
    ],
)
def test_impossible_rubric_is_refused(
    names: list[str], scale: dict[str, Any], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        read_scores("1", names, **scale)


@given(
    values=st.lists(st.integers(0, 100), min_size=3, max_size=3),
    bullet=st.sampled_from(["", "- ", "* ", "1. ", "### ", "> - "]),
    mark=st.sampled_from(["", "**", "__", "`"]),
    separator=st.sampled_from([": ", ":", " - ", " = ", ": **", "：", " is "]),
    top=st.sampled_from(["", "/10", " / 10", " out of 10", "/10.", "/10 (final)"]),
)
@settings(max_examples=150, deadline=None)
def test_written_scores_come_back(
    values: list[int], bullet: str, mark: str, separator: str, top: str
) -> None:
    numbers = [value / 10 for value in values]
    lines = [
        f"{bullet}{mark}{name}{mark}{separator}{number:g}{top}"
        for name, number in zip((EA, CP, VQ), numbers, strict=True)
    ]
    reading = read_scores("\n".join(lines), (EA, CP, VQ), low=0, high=10)
    assert list(reading.values.values()) == numbers


@given(st.text(st.sampled_from(list("Score: 012/.-|\n\"'`{}[]()*<>#~, aor½\\")), max_size=60))
@settings(max_examples=250, deadline=None)
def test_no_text_gives_a_value_off_the_scale(text: str) -> None:
    value = read_single(text).values["Score"]
    assert value in (None, 0, 1, 2)


@given(st.text(max_size=80))
@settings(max_examples=150, deadline=None)
def test_any_text_is_read_without_an_error(text: str) -> None:
    for framed in (text, f"Score: {text}", f'{{"Score": {text}}}', f"| Score | {text} |"):
        assert set(read_single(framed).values) == {"Score"}


@pytest.mark.parametrize(
    "reply",
    [
        pytest.param('{"Score": ' + "9" * 400 + "}", id="huge_json_number"),
        pytest.param("Score: " + "9" * 5000, id="huge_number"),
        pytest.param('{"a": ' + "[" * 900 + "]" * 900 + "}", id="deep_lists"),
        pytest.param('{"a":' * 900 + "1" + "}" * 900, id="deep_objects"),
        pytest.param("{'a': " + "(" * 150 + ")" * 150 + "}", id="deep_literal"),
        pytest.param('{"Score": NaN}', id="json_nan"),
        pytest.param("Score " + "0-2 " * 20_000, id="scale_again_and_again"),
        pytest.param("\ud800 Score:", id="lone_surrogate"),
    ],
)
def test_hostile_reply_gives_no_score(reply: str) -> None:
    assert read_single(reply) == ScoreReading({"Score": None}, Status.UNPARSED)


def test_score_of_another_image_is_not_taken() -> None:
    reply = "Visual Quality (reference): 9/10\nVisual Quality (edited image): 7/10"
    assert read_scores(reply, [VQ], low=0, high=10).values == {VQ: 7}


_UNITS = [
    "Score: ",
    "Score: 2\n",
    "1 ",
    "give 1 ",
    "8/10 ",
    "8, ",
    "(",
    "{",
    '{"score": 1}',
    '"',
    "'",
    "“",
    "|",
    "|\n",
    "-",
    "<think>",
    "</think>",
    "<score>",
    "* ",
    "\n",
    "Visual Quality (",
    "Final scores:\n",
    "\u200b",
    "½",
]


def _seconds(reply: str) -> float:
    """Processor time of two readings, the better of two, so that other load hardly counts."""
    measured = []
    for _ in range(2):
        begin = time.process_time()
        read_scores(reply, (EA, CP, VQ), low=0, high=10)
        read_single(reply)
        measured.append(time.process_time() - begin)
    return min(measured)


@pytest.mark.parametrize("unit", _UNITS)
def test_reading_time_grows_linearly_on_repetitions(unit: str) -> None:
    short, factor = 6_000 // len(unit), 6
    base = _seconds(unit * short)
    # Quadratic growth would give 36.
    assert _seconds(unit * short * factor) < 18 * max(base, 0.002)


def test_wide_table_with_many_rows_takes_linear_time() -> None:
    def table(size: int) -> str:
        header = "|" + " Score |" * size
        return "\n".join([header, "|" + "-|" * size, *["| Visual Quality | 2 |"] * size])

    base = _seconds(table(200))
    assert _seconds(table(1200)) < 18 * max(base, 0.002)


def test_a_megabyte_of_everything_is_read_in_bounded_time() -> None:
    pieces = random.Random(0).choices(_UNITS[:15] + _UNITS[17:], k=1 << 18)
    reply = "".join(pieces)[: 1 << 20]
    begin = time.process_time()
    read_single(reply)
    assert time.process_time() - begin < 60
