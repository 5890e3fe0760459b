"""The schema is strict: whatever is not as described is an error that names file and place."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from importlib.resources import files
from typing import Any

import pytest

from medbench_vlmeval.report import published
from medbench_vlmeval.report.published import CAVEATS, tables
from medbench_vlmeval.report.published.reading import read_tables

SHIPPED = sorted(
    path.name for path in files(published).iterdir() if path.name.endswith(".json")
)  # fmt: skip

GOOD: dict[str, Any] = {
    "benchmark": "B",
    "paper": {"title": "A paper", "authors": "Some", "venue": "arXiv", "arxiv": "2501.00001"},
    "tables": [
        {
            "id": "b-main",
            "title": "Main",
            "source": {"table": "Table 1", "date": "2025-01", "read_from": "the PDF"},
            "judge": {"name": "J", "version": None},
            "dataset": "B_test",
            "n": 10,
            "scale": 0.01,
            "decimals": 1,
            "note": "",
            "columns": [
                {"key": "x", "metric": "m", "group_by": "overall", "group": "Overall", "n": 10},
                {"key": "y", "metric": "m", "group_by": "g", "group": "Y", "n": None},
            ],
            "rows": [
                {"model": "M", "zoo": ["m-1"], "cells": {"x": "50.0", "y": "-1.5"}},
                {"model": "N", "zoo": [], "cells": {"x": "40.0", "y": None}},
            ],
            "marks": [
                {"caveat": "not_printed", "note": "Empty.", "models": ["N"], "columns": ["y"]},
                {"caveat": "rounded", "note": "One digit."},
            ],
        }
    ],
}


def read(data: Any) -> Any:
    return read_tables(json.dumps(data), "b.json")


@pytest.mark.parametrize("name", SHIPPED)
def test_every_shipped_file_is_read(name: str) -> None:
    text = (files(published) / name).read_text(encoding="utf-8")
    assert {table.id for table in read_tables(text, name)} <= {table.id for table in tables()}


def test_all_shipped_files_are_in_the_ledger() -> None:
    assert SHIPPED == ["medebench.json", "medq.json", "medq_deg.json", "medsg.json"]
    assert len({table.id for table in tables()}) == len(tables()) == 20


def test_a_good_file() -> None:
    (table,) = read(GOOD)
    first, second, third = table.cells()
    assert (first.value, first.half_unit, first.caveats) == (0.5, 0.0005, ("rounded",))
    assert (second.value, second.as_printed) == (-0.015, "-1.5")
    assert (third.model, third.column, third.value) == ("N", "x", 0.4)
    assert [mark.caveat for mark in table.marks_of("N", "y")] == ["not_printed", "rounded"]
    assert table.source.arxiv == "2501.00001"
    assert table.judge is not None
    assert (table.judge.name, table.judge.version) == ("J", None)


def test_a_half_unit_of_its_own_and_a_data_set_of_its_own() -> None:
    data = copy.deepcopy(GOOD)
    data["tables"][0]["columns"][0] |= {"half_unit": 0.2, "alone": "B_X_test"}
    (table,) = read(data)
    assert [cell.half_unit for cell in table.cells()] == [0.002, 0.0005, 0.002]
    assert {cell.dataset for cell in table.cells("B_X_test")} == {"B_X_test"}
    assert list(table.cells("B_Y_test")) == []


def without(*path: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        del data[path[-1]]

    return change


def setting(value: Any, *path: Any) -> Callable[[Any], None]:
    def change(data: Any) -> None:
        for step in path[:-1]:
            data = data[step]
        data[path[-1]] = value

    return change


T = ("tables", 0)
BROKEN = {
    "no_benchmark": (without("benchmark"), "b.json: expected the key 'benchmark'"),
    "empty_benchmark": (setting(" ", "benchmark"), "a text as 'benchmark'"),
    "unknown_key": (setting(1, "date"), "b.json: expected only benchmark, paper, tables"),
    "no_arxiv": (without("paper", "arxiv"), "b.json: paper: expected the key 'arxiv'"),
    "odd_arxiv": (setting("2501", "paper", "arxiv"), "'arxiv' of the form"),
    "no_tables": (setting([], "tables"), "a list as 'tables', got []"),
    "table_is_a_list": (setting([], *T), r"b.json: tables[0]: expected an object"),
    "no_source": (without(*T, "source"), r"tables[0]: expected the key 'source'"),
    "empty_source": (setting({}, *T, "source"), r"tables[0].source: expected the key 'table'"),
    "source_null": (setting(None, *T, "source"), r"tables[0].source: expected an object"),
    "odd_date": (setting("June 2025", *T, "source", "date"), "'date' of the form"),
    "nowhere_read": (setting("", *T, "source", "read_from"), "a text as 'read_from', got ''"),
    "judge_without_version": (without(*T, "judge", "version"), "the key 'version'"),
    "judge_as_text": (setting("J", *T, "judge"), r"tables[0].judge: expected an object, got 'J'"),
    "odd_scale": (setting(0.1, *T, "scale"), "one of (1, 0.01) as 'scale', got 0.1"),
    "true_scale": (setting(True, *T, "scale"), "as 'scale', got True"),
    "negative_decimals": (setting(-1, *T, "decimals"), "a whole number from 0 as 'decimals'"),
    "no_samples": (setting(0, *T, "n"), "a whole number from 1 as 'n', got 0"),
    "half_a_sample": (setting(1.5, *T, "columns", 0, "n"), r"columns[0]: expected a whole number"),
    "no_metric": (without(*T, "columns", 1, "metric"), r"columns[1]: expected the key 'metric'"),
    "odd_column_key": (setting(1, *T, "columns", 1, "unit"), r"columns[1]: expected only key"),
    "column_twice": (setting("x", *T, "columns", 1, "key"), r"columns: expected every name once"),
    "zero_half_unit": (setting(0, *T, "columns", 0, "half_unit"), "above 0 as 'half_unit'"),
    "model_twice": (setting("M", *T, "rows", 1, "model"), r"rows: expected every name once"),
    "zoo_twice": (setting(["a", "a"], *T, "rows", 0, "zoo"), r"rows[0].zoo: expected every name"),
    "zoo_of_numbers": (setting([1], *T, "rows", 0, "zoo"), r"rows[0]: expected names"),
    "no_cell": (without(*T, "rows", 0, "cells", "y"), r"rows[0].cells: expected the key 'y'"),
    "odd_cell": (setting("1.0", *T, "rows", 0, "cells", "z"), r"rows[0].cells: expected only x, y"),
    "a_number": (setting(50.0, *T, "rows", 0, "cells", "x"), r"rows[0].cells: expected a text"),
    "other_decimals": (setting("50.00", *T, "rows", 0, "cells", "x"), "with 1 decimals as 'x'"),
    "nan": (setting("nan", *T, "rows", 0, "cells", "x"), "with 1 decimals as 'x', got 'nan'"),
    "no_reason": (setting(None, *T, "rows", 0, "cells", "x"), "exactly where a cell is null"),
    "no_need": (setting("1.0", *T, "rows", 1, "cells", "y"), "exactly where a cell is null"),
    "odd_caveat": (setting("wrong", *T, "marks", 1, "caveat"), r"marks[1]: expected a caveat of"),
    "no_note": (setting("", *T, "marks", 1, "note"), r"marks[1]: expected a text as 'note'"),
    "mark_without_note": (without(*T, "marks", 1, "note"), r"marks[1]: expected the key 'note'"),
    "odd_model": (setting(["Q"], *T, "marks", 0, "models"), r"marks[0]: expected names"),
    "odd_column": (setting(["q"], *T, "marks", 0, "columns"), r"marks[0]: expected names"),
    "no_columns": (setting([], *T, "marks", 0, "columns"), r"marks[0]: expected a list"),
}


@pytest.mark.parametrize(("change", "message"), BROKEN.values(), ids=BROKEN)
def test_a_broken_file(change: Callable[[Any], None], message: str) -> None:
    data = copy.deepcopy(GOOD)
    change(data)
    with pytest.raises(ValueError, match=r"^b\.json: ") as caught:
        read(data)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('"x": "50.0"', '"x": "50.0", "x": "51.0"', "every name once, got 'x' twice"),
        ('"n": 10', '"n": NaN', "expected numbers, got NaN"),
        ("}]", "}", "delimiter"),
    ],
    ids=["cell_twice", "not_a_number", "no_json"],
)
def test_a_file_that_json_itself_would_let_pass_or_not(old: str, new: str, message: str) -> None:
    text = json.dumps(GOOD)
    assert old in text
    with pytest.raises(ValueError, match=r"^b\.json: ") as caught:
        read_tables(text.replace(old, new, 1), "b.json")
    assert message in str(caught.value)


def test_two_files_do_not_share_a_table(monkeypatch: pytest.MonkeyPatch, tmp_path: Any) -> None:
    for name in ("a.json", "b.json"):
        (tmp_path / name).write_text(json.dumps(GOOD), encoding="utf-8")
    monkeypatch.setattr(published, "files", lambda _: tmp_path)
    with pytest.raises(ValueError, match=r"^b\.json: .*'b-main' twice"):
        tables.__wrapped__()


def test_every_code_is_used_and_every_doubtful_cell_has_its_own_note() -> None:
    marks = [mark for table in tables() for mark in table.marks]
    assert {mark.caveat for mark in marks} == set(CAVEATS)
    for mark in marks:
        if mark.caveat in ("misprint_suspected", "does_not_add_up", "unreadable"):
            assert mark.models
            assert mark.columns
