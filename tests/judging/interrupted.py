"""A judge in a process of its own, killed in the middle of a call; and the run that goes on."""

from __future__ import annotations

import argparse
import os
import signal
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from medbench_vlmeval.judging import Verdict

from .asking import judge_at, row_calls
from .server import Answer, JudgeServer, Request

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class KilledRun:
    """What a killed run had done."""

    calls: int
    n_stored: int


def judge_until_killed(
    folder: Path, *, rows: int, metrics: int = 1, kill_at: int, nproc: int = 1
) -> KilledRun:
    """Judge in a child process and end it with SIGKILL while call number `kill_at` is under way."""
    reached = threading.Event()

    def script(request: Request) -> Answer:
        if len(server.requests) < kill_at:
            return Answer.says("Score: 2")
        reached.set()
        return Answer(delay_s=60.0)

    with JudgeServer(script) as server:
        child = start_judge(server.base_url, folder, rows=rows, metrics=metrics, nproc=nproc)
        try:
            assert reached.wait(60), "the judge did not come to the call"
        finally:
            os.kill(child.pid, signal.SIGKILL)
            child.wait()
        return KilledRun(server.calls, n_stored(folder))


def start_judge(
    address: str, folder: Path, *, rows: int, metrics: int = 1, nproc: int = 1
) -> subprocess.Popen[bytes]:
    """A process that judges `rows` x `metrics` calls with the cache and log in `folder`."""
    options = {"address": address, "folder": folder, "rows": rows, "metrics": metrics}
    words = [word for name, value in options.items() for word in (f"--{name}", str(value))]
    command = [sys.executable, "-m", "tests.judging.interrupted", *words, "--nproc", str(nproc)]
    return subprocess.Popen(command, cwd=ROOT)


def judged_again(folder: Path, *, rows: int, metrics: int = 1) -> tuple[dict[str, Verdict], int]:
    """Verdicts of a second run over the same cache and log, and how many calls it made."""
    with JudgeServer(lambda _: Answer.says("Score: 2")) as server:
        verdicts = judge_at(server, nproc=1, cache_path=folder / "cache.sqlite").run(
            row_calls(rows, metrics=metrics), log_path=folder / "judge.jsonl"
        )
        return verdicts, server.calls


def n_stored(folder: Path) -> int:
    """Verdicts in the cache file, read without our code."""
    with closing(sqlite3.connect(folder / "cache.sqlite")) as database:
        (count,) = database.execute("select count(*) from verdict").fetchone()
    return int(count)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--address")
    parser.add_argument("--folder", type=Path)
    for name in ("--rows", "--metrics", "--nproc"):
        parser.add_argument(name, type=int)
    given = parser.parse_args()
    cache_path = given.folder / "cache.sqlite"
    judge_at(given.address, nproc=given.nproc, cache_path=cache_path).run(
        row_calls(given.rows, metrics=given.metrics), log_path=given.folder / "judge.jsonl"
    )


if __name__ == "__main__":
    main()
