from __future__ import annotations

import multiprocessing
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.files import append_jsonl, read_jsonl
from medbench_vlmeval.judging.cache import ReplyCache, cache_key

from ..shared import shared_cases

ATTEMPT = {"reply": {"text": "Score: 2"}, "status": "answer"}


def test_only_usable_verdicts_are_served_and_the_latest_of_them(tmp_path: Path) -> None:
    with closing(ReplyCache(tmp_path / "deep" / "cache.sqlite")) as cache:
        assert cache.attempts("k") is None
        cache.store("k", "c", [{**ATTEMPT, "n": 1}], usable=True)
        cache.store("k", "c", [{**ATTEMPT, "n": 2}], usable=True)
        cache.store("k", "c", [{"status": "unparsed"}], usable=False)
        cache.store("other", "c", [{"status": "unparsed"}], usable=False)
        assert cache.attempts("k") == [{**ATTEMPT, "n": 2}]
        assert cache.attempts("other") is None


def test_what_was_stored_is_there_for_the_next_process(tmp_path: Path) -> None:
    path = tmp_path / "cache.sqlite"
    with closing(ReplyCache(path)) as cache:
        cache.store("k", "c", [ATTEMPT], usable=True)
    with closing(ReplyCache(path)) as cache:
        assert cache.attempts("k") == [ATTEMPT]


def test_the_key_separates_requests_judges_and_repeats() -> None:
    keys = {cache_key(c, i, r) for c in ("a", "b") for i in ("host", "other") for r in (0, 1)}
    assert len(keys) == 8


@pytest.mark.parametrize("content", [b"not a database at all" * 100, b"SQLite format 3\x00garbage"])
def test_a_file_that_is_no_cache_is_named(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "cache.sqlite"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"cache\.sqlite.*move the file away"):
        ReplyCache(path)


def append_many(folder: Path, writer: int, count: int) -> None:
    with closing(ReplyCache(folder / "cache.sqlite")) as cache:
        for number in range(count):
            record = {"writer": writer, "number": number, "padding": "x" * 2000}
            append_jsonl(folder / "judge.jsonl", record)
            cache.store(f"{writer}-{number}", "c", [record], usable=True)


@pytest.mark.parametrize(
    "case", [case for case in shared_cases("runs.jsonl") if case.id in ("B117a", "absent")]
)
def test_eight_processes_lose_no_line_and_no_verdict(case: dict[str, Any], tmp_path: Path) -> None:
    wanted = case["required"]["valid_lines"]
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])  # imports once, not eight times
    processes = [
        context.Process(target=append_many, args=(tmp_path, writer, wanted // 8))
        for writer in range(8)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0] * 8
    records, warnings = read_jsonl(tmp_path / "judge.jsonl")
    assert len({(r["writer"], r["number"]) for r in records}) == len(records) == wanted
    assert warnings == []
    with closing(sqlite3.connect(tmp_path / "cache.sqlite")) as database:
        assert database.execute("select count(distinct key) from verdict").fetchone() == (wanted,)
