"""The page docs/parsing.md says what the code does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from medbench_vlmeval.official import medebench, medq
from medbench_vlmeval.parsing import read_scores
from medbench_vlmeval.types import Status

PAGE = Path(__file__).resolve().parents[2] / "docs" / "parsing.md"


def table_below(heading: str) -> list[list[str]]:
    """The rows of the first table whose header starts with `heading`; code marks are dropped."""
    lines = PAGE.read_text(encoding="utf-8").split("\n")
    start = next(n for n, line in enumerate(lines) if line.startswith(f"| {heading} |"))
    rows = []
    for line in lines[start + 2 :]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split(" | ")])
    return rows


def reply_in(cell: str) -> str:
    match = re.search(r"`(.*)`", cell)
    assert match is not None
    return match[1].replace(" ⏎ ", "\n")


def number(cell: str) -> float | None:
    return None if cell == "none" else float(cell.split()[0])


def test_examples_print_what_the_page_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 6
    assert outcome.failed == 0


def test_every_status_is_explained() -> None:
    named = {row[0].strip("`") for row in table_below("status")}
    assert named == {str(status) for status in Status}


def test_table_of_scores_is_true() -> None:
    rows = table_below("reply | value")
    assert len(rows) > 10
    for reply, value, _ in rows:
        reading = read_scores(reply_in(reply), ["Visual Quality"], low=0, high=10)
        assert reading.values["Visual Quality"] == number(value), reply


@pytest.mark.parametrize("row", table_below("reply | official MedEBench"), ids=lambda row: row[0])
def test_table_of_the_medebench_rule_is_true(row: list[str]) -> None:
    line = reply_in(row[0])
    reply = "\n".join(line.replace(medebench.JUDGED[0], name) for name in medebench.JUDGED)
    assert set(medebench.judge_scores(reply).values()) == {number(row[1])}
    strict = read_scores(reply, medebench.JUDGED, low=0, high=10)
    assert set(strict.values.values()) == {number(row[2])}


@pytest.mark.parametrize("row", table_below("reply | official MedQ"), ids=lambda row: row[0])
def test_table_of_the_medq_rule_is_true(row: list[str]) -> None:
    reply = reply_in(row[0])
    assert medq.score(reply) == number(row[1])
    strict = read_scores(reply, ["Score"], low=0, high=2, allowed=(0, 1, 2))
    assert strict.values["Score"] == number(row[2])
