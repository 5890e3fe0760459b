"""The page docs/boxes.md says what the code does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path
from typing import get_args

import pytest

from medbench_vlmeval.conventions import families
from medbench_vlmeval.official import medsg
from medbench_vlmeval.parsing import BOX_FLAGS, CoordinateConvention, read_box

PAGE = Path(__file__).resolve().parents[2] / "docs" / "boxes.md"
SIZE = (336, 336)


def table_below(heading: str) -> list[list[str]]:
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def reply_in(cell: str) -> str:
    match = re.fullmatch(r"`(.*)`", cell)
    assert match is not None, cell
    return match[1]


def numbers(cell: str) -> list[float] | None:
    return None if cell == "none" else [float(number) for number in cell.split()]


def strict(reply: str) -> list[float] | None:
    box = read_box(reply, convention="absolute", size_wh=SIZE).box
    return None if box is None else list(box)


def test_examples_print_what_the_page_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 12
    assert outcome.failed == 0


def test_every_convention_is_explained() -> None:
    named = {row[0].strip("`") for row in table_below("convention")}
    assert named == {*get_args(CoordinateConvention)}


def test_table_of_families_is_the_registry() -> None:
    assert table_below("family") == [
        [
            entry["family"],
            entry["coordinates"] or "asked in the prompt",
            entry["reference_box_form"],
            entry["official_parser"] or "none released",
        ]
        for entry in families()
    ]


@pytest.mark.parametrize("row", table_below("reply | box"), ids=lambda row: row[0])
def test_table_of_boxes_is_true(row: list[str]) -> None:
    assert strict(reply_in(row[0])) == numbers(row[1])


@pytest.mark.parametrize("row", table_below("reply | pixel parser"), ids=lambda row: row[0])
def test_table_of_official_and_strict_is_true(row: list[str]) -> None:
    reply = reply_in(row[0])
    assert next(iter(medsg.pixel_boxes(reply)), None) == numbers(row[1])
    assert strict(reply) == numbers(row[2])


def test_every_flag_is_explained() -> None:
    assert tuple(row[0].strip("`") for row in table_below("flag")) == BOX_FLAGS
