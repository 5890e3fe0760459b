from __future__ import annotations

import json
import multiprocessing
from pathlib import Path

import numpy as np
import pytest

from medbench_vlmeval.files import (
    append_jsonl,
    json_line,
    read_jsonl,
    to_plain,
    write_bytes_atomic,
    write_json_atomic,
)
from medbench_vlmeval.types import Status


def test_numpy_scalars_and_arrays_become_plain_json(tmp_path: Path) -> None:
    value = {
        "acc": np.float32(0.5),
        "n": np.int64(3),
        "ok": np.bool_(True),
        "hist": np.array([1, 2]),
        "status": Status.ANSWER,
        "nan": float("nan"),
    }
    path = write_json_atomic(tmp_path / "score.json", value)
    assert json.loads(path.read_text()) == {
        "acc": 0.5,
        "n": 3,
        "ok": True,
        "hist": [1, 2],
        "status": "answer",
        "nan": None,
    }
    assert [entry.name for entry in tmp_path.iterdir()] == ["score.json"]


def test_a_type_json_has_no_form_for_is_refused() -> None:
    with pytest.raises(TypeError, match="object"):
        to_plain(object())


def test_a_failed_write_leaves_the_old_file_and_no_part(tmp_path: Path) -> None:
    path = write_json_atomic(tmp_path / "score.json", {"a": 1})
    with pytest.raises(TypeError):
        write_json_atomic(path, {"a": object()})
    with pytest.raises(TypeError):
        write_bytes_atomic(path, "text, not bytes")  # type: ignore[arg-type]
    assert json.loads(path.read_text()) == {"a": 1}
    assert [entry.name for entry in tmp_path.iterdir()] == ["score.json"]


@pytest.mark.parametrize(
    "text", ["\x0bctrl \x00nul", "_x000B_", "line\nbreak", "\ud800 lone", "ünïcode 图"], ids=ascii
)
def test_any_text_survives_a_json_line(text: str, tmp_path: Path) -> None:
    path = tmp_path / "lines.jsonl"
    append_jsonl(path, {"text": text})
    rows, warnings = read_jsonl(path)
    assert rows == [{"text": text}]
    assert warnings == []
    assert "\n" not in json_line({"text": text})


def test_an_empty_file_gives_no_rows_and_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "empty.jsonl"
    path.write_text("")
    rows, warnings = read_jsonl(path)
    assert rows == []
    assert "no rows" in warnings[0]


def test_a_cut_last_line_is_dropped_with_a_warning(tmp_path: Path) -> None:
    path = tmp_path / "cut.jsonl"
    path.write_text('{"index": "1"}\n{"index": "2", "predi')
    rows, warnings = read_jsonl(path)
    assert rows == [{"index": "1"}]
    assert "last line incomplete" in warnings[0]


def test_a_broken_line_in_the_middle_is_named(tmp_path: Path) -> None:
    path = tmp_path / "broken.jsonl"
    path.write_text('{"index": "1"}\n{"index": "2", "predi\n{"index": "3"}\n')
    with pytest.raises(ValueError, match="line 2"):
        read_jsonl(path)


def test_appending_after_a_cut_line_does_not_lose_the_new_one(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"n": 1}\n{"n": 2, "cut')
    append_jsonl(path, {"n": 3})
    assert path.read_text().splitlines()[-1] == '{"n": 3}'
    records, warnings = read_jsonl(path)
    assert records == [{"n": 1}, {"n": 3}]
    assert len(warnings) == 1
    assert "line incomplete (line 2)" in warnings[0]


def _append_many(path: str, writer: int) -> None:
    for number in range(100):
        append_jsonl(path, {"writer": writer, "number": number, "text": "x" * 2000})


def test_eight_processes_append_without_losing_a_line(tmp_path: Path) -> None:
    path = tmp_path / "shared.jsonl"
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_append_many, args=(str(path), n)) for n in range(8)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    rows, warnings = read_jsonl(path)
    assert warnings == []
    assert {(row["writer"], row["number"]) for row in rows} == {
        (writer, number) for writer in range(8) for number in range(100)
    }
