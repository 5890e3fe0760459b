"""A call that is a numbered repeat of another one."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from medbench_vlmeval.files import read_jsonl

from .asking import ask, judge_at, row_call
from .server import Answer, JudgeServer

FIRST = row_call(0)
AGAIN = replace(FIRST, key="0-again", repeat=1)


def test_a_repeat_is_asked_although_the_question_is_known(tmp_path: Path) -> None:
    answers = iter([Answer.says("Score: 2"), Answer.says("Score: 1")])
    cache, log = tmp_path / "cache.sqlite", tmp_path / "judge.jsonl"
    with JudgeServer(lambda _: next(answers)) as server:
        first, again = ask(server, [FIRST, AGAIN], nproc=1, cache_path=cache, log_path=log)
        assert server.calls == 2
        assert server.requests[0].body == server.requests[1].body
    assert (first.reading.values, again.reading.values) == ({"Score": 2.0}, {"Score": 1.0})
    assert first.call_id == again.call_id
    assert [line["repeat"] for line in read_jsonl(log)[0]] == [0, 1]


def test_a_repeat_is_kept_under_its_own_number(tmp_path: Path) -> None:
    cache = tmp_path / "cache.sqlite"
    answers = iter([Answer.says("Score: 2"), Answer.says("Score: 1")])
    with JudgeServer(lambda _: next(answers)) as server:
        ask(server, [FIRST], nproc=1, cache_path=cache)
        assert judge_at(server, cache_path=cache).estimate([FIRST, AGAIN]).n_calls == 1
        ask(server, [FIRST, AGAIN], nproc=1, cache_path=cache)
        again, first = ask(server, [AGAIN, FIRST], nproc=1, cache_path=cache)
        assert server.calls == 2
    assert (first.reading.values, again.reading.values) == ({"Score": 2.0}, {"Score": 1.0})
    assert first.cached
    assert again.cached


def test_a_repeat_counts_from_0() -> None:
    with pytest.raises(ValueError, match="repeat of at least 0"):
        replace(FIRST, repeat=-1)
