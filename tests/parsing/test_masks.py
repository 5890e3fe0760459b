from __future__ import annotations

import json
import math
import time

import numpy as np
import pytest

from medbench_vlmeval.parsing import RunLengths, read_mask
from medbench_vlmeval.types import Status

RUNS = RunLengths.of(np.array([[0, 1], [1, 1], [0, 0]]))
LISTED = json.dumps(RUNS.to_coco())


@pytest.mark.parametrize(
    "reply",
    [
        LISTED,
        f"The mask is ```json\n{LISTED}\n``` as asked.",
        f'{{"label": "spleen", "segmentation": {LISTED}}}',
        "{'size': [3, 2], 'counts': '11110'}",
        "{'size': [3, 2], 'counts': b'11110'}",
        '{"counts": "11110", "size": [3, 2]}',
        f"<think>{{'size': [1, 1], 'counts': [1]}}</think>{LISTED}",
    ],
)
def test_run_lengths_are_read_however_they_are_printed(reply: str) -> None:
    reading = read_mask(reply)
    assert reading.status is Status.ANSWER
    assert reading.runs is not None
    assert reading.runs.size_hw == (3, 2)


def test_backslashes_of_the_compressed_text_are_read_once() -> None:
    # 44 in one character is a backslash: runs of 44 + 32 k need a second one.
    runs = RunLengths((1, 76), (76,))
    compressed = "\\2"
    assert RunLengths.from_coco({"size": [1, 76], "counts": compressed}) == runs
    for text in (json.dumps(compressed), repr(compressed), f'"{compressed}"'):
        assert read_mask(f'{{"size": [1, 76], "counts": {text}}}').runs == runs


@pytest.mark.parametrize(
    ("reply", "path"),
    [
        ("masks/row 7.png", "masks/row 7.png"),
        ("`masks/7.PNG`\n", "masks/7.PNG"),
        ("mask: masks/7.png.", "masks/7.png"),
        ('{"mask_path": "a b/7.png"}', "a b/7.png"),
        ("{'segmentation': 'a/7.png'}", "a/7.png"),
        ("<mask>a/7.png</mask> [1, 2, 3, 4]", "a/7.png"),
    ],
)
def test_a_path_is_a_mask_when_it_is_all_or_called_one(reply: str, path: str) -> None:
    reading = read_mask(reply)
    assert (reading.path, reading.status, reading.runs) == (path, Status.ANSWER, None)


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        ("In image-2.png the box is [1, 2, 3, 4]", Status.UNPARSED),
        ("[1, 2, 3, 4]", Status.UNPARSED),
        ('{"bbox_2d": [1, 2, 3, 4], "label": "mask"}', Status.UNPARSED),
        ("", Status.MISSING),
        (None, Status.MISSING),
        (math.nan, Status.MISSING),
        ("I'm sorry, I can't help with that.", Status.REFUSAL),
        ("Failed to obtain answer via API.", Status.API_FAIL),
        ("<think>a mask", Status.TRUNCATED),
    ],
)
def test_other_replies_carry_no_mask(reply: object, status: Status) -> None:
    reading = read_mask(reply)
    assert (reading.is_there, reading.status) == (False, status)
    assert reading.rest == (reply if isinstance(reply, str) and "<think>" not in reply else "")


@pytest.mark.parametrize(
    ("reply", "status", "note"),
    [
        ('{"size": [3, 2], "counts": [1, 2]}', Status.UNPARSED, "6 pixels"),
        ('{"counts": [6]}', Status.UNPARSED, "size"),
        ('{"size": [3, 2], "counts": [1, 1, 1', Status.TRUNCATED, "break off"),
        ('{"size": [3, 2], "counts": "111', Status.TRUNCATED, "break off"),
    ],
)
def test_run_lengths_that_are_no_mask_say_why(reply: str, status: Status, note: str) -> None:
    reading = read_mask(reply)
    assert reading.is_there
    assert reading.runs is None
    assert (reading.status, note in reading.note) == (status, True)


def test_the_rest_keeps_what_stands_beside_the_mask() -> None:
    assert read_mask(f"[1, 2, 3, 4] {LISTED} done").rest == "[1, 2, 3, 4]  done"


@pytest.mark.parametrize(
    "unit",
    ["{", '{"counts":', '"counts":"', "{'counts':[1", "mask: ", 'mask_path="', "<mask>a.pn", "}{"],
)
def test_time_is_linear_on_hostile_text(unit: str) -> None:
    def seconds(size: int) -> float:
        reply = unit * (size // len(unit))
        start = time.process_time()
        read_mask(reply)
        return time.process_time() - start

    seconds(10_000)
    # A megabyte in far less than the hours that quadratic time would take.
    assert seconds(1_000_000) < 5


def test_a_long_list_of_runs_is_read() -> None:
    runs = [0] + [1] * 200_000
    reading = read_mask(json.dumps({"size": [400, 500], "counts": runs}))
    assert reading.runs is not None
    assert len(reading.runs.runs) == 200_001
