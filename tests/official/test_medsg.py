from __future__ import annotations

import json
import re
import time
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medbench_vlmeval.official.medsg import iou, pixel_boxes, scaled_boxes
from tests.shared import shared_cases, shared_path

VECTOR_TRUTH = [8, 18, 32, 44]


def first(boxes: list[list[float]]) -> list[float] | None:
    return boxes[0] if boxes else None


def as_list(stored: list[Any]) -> list[list[float]]:
    """The stored result of a published parser, which gives a lone box bare and zeros for none."""
    if not stored or stored == [0.0] * 4:
        return []
    return stored if isinstance(stored[0], list) else [stored]


@pytest.mark.parametrize("case", shared_cases("boxes.jsonl"))
def test_case_is_read_as_published(case: dict[str, Any]) -> None:
    pixel = pixel_boxes(case["reply"])
    scaled = scaled_boxes(case["reply"], tuple(case["image_size_wh"]))
    assert first(pixel) == case["official_pixel"]
    expected = case["official_scaled"]
    assert first(scaled) == (None if expected is None else pytest.approx(expected, abs=1e-9))
    if "official_iou" in case:
        boxes = pixel if case["official_parser"] == "pixel" else scaled
        if case["official_parser"]:
            assert iou(case["truth"], boxes) == pytest.approx(case["official_iou"], abs=5.1e-5)


def test_both_parsers_agree_with_every_published_vector() -> None:
    cases = json.loads(shared_path("data/medsg_parser_cases.json").read_text("utf-8"))["cases"]
    assert len(cases) == 46
    for case in cases:
        pixel, scaled = pixel_boxes(case["text"]), scaled_boxes(case["text"], (336, 336))
        assert pixel == as_list(case["abs_parser"]), case["case"]
        # the stored results are rounded
        assert [[round(number, 3) for number in box] for box in scaled] == as_list(
            case["scaled_parser_336"]
        ), case["case"]
        value = iou(VECTOR_TRUTH, pixel)
        assert value == pytest.approx(case["abs_iou_vs_8_18_32_44"], abs=5.1e-5), case["case"]


def test_real_replies_give_the_published_boxes_and_values_bit_for_bit() -> None:
    lines = shared_path("data/medsg_task8_part_a.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    assert len(rows) == 741
    for row in rows:
        boxes = pixel_boxes(row["raw_output"])
        assert boxes[:1] == as_list(row["official_box"])[:1], row["row"]
        assert iou(row["groundtruth"], boxes) == row["official_iou"], row["row"]


_NUMBER = r"(\d+\.?\d*)"
_PAIR = rf"{_NUMBER}\s*[,，]\s*{_NUMBER}"
_TWO_PAIRS = re.compile(rf"{_PAIR}\s*\)?\s*[,，]?\s*\(?\s*{_PAIR}")
_FOUR_SIGNED = re.compile("[ ,，]+".join([r"(-?\d+\.?\d*)"] * 4))


def backtracking_pixel_boxes(text: str) -> list[list[float]]:
    """The same rule as two searches, whose time is not bounded."""
    found = _TWO_PAIRS.findall(text) or _FOUR_SIGNED.findall(text)
    return [[float(number) for number in numbers] for numbers in found]


_PIECES = ["1", "23", "456", "0.5", ".", ",", "，", " ", "(", ")", "-", "x", "\n", "[", "]", "٣"]


@given(st.lists(st.sampled_from(_PIECES), max_size=25).map("".join))
@settings(max_examples=600, deadline=None)
def test_scanning_for_commas_reads_what_searching_would(text: str) -> None:
    assert pixel_boxes(text) == backtracking_pixel_boxes(text)


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("12.34,56", id="too_few"),
        pytest.param("1,2.5,6", id="split_in_the_fraction"),
        pytest.param("1,23.,6", id="split_before_the_dot"),
        pytest.param("1,2.3 , 4", id="one_digit_fraction"),
        pytest.param("1.2.3,4,5,6", id="version_like"),
        pytest.param("1-2 3 4 5", id="sign_inside"),
        pytest.param("-1 -2 -3 -4 -5 -6 -7 -8", id="two_signed"),
        pytest.param("1,2)(3,4 5,6,(7,8", id="two_pairs"),
    ],
)
def test_odd_numbers_are_split_as_a_search_would(text: str) -> None:
    assert pixel_boxes(text) == backtracking_pixel_boxes(text)


@pytest.mark.parametrize("reply", [None, float("nan"), "", "   "])
def test_a_missing_reply_has_no_box(reply: object) -> None:
    assert pixel_boxes(reply) == []
    assert scaled_boxes(reply, (336, 336)) == []


def test_scaled_parser_takes_sides_from_the_frame() -> None:
    assert scaled_boxes("[500, 500, 1000, 1000]", (200, 100)) == [[100, 50, 200, 100]]
    assert scaled_boxes("[0.5, 0.5, 1.0, 1.0]", (200, 100)) == [[100, 50, 200, 100]]


@pytest.mark.parametrize(
    ("boxes", "expected"),
    [
        pytest.param([], 0.0, id="none"),
        pytest.param([[0, 0, 10]], 0.0, id="three_numbers"),
        pytest.param([[0, 0, 10, 10]], 1.0, id="equal"),
        pytest.param([[5, 0, 15, 10]], 1 / 3, id="shifted"),
        pytest.param([[10, 0, 20, 10]], 0.0, id="touching"),
        pytest.param([[10, 10, 0, 0]], 0.0, id="inverted"),
        pytest.param([[90, 90, 99, 99], [0, 0, 10, 10]], 0.0, id="only_the_first_counts"),
    ],
)
def test_published_iou(boxes: list[list[float]], expected: float) -> None:
    assert iou([0, 0, 10, 10], boxes) == pytest.approx(expected, abs=1e-15)


def test_two_boxes_without_area_score_nothing() -> None:
    assert iou([5, 5, 5, 5], [[5, 5, 5, 5]]) == 0.0


def seconds(reply: str) -> float:
    measured = []
    for _ in range(2):
        begin = time.process_time()
        pixel_boxes(reply)
        scaled_boxes(reply, (336, 336))
        measured.append(time.process_time() - begin)
    return min(measured)


@pytest.mark.parametrize(
    "unit",
    ["9", " ", "1.", "1,", "1 ", "12,  (", "(1,2),", "(1,2),(3", "[1.5,", "<box>1 ", "-", "\n,"],
)
def test_parsing_time_grows_linearly_on_repetitions(unit: str) -> None:
    short, factor = 20_000 // len(unit), 6
    base = seconds(unit * short)
    # Quadratic growth would give 36.
    assert seconds(unit * short * factor) < 18 * max(base, 0.002)
