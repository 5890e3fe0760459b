"""The page docs/choices.md says what the code does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from medbench_vlmeval.official.medq import choice
from medbench_vlmeval.parsing import read_choice, read_preferred_image, read_quality_grade
from tests.parsing.choice_replies import FAULTS

PAGE = Path(__file__).resolve().parents[2] / "docs" / "choices.md"


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
    return match[1].replace(" ⏎ ", "\n")


def rows(heading: str) -> list[object]:
    return [pytest.param(row, id=row[0]) for row in table_below(heading)]


def test_examples_print_what_the_page_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 12
    assert outcome.failed == 0


@pytest.mark.parametrize("row", rows("reply | letter"))
def test_table_of_letters_is_true(row: list[str]) -> None:
    assert (read_choice(reply_in(row[0]), FAULTS).letter or "none") == row[1]


@pytest.mark.parametrize("row", rows("reply | official"))
def test_table_of_official_and_strict_is_true(row: list[str]) -> None:
    reply = reply_in(row[0])
    published = choice(reply)
    assert (published if len(published) == 1 else "none") == row[1]
    assert (read_choice(reply, FAULTS).letter or "none") == row[2]


@pytest.mark.parametrize("row", rows("description | grade"))
def test_table_of_grades_is_true(row: list[str]) -> None:
    assert (read_quality_grade(reply_in(row[0])).grade or "none") == row[1]


@pytest.mark.parametrize("row", rows("comparison | image"))
def test_table_of_preferences_is_true(row: list[str]) -> None:
    assert (read_preferred_image(reply_in(row[0])).image or "none") == row[1]
