from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medbench_vlmeval.parsing import (
    GradeReading,
    PreferenceReading,
    read_preferred_image,
    read_quality_grade,
)
from medbench_vlmeval.types import Status
from tests.parsing.conclusion_texts import GRADES, PREFERENCES
from tests.shared import shared_path


@pytest.mark.parametrize(
    ("text", "grade"), [pytest.param(text, grade, id=name) for name, text, grade in GRADES]
)
def test_grade_is_read_as_the_table_says(text: str, grade: str | None) -> None:
    status = Status.ANSWER if grade else Status.UNPARSED
    assert read_quality_grade(text) == GradeReading(grade, status)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "image"), [pytest.param(text, image, id=name) for name, text, image in PREFERENCES]
)
def test_preferred_image_is_read_as_the_table_says(text: str, image: str | None) -> None:
    status = Status.ANSWER if image else Status.UNPARSED
    assert read_preferred_image(text) == PreferenceReading(image, status)  # type: ignore[arg-type]


def test_vectors_hold() -> None:
    text = shared_path("data/medq_test_vectors.json").read_text(encoding="utf-8")
    vectors: dict[str, list[dict[str, Any]]] = json.loads(text)
    assert len(vectors["conclusion_noref"]) + len(vectors["conclusion_paired"]) >= 8
    for vector in vectors["conclusion_noref"]:
        assert read_quality_grade(vector["text"]).grade == vector["expected"], vector
    for vector in vectors["conclusion_paired"]:
        assert read_preferred_image(vector["text"]).image == vector["expected"], vector


@pytest.mark.parametrize("grade", ["good", "usable", "reject"])
@pytest.mark.parametrize(
    "form", ["{}", "[{}]", "**{}**", '"{}"', "`{}`", "_{}_", "({})", "<b>{}</b>"]
)
def test_decoration_of_the_grade_does_not_matter(grade: str, form: str) -> None:
    for word in (grade, grade.upper(), grade.capitalize()):
        text = f"Grain is mild. Overall, the quality of this image is {form.format(word)}."
        assert read_quality_grade(text).grade == grade


@pytest.mark.parametrize(
    ("text", "status"),
    [
        (None, Status.MISSING),
        (float("nan"), Status.MISSING),
        (" ", Status.MISSING),
        ("Failed to obtain answer via API. The first image is better.", Status.API_FAIL),
        ("<think>The quality of this image is good. Image 1 is better.", Status.TRUNCATED),
        ("I'm sorry, but I can't analyze medical images.", Status.REFUSAL),
        (7, Status.UNPARSED),
    ],
)
def test_status_says_why_there_is_no_conclusion(text: object, status: Status) -> None:
    assert read_quality_grade(text) == GradeReading(None, status)
    assert read_preferred_image(text) == PreferenceReading(None, status)


@given(st.text(max_size=60))
@settings(max_examples=200, deadline=None)
def test_what_stands_before_the_closing_sentence_does_not_matter(text: str) -> None:
    plain = text.replace("<", "").replace("◁", "").replace("~", "").replace("`", "")
    closed = f"X {plain}\n\nOverall, the quality of this image is usable."
    assert read_quality_grade(closed).grade == "usable"
    closed = f"X {plain}\n\nOverall, the second image is of higher quality."
    assert read_preferred_image(closed).image == "second"


_UNITS = [
    "the quality of this image is ", "the ", "good ", "image 1 ", "the first image ", "reject\n",
    "the first image, which ", "image ", "overall ", "overall, ", "both ", "neither image is ",
    "is ", "higher ", "higher quality ", "(", "\n", "the image (", "visual ", "and ", "not ", "a ",
    "-", "[good/", "i ", "prefer ", " ", "rate the image as ", "first of ", "the a-b ", "* ",
]  # fmt: skip
_READERS: list[Callable[[object], object]] = [read_quality_grade, read_preferred_image]


def seconds(reader: Callable[[object], object], text: str) -> float:
    begin = time.process_time()
    reader(text)
    return time.process_time() - begin


@pytest.mark.parametrize("reader", _READERS)
@pytest.mark.parametrize("unit", _UNITS)
def test_repetitions_take_linear_time(unit: str, reader: Callable[[object], object]) -> None:
    base = min(seconds(reader, unit * (15_000 // len(unit))) for _ in range(2))
    # Quadratic growth would give 256.
    assert seconds(reader, unit * (240_000 // len(unit))) < 64 * max(base, 0.005)


@pytest.mark.parametrize("reader", _READERS)
def test_a_megabyte_of_everything_is_read_in_bounded_time(
    reader: Callable[[object], object],
) -> None:
    pieces = random.Random(0).choices(_UNITS, k=1 << 18)
    assert seconds(reader, "".join(pieces)[: 1 << 20]) < 20
