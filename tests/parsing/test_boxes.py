from __future__ import annotations

import json
import random
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medbench_vlmeval.metrics import box_iou
from medbench_vlmeval.official import medsg
from medbench_vlmeval.parsing import BOX_FLAGS, BoxReading, read_box
from medbench_vlmeval.types import Box, Status
from tests.parsing.box_replies import REPLIES, Reply
from tests.shared import shared_cases, shared_path

SIZE = (336, 336)


def read_case(case: dict[str, Any]) -> BoxReading:
    return read_box(
        case["reply"],
        convention=case["convention"],
        size_wh=tuple(case["image_size_wh"]),
        sent_size_wh=case.get("sent_size_wh"),
        layout=case.get("layout", "xyxy"),
    )


def is_close(box: Box | None, expected: list[float] | None) -> bool:
    if box is None or expected is None:
        return box is None and expected is None
    smaller_side = min(expected[2] - expected[0], expected[3] - expected[1])
    tolerance = min(0.51, 0.05 * smaller_side)
    return list(box) == pytest.approx(expected, abs=tolerance)


@pytest.mark.parametrize("case", shared_cases("boxes.jsonl"))
def test_case_is_read_as_a_careful_reader_would(case: dict[str, Any]) -> None:
    reading = read_case(case)
    accepted = case.get("expected_any", [case["expected"]])
    assert any(is_close(reading.box, expected) for expected in accepted), reading
    assert set(case.get("flags", [])) <= reading.flags
    assert reading.status.has_value == (reading.box is not None)
    if "expected_any" not in case:
        unexpected = reading.flags - set(case.get("flags", []))
        # whether the box fills the frame and whether words stand beside it the cases do not say
        assert unexpected <= {"full_image", "text"}
    if "expected_iou" in case:
        assert reading.box is not None
        value = box_iou(case["truth"], reading.box)
        assert value == pytest.approx(case["expected_iou"], abs=5.1e-5)


@pytest.mark.parametrize("reply", [pytest.param(it, id=name) for name, it in REPLIES.items()])
def test_reply_is_read_as_the_table_says(reply: Reply) -> None:
    reading = read_box(reply.text, convention=reply.convention, size_wh=SIZE, **reply.options)
    assert reading.status is reply.status
    assert reading.flags == reply.flags
    assert reading.box == (None if reply.box is None else pytest.approx(reply.box, abs=1e-9))


def test_the_table_shows_every_flag() -> None:
    assert frozenset().union(*(reply.flags for reply in REPLIES.values())) == {*BOX_FLAGS}


def test_real_replies_give_the_same_box_as_the_published_parser() -> None:
    lines = shared_path("data/medsg_task8_part_a.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    cut = several = 0
    for row in rows:
        reading = read_box(row["raw_output"], convention="absolute", size_wh=SIZE)
        assert reading.status is Status.ANSWER, row["row"]
        assert list(reading.box or ()) == medsg.pixel_boxes(row["raw_output"])[0], row["row"]
        cut += "truncated" in reading.flags
        several += "several_boxes" in reading.flags
    assert len(rows) == 741
    assert 20 <= cut <= several < 60


def test_wide_image_is_scaled_by_each_side() -> None:
    reading = read_box("[100, 100, 500, 500]", convention="norm1000", size_wh=(640, 480))
    assert reading.box == Box(64, 48, 320, 240)
    reading = read_box("[100, 100, 500, 500]", convention="yxyx1000", size_wh=(640, 480))
    assert reading.box == Box(64, 48, 320, 240)
    reading = read_box("[100,75,500,375]", convention="absolute", size_wh=(64, 48),
                       sent_size_wh=(640, 480))  # fmt: skip
    assert reading.box == Box(10, 7.5, 50, 37.5)


@pytest.mark.parametrize("convention", ["norm1000", "norm1", "yxyx1000"])
def test_the_sent_size_changes_relative_coordinates_not_at_all(convention: Any) -> None:
    reply = "[0.1, 0.2, 0.3, 0.4]"
    plain = read_box(reply, convention=convention, size_wh=SIZE)
    assert read_box(reply, convention=convention, size_wh=SIZE, sent_size_wh=(9, 7)) == plain


@pytest.mark.parametrize(
    ("options", "message"),
    [
        pytest.param({"convention": "pixels"}, "convention out of absolute", id="convention"),
        pytest.param({"layout": "cxcywh"}, "layout xyxy or xywh", id="layout"),
        pytest.param({"size_wh": (0, 336)}, "size_wh to be a positive", id="no_width"),
        pytest.param({"size_wh": (float("nan"), 1)}, "size_wh to be a positive", id="nan"),
        pytest.param({"sent_size_wh": (1, 2, 3)}, "sent_size_wh to be a positive", id="three"),
    ],
)
def test_impossible_options_are_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_box("[1, 2, 3, 4]", **{"convention": "absolute", "size_wh": SIZE, **options})


numbers = st.integers(0, 3360).map(lambda tenths: tenths / 10)


@given(
    corners=st.tuples(numbers, numbers, numbers, numbers),
    form=st.sampled_from(
        [
            "[{}, {}, {}, {}]",
            "({},{}),({},{})",
            "<box>{} {} {} {}</box>",
            '{{"bbox_2d": [{}, {}, {}, {}]}}',
            "The box is ({}, {}) to ({}, {}).",
            "x1={} y1={} x2={} y2={}",
            "{}, {}, {}, {}",
            "```json\n[[{},{}],[{},{}]]\n```",
            "Final answer: **[{}, {}, {}, {}]**",
        ]
    ),
)
@settings(max_examples=200, deadline=None)
def test_a_written_box_comes_back(corners: tuple[float, ...], form: str) -> None:
    reading = read_box(form.format(*corners), convention="absolute", size_wh=SIZE)
    x1, y1, x2, y2 = corners
    assert reading.box == (min(x1, x2), min(y1, y2), max(x1, x2), max(y1, y2))
    assert ("inverted" in reading.flags) == (x1 > x2 or y1 > y2)
    assert "out_of_frame" not in reading.flags


@given(
    st.text(
        st.sampled_from(list("[](){}<>/|,;:=.-+ \n\"'`*\\0123459e%xywhbotlef答案：，")), max_size=70
    )
)
@settings(max_examples=400, deadline=None)
def test_any_text_gives_an_ordered_finite_box_or_none(text: str) -> None:
    reading = read_box(text, convention="norm1000", size_wh=(640, 480))
    assert (reading.box is None) == (not reading.status.has_value)
    if reading.box is not None:
        assert reading.box.x1 <= reading.box.x2
        assert reading.box.y1 <= reading.box.y2


_UNITS = [
    "9", "1 ", "1,", "1.", "(", "[1,", "[1,2],", "(1,2) to ", "(1,2,3,4)", "{", "x1=1,", "<box>",
    "<", "</think>", "final answer: ", "answer:[1,", "image 1,", "images 1, 2 ", "`", "\\boxed",
    "a_", "-", "\n", "１",
]  # fmt: skip


def seconds(reply: str, *, readings: int = 2) -> float:
    """Processor time of a reading, the best of some, so that other load hardly counts."""
    measured = []
    for _ in range(readings):
        begin = time.process_time()
        read_box(reply, convention="absolute", size_wh=SIZE)
        measured.append(time.process_time() - begin)
    return min(measured)


@pytest.mark.parametrize("unit", _UNITS)
def test_reading_time_grows_linearly_on_repetitions(unit: str) -> None:
    short, factor = 5_000 // len(unit), 6
    base = seconds(unit * short)
    # Quadratic growth would give 36.
    assert seconds(unit * short * factor) < 18 * max(base, 0.002)


def test_a_megabyte_of_everything_takes_sixteen_times_as_long_as_a_sixteenth() -> None:
    pieces = random.Random(0).choices([unit for unit in _UNITS if "think" not in unit], k=1 << 18)
    reply = "".join(pieces)[: 1 << 20]
    # Quadratic growth would give 256.
    assert seconds(reply, readings=1) < 48 * max(seconds(reply[: 1 << 16]), 0.005)
