from __future__ import annotations

import csv
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pandas as pd
import pytest

from medbench_vlmeval.files import sha256_file, write_json_atomic, write_jsonl_atomic
from medbench_vlmeval.predictions import (
    classify_prediction,
    join_on_index,
    parse_path_list,
    read_predictions,
)
from medbench_vlmeval.types import Status
from tests.shared import ROOT, shared_cases

ENGINES = ["openpyxl", "xlsxwriter"]
FORMATS = ["xlsx", "tsv", "csv", "json", "jsonl", "pkl"]

MINE = {
    *("B15a", "B35c", "B47a", "B47c", "B49a", "B49b", "B51a", "B53a", "B53b", "B55a", "B55b"),
    *("B57a", "B57b", "B57c", "B59a", "B59b", "B59c", "V-P04"),
}
NAMES = {"B61a", "B61b", "B61c"}
"""Checked in test_naming.py."""
MEDQ_ONLY = {"B47b", "V-P01", "V-P02", "V-P03", "V-P05", "V-P06"}
"""Options, answers and prompts of multiple-choice rows: they concern MedQ-Bench's data set."""


def cases(*identifiers: str) -> list[Any]:
    every = shared_cases("predictions.jsonl")
    return [case for case in every if case.id in identifiers or case.id == "absent"]


def written(path: Path, frame: pd.DataFrame, *, engine: str = "xlsxwriter") -> Path:
    """`frame` written as VLMEvalKit's `dump` writes it."""
    suffix = path.suffix
    if suffix == ".xlsx":
        options = {"options": {"strings_to_formulas": False}} if engine == "xlsxwriter" else None
        with pd.ExcelWriter(path, engine=engine, engine_kwargs=options) as writer:  # type: ignore[call-overload]
            frame.to_excel(writer, index=False)
    elif suffix in (".tsv", ".csv"):
        separator = "\t" if suffix == ".tsv" else ","
        frame.to_csv(path, sep=separator, index=False, quoting=csv.QUOTE_ALL, encoding="utf-8")
    elif suffix == ".json":
        path.write_text(json.dumps(frame.to_dict("records"), indent=4), encoding="utf-8")
    elif suffix == ".jsonl":
        lines = [json.dumps(record) for record in frame.to_dict("records")]
        path.write_text("\n".join(lines), encoding="utf-8")
    else:
        path.write_bytes(pickle.dumps(frame))
    return path


def table_of(values: list[Any], column: str = "prediction") -> pd.DataFrame:
    other = "index" if column == "prediction" else "prediction"
    columns = {column: values, other: [f"r{number}" for number in range(len(values))]}
    return pd.DataFrame(columns, columns=["index", "prediction"], dtype=object)


def file_kinds(formats: list[str]) -> list[tuple[str, str]]:
    return [
        (ending, engine)
        for ending in formats
        for engine in (ENGINES if ending == "xlsx" else ENGINES[:1])
    ]


def test_every_prediction_case_belongs_somewhere() -> None:
    every = {case.id for case in shared_cases("predictions.jsonl")} - {"absent"}
    assert every == (MINE | NAMES | MEDQ_ONLY if (ROOT / "cases").exists() else set())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", cases("B15a"))
def test_file_with_scores_is_refused(case: dict[str, Any], engine: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(case["rows"], columns=case["columns"])
    path = written(tmp_path / "M_D.xlsx", frame, engine=engine)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=case["required"]["message_names"]):
        read_predictions(path)
    assert path.read_bytes() == before


@pytest.mark.parametrize("case", cases("B35c"))
def test_refusal_of_a_candidate_is_its_own_class(case: dict[str, Any], tmp_path: Path) -> None:
    path = written(tmp_path / f"M_D.{case['format']}", table_of([case["value"]]))
    [row] = read_predictions(path).rows
    assert classify_prediction(row["prediction"]).value == case["required"]["class"]


@pytest.mark.parametrize("case", cases("B47a", "B55a"))
def test_texts_that_look_like_something_else_survive(case: dict[str, Any], tmp_path: Path) -> None:
    required = case["required"]
    expected = required.get("values_after_load") or required["index_after_load"]
    for ending, engine in file_kinds([*case["formats"], "json", "pkl"]):
        path = tmp_path / f"{engine}.{ending}"
        written(path, table_of(case["values"], case["column"]), engine=engine)
        values = [row[case["column"]] for row in read_predictions(path).rows]
        assert values == expected, (ending, engine)
        assert {type(value).__name__ for value in values} == {required.get("type", "str")}
        if case["column"] == "prediction":
            assert {str(classify_prediction(value)) for value in values} == {required["class"]}


@pytest.mark.parametrize("case", cases("B47c"))
def test_empty_cells_are_missing(case: dict[str, Any], tmp_path: Path) -> None:
    for ending, engine in file_kinds([*case["formats"], "json", "jsonl", "pkl"]):
        path = written(tmp_path / f"{engine}.{ending}", table_of(case["values"]), engine=engine)
        values = [row["prediction"] for row in read_predictions(path).rows]
        assert values == [None, None], (ending, engine)
    assert {str(classify_prediction(value)) for value in (None, "", "nan", float("nan"))} == {
        case["required"]["class"]
    }


@pytest.mark.parametrize("case", cases("B49a"))
def test_control_characters_survive(case: dict[str, Any], tmp_path: Path) -> None:
    value = case["required"]["value_in_jsonl"]
    lines = write_jsonl_atomic(tmp_path / "M_D.jsonl", [{"index": "1", "prediction": value}])
    sheet = written(tmp_path / "M_D.xlsx", table_of([value]), engine="xlsxwriter")
    for path in (lines, sheet):
        assert read_predictions(path).rows[0]["prediction"] == value


@pytest.mark.parametrize("case", cases("B49b"))
def test_text_that_looks_like_an_escape_survives(case: dict[str, Any], tmp_path: Path) -> None:
    for ending, engine in file_kinds(case["formats"]):
        path = written(tmp_path / f"{engine}.{ending}", table_of([case["value"]]), engine=engine)
        [row] = read_predictions(path).rows
        assert row["prediction"] == case["required"]["value_after_load"], (ending, engine)


@pytest.mark.parametrize("case", cases("B51a"))
def test_reading_never_changes_the_file(case: dict[str, Any], tmp_path: Path) -> None:
    frame = pd.DataFrame(case["rows"], columns=case["columns"])
    for ending in case["formats"]:
        path = written(tmp_path / case["name"].format(ext=ending), frame)
        before = path.read_bytes()
        table = read_predictions(path)
        assert [[row["index"], row["prediction"]] for row in table.rows] == case["rows"]
        assert table.columns == tuple(case["columns"])
        assert table.sha256 == sha256_file(path)
        assert path.read_bytes() == before
        path.unlink()
    assert [entry.name for entry in tmp_path.iterdir()] == case["required"]["stray_files"]


@pytest.mark.parametrize("case", cases("B53a", "B53b"))
def test_results_with_numpy_scalars_are_valid_json(case: dict[str, Any], tmp_path: Path) -> None:
    built = {
        "numpy.float32(0.5)": np.float32(0.5),
        "numpy.int64(3)": np.int64(3),
        "numpy.bool_(True)": np.bool_(True),
        "numpy.array([1,2])": np.array([1, 2]),
    }
    value = {name: built[text] for name, text in case["value"].items()}
    path = write_json_atomic(tmp_path / "M_D_score.json", value)
    assert json.loads(path.read_text(encoding="utf-8")) == case["required"]["parsed"]
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("case", cases("B55b"))
def test_join_keeps_the_form_of_keys(case: dict[str, Any], tmp_path: Path) -> None:
    frame = table_of(case["prediction_index"], "index")
    path = written(tmp_path / f"M_D.{case['prediction_format']}", frame)
    joined = join_on_index(read_predictions(path), case["dataset_index"])
    assert len(joined.matched) == case["required"]["rows_matched"]
    assert joined.unmatched == case["required"]["unmatched"]
    assert joined.missing == []


@pytest.mark.parametrize("case", cases("B57a", "B57b", "B57c"))
def test_cut_and_broken_jsonl_files(case: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / f"M_D.{case['format']}"
    path.write_text(case["content"], encoding="utf-8")
    required = case["required"]
    if required["raises"]:
        with pytest.raises(ValueError, match=required["message_names"]) as caught:
            read_predictions(path)
        assert str(path) in str(caught.value)
        return
    table = read_predictions(path)
    assert len(table.rows) == required["rows"]
    wanted = "no rows" if required["warning"] is True else required["warning"]
    assert any(wanted in warning for warning in table.warnings)


@pytest.mark.parametrize("case", cases("B59a", "B59b", "B59c"))
def test_list_cells_are_read_as_literals_only(
    case: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    executed: list[str] = []
    monkeypatch.setattr(os, "system", executed.append)
    if case["required"].get("raises"):
        with pytest.raises(ValueError, match="list of paths"):
            parse_path_list(case["value"])
    else:
        assert parse_path_list(case["value"]) == case["required"]["parsed"]
    assert executed == []


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("case", cases("V-P04"))
def test_table_without_rows_says_so(case: dict[str, Any], engine: str, tmp_path: Path) -> None:
    frame = pd.DataFrame(case["rows"], columns=case["columns"])
    table = read_predictions(written(tmp_path / "M_D.xlsx", frame, engine=engine))
    assert len(table.rows) == case["required"]["n"]
    assert any("no rows" in warning for warning in table.warnings)


@pytest.mark.parametrize(
    "case", [case for case in shared_cases("runs.jsonl") if "B115a" in case.id]
)
def test_rows_repeated_by_shards_are_counted_once(case: dict[str, Any], tmp_path: Path) -> None:
    ranks = {0: [0, 3, 6, 9], 1: [1, 4, 7, 9], 2: [2, 5, 8, 8]}
    rows = [
        {"index": str(row), "prediction": "other" if (rank, row) == (1, 9) else f"text {row}"}
        for rank, members in ranks.items()
        for row in members
    ]
    table = read_predictions(write_jsonl_atomic(tmp_path / "M_D.jsonl", rows))
    assert len(table.rows) == case["required"]["unique_rows"]
    assert len(table.duplicates) == case["required"]["duplicates_with_different_text_reported"]
    assert table.duplicates == ("9",)
    assert {row["index"]: row["prediction"] for row in table.rows}["9"] == "text 9"
    assert any("same prediction" in warning and ": 8" in warning for warning in table.warnings)
    assert any("different predictions" in warning for warning in table.warnings)


ODD_TEXTS = [
    "=1+1",
    "a\r\nb",
    "line\nbreak",
    " lead and trail ",
    "tab\there",
    "say \"yes\", or 'no'",
    "TRUE",
    "inf",
    "+5",
    "日本語 🩻",
    "<b>&amp;</b>",
    "_x005F_",
    "http://example.org/a?b=c",
    '{"edited_image": {"format": "png", "sha256": "00", "size": [64, 48]}}',
]


@pytest.mark.parametrize(("ending", "engine"), file_kinds(FORMATS))
def test_odd_texts_come_back_as_they_were(ending: str, engine: str, tmp_path: Path) -> None:
    # Without lxml openpyxl itself writes a carriage return in a way that XML does not keep.
    keeps_returns = engine != "openpyxl" or openpyxl.LXML
    texts = [text for text in ODD_TEXTS if keeps_returns or "\r" not in text]
    path = written(tmp_path / f"M_D.{ending}", table_of(texts), engine=engine)
    assert [row["prediction"] for row in read_predictions(path).rows] == texts


@pytest.mark.parametrize("ending", FORMATS)
@pytest.mark.parametrize("number", [12, 12.0, np.float64(12.0), np.int64(12)])
def test_numeric_index_reads_as_its_digits(ending: str, number: object, tmp_path: Path) -> None:
    frame = pd.DataFrame({"index": [number], "prediction": ["A"]})
    assert read_predictions(written(tmp_path / f"M_D.{ending}", frame)).rows[0]["index"] == "12"


@pytest.mark.parametrize(("ending", "engine"), file_kinds(FORMATS))
def test_real_nan_is_no_text(ending: str, engine: str, tmp_path: Path) -> None:
    frame = pd.DataFrame({"index": [1, 2], "prediction": ["A", None], "note": [float("nan"), 0.5]})
    rows = read_predictions(written(tmp_path / f"M_D.{ending}", frame, engine=engine)).rows
    assert rows == [
        {"index": "1", "prediction": "A", "note": None},
        {"index": "2", "prediction": None, "note": "0.5"},
    ]


HARD_TEXTS = ["nul\x00inside", "old\rmac", "\x1b[0m", "a\n\nb"]


@pytest.mark.parametrize("ending", ["json", "jsonl", "pkl"])
def test_control_characters_survive_in_objects(ending: str, tmp_path: Path) -> None:
    path = written(tmp_path / f"M_D.{ending}", table_of(HARD_TEXTS))
    assert [row["prediction"] for row in read_predictions(path).rows] == HARD_TEXTS


@pytest.mark.parametrize(("ending", "separator"), [("tsv", "\t"), ("csv", ",")])
def test_control_characters_survive_in_quoted_cells(
    ending: str, separator: str, tmp_path: Path
) -> None:
    rows = [("index", "prediction"), *(enumerate(HARD_TEXTS))]
    lines = [separator.join(f'"{cell}"' for cell in row) + "\n" for row in rows]
    path = tmp_path / f"M_D.{ending}"
    path.write_bytes("".join(lines).encode())
    assert [row["prediction"] for row in read_predictions(path).rows] == HARD_TEXTS


def test_text_taken_for_a_formula_comes_back_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "M_D.xlsx"
    table_of(["=1+1"]).to_excel(path, index=False, engine="xlsxwriter")
    table = read_predictions(path)
    assert table.rows[0]["prediction"] == "=1+1"
    assert any("row 2" in warning and "formula" in warning for warning in table.warnings)


def test_text_cut_by_the_format_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "M_D.xlsx"
    table_of(["x" * 32_767]).to_excel(path, index=False)
    assert any("probably cut" in warning for warning in read_predictions(path).warnings)


@pytest.mark.parametrize(
    "content",
    [
        pytest.param({"index": ["1", "2"], "prediction": ["A", None]}, id="columns"),
        pytest.param(
            {"index": {"0": 1, "1": 2}, "prediction": {"0": "A", "1": None}}, id="columns_by_label"
        ),
        pytest.param([{"index": 1, "prediction": "A"}, {"index": "2"}], id="records"),
    ],
)
def test_json_may_hold_records_or_columns(content: Any, tmp_path: Path) -> None:
    path = tmp_path / "M_D.json"
    path.write_text(json.dumps(content), encoding="utf-8")
    rows = read_predictions(path).rows
    assert rows == [{"index": "1", "prediction": "A"}, {"index": "2", "prediction": None}]


def test_objects_in_cells_become_json(tmp_path: Path) -> None:
    path = tmp_path / "M_D.json"
    path.write_text(json.dumps([{"index": 1, "prediction": {"a": [1, 2]}}]), encoding="utf-8")
    assert read_predictions(path).rows[0]["prediction"] == '{"a": [1, 2]}'


@pytest.mark.parametrize("protocol", [2, 4, 5])
@pytest.mark.parametrize("dtype", [object, "string[python]", "string[pyarrow]", "category"])
def test_pickled_tables_of_every_kind_are_read(dtype: Any, protocol: int, tmp_path: Path) -> None:
    if dtype == "string[pyarrow]":
        pytest.importorskip("pyarrow")
    frame = pd.DataFrame({"index": [1, 2], "prediction": pd.Series(["007", None], dtype=dtype)})
    path = tmp_path / "M_D.pkl"
    path.write_bytes(pickle.dumps(frame, protocol=protocol))
    assert [row["prediction"] for row in read_predictions(path).rows] == ["007", None]


def test_pickled_predictions_by_index_are_read(tmp_path: Path) -> None:
    path = tmp_path / "01_D.pkl"
    path.write_bytes(pickle.dumps({1: "A", np.int64(2): "None"}))
    rows = read_predictions(path).rows
    assert rows == [{"index": "1", "prediction": "A"}, {"index": "2", "prediction": "None"}]


class _Calls:
    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = (function, arguments)

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return self.call


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(_Calls(os.mkdir, "ran"), id="os"),
        pytest.param(_Calls(eval, "__import__('os').mkdir('ran')"), id="eval"),
        pytest.param(_Calls(pd.eval, "1"), id="pandas_eval"),
        pytest.param(_Calls(pd.read_pickle, "other.pkl"), id="pandas_read_pickle"),
        pytest.param([{"index": "1", "prediction": _Calls(os.mkdir, "ran")}], id="in_a_row"),
        pytest.param(Path("x"), id="other_class"),
    ],
)
def test_pickle_that_would_run_code_is_refused(
    content: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "M_D.pkl"
    path.write_bytes(pickle.dumps(content))
    with pytest.raises(ValueError, match="save the table as xlsx, tsv or json"):
        read_predictions(path)
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        pytest.param("a.xlsx", b"PK no zip", "expected an xlsx file", id="broken_xlsx"),
        pytest.param("a.json", b'[{"index": "1"', "killed", id="cut_json"),
        pytest.param("a.json", b"7", "list of records", id="json_number"),
        pytest.param("a.json", b'["A"]', "record 1", id="json_texts"),
        pytest.param("a.json", b'{"index": ["1"], "prediction": []}', "one length", id="ragged"),
        pytest.param("a.json", b'{"error": "x"}', "column 'error'", id="error_object"),
        pytest.param("a.json", b'[{"prediction": "A"}]', "index missing", id="no_index_column"),
        pytest.param("a.jsonl", b'{"index": "1"}', "prediction missing", id="no_prediction"),
        pytest.param("a.tsv", b"index\tprediction\n1\tA\tB\tC\n", "number of columns", id="wide"),
        pytest.param("a.csv", b"index,prediction\n1,\xff\n", "UTF-8", id="not_utf8"),
        pytest.param("a.jsonl", b'{"index": "\xff"}\n', "UTF-8", id="jsonl_not_utf8"),
        pytest.param("a.pkl", b"\x80\x05", "xlsx, tsv or json", id="cut_pickle"),
        pytest.param("a.tsv", b"index\tprediction\n\tA\n", "row 2 has no index", id="no_key"),
        pytest.param("a.tsv", b"index\tprediction\tVQ_score\n", '"VQ_score"', id="judged"),
        pytest.param("a.parquet", b"x", "convert the file", id="other_format"),
    ],
)
def test_unusable_file_is_named_with_a_remedy(
    name: str, content: bytes, message: str, tmp_path: Path
) -> None:
    path = tmp_path / name
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        read_predictions(path)
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("ending", FORMATS)
def test_empty_file_has_no_rows(ending: str, tmp_path: Path) -> None:
    path = tmp_path / f"M_D.{ending}"
    path.write_bytes(b"")
    table = read_predictions(path)
    assert table.rows == []
    assert "no rows" in table.warnings[0]


def test_absent_file_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no such prediction file"):
        read_predictions(tmp_path / "M_D.xlsx")


def test_blank_rows_are_skipped(tmp_path: Path) -> None:
    path = tmp_path / "M_D.tsv"
    path.write_text('index\tprediction\n1\tA\n""\t""\n2\tB\n', encoding="utf-8")
    assert [row["index"] for row in read_predictions(path).rows] == ["1", "2"]


def test_long_cells_of_text_tables_are_read_whole(tmp_path: Path) -> None:
    text = "x" * 300_000
    path = written(tmp_path / "M_D.tsv", table_of([text]))
    assert read_predictions(path).rows[0]["prediction"] == text


def test_join_reports_keys_that_lost_their_zeros(tmp_path: Path) -> None:
    rows = [{"index": "7", "prediction": "A"}, {"index": "12", "prediction": "B"}]
    table = read_predictions(write_jsonl_atomic(tmp_path / "M_D.jsonl", rows))
    joined = join_on_index(table, ["007", "12", "q3"])
    assert list(joined.matched) == ["12"]
    assert joined.missing == ["007", "q3"]
    assert joined.unmatched == ["7"]
    assert "'007'" in joined.hints[0]


def test_join_takes_numbers_as_indices(tmp_path: Path) -> None:
    rows = [{"index": 1, "prediction": "A"}, {"index": 2, "prediction": "B"}]
    table = read_predictions(write_jsonl_atomic(tmp_path / "M_D.jsonl", rows))
    assert list(join_on_index(table, [2, 1.0]).matched) == ["2", "1"]


def test_join_refuses_a_data_set_with_an_index_twice(tmp_path: Path) -> None:
    path = write_jsonl_atomic(tmp_path / "M_D.jsonl", [{"index": 1, "prediction": "A"}])
    with pytest.raises(ValueError, match="distinct"):
        join_on_index(read_predictions(path), ["1", 1])


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("A", Status.ANSWER, id="letter"),
        pytest.param("None", Status.ANSWER, id="none_word"),
        pytest.param("N/A", Status.ANSWER, id="not_applicable"),
        pytest.param("  ", Status.MISSING, id="blank"),
        pytest.param("NaN", Status.MISSING, id="nan_text"),
        pytest.param("Failed to obtain answer via API. A", Status.API_FAIL, id="failure"),
        pytest.param("<think>B?</think>I can't assist with that.", Status.REFUSAL, id="thinking"),
    ],
)
def test_predictions_are_classified(text: object, status: Status) -> None:
    assert classify_prediction(text) is status


@pytest.mark.parametrize(
    ("cell", "paths"),
    [
        pytest.param(None, [], id="none"),
        pytest.param(float("nan"), [], id="nan"),
        pytest.param("", [], id="empty"),
        pytest.param("a.png", ["a.png"], id="one_path"),
        pytest.param(["a.png"], ["a.png"], id="list"),
        pytest.param("[]", [], id="empty_list"),
        pytest.param(" ['a.png',] ", ["a.png"], id="trailing_comma"),
    ],
)
def test_path_cells(cell: object, paths: list[str]) -> None:
    assert parse_path_list(cell) == paths


@pytest.mark.parametrize("cell", ["[1, 2]", "[open('x')]", "[a.png]", "[" * 5000, "['a'", [1]])
def test_cells_that_are_no_list_of_paths_are_refused(cell: object) -> None:
    with pytest.raises(ValueError, match="list of paths"):
        parse_path_list(cell)
