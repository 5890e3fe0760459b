"""Calls, settings and a clock for the tests of the judge."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from medbench_vlmeval.judging import Judge, JudgeCall, JudgeSettings, Message, Rubric, Verdict
from medbench_vlmeval.judging.medebench import RUBRIC as MEDEBENCH
from medbench_vlmeval.judging.pacing import Clock

from .server import JudgeServer

SCORE = Rubric("score", ("Score",), 0, 2, allowed=(0, 1, 2))
GOOD = "- Editing Accuracy: 8/10\n- Contextual Preservation: 9/10\n- Visual Quality: 7/10"

__all__ = ["GOOD", "MEDEBENCH", "SCORE", "FastClock", "ask", "judge_at", "row_call", "row_calls"]


class FastClock:
    """A clock that only moves when somebody sleeps, and remembers how long."""

    def __init__(self) -> None:
        self.time = 1000.0
        self.slept: list[float] = []

    async def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.time += seconds
        await asyncio.sleep(0)

    @property
    def clock(self) -> Clock:
        return Clock(now=lambda: self.time, sleep=self.sleep)


def row_call(row: int, *, rubric: Rubric = SCORE, metric: int = 0, **labels: str) -> JudgeCall:
    """A question that the server recognises as belonging to `row`."""
    text = f"Judge row {row} for quality {metric}."
    return JudgeCall(f"{row}-{metric}", (Message("user", (text,)),), rubric, labels)


def row_calls(rows: int, *, metrics: int = 1, rubric: Rubric = SCORE) -> list[JudgeCall]:
    return [
        row_call(row, metric=metric, rubric=rubric)
        for row in range(rows)
        for metric in range(metrics)
    ]


def judge_at(
    server: JudgeServer | str, *, clock: FastClock | None = None, **settings: Any
) -> Judge:
    """A judge at a server or address, with a model name no price or alias is known for."""
    address = server if isinstance(server, str) else server.base_url
    chosen = JudgeSettings(**{"model": "judge", "base_url": address, "retries": 2, **settings})
    return Judge(chosen, clock=(clock or FastClock()).clock)


def ask(
    server: JudgeServer,
    calls: Iterable[JudgeCall],
    *,
    log_path: Path | None = None,
    **settings: Any,
) -> Sequence[Verdict]:
    """The verdicts on `calls`, in their order."""
    calls = list(calls)
    verdicts = judge_at(server, **settings).run(calls, log_path=log_path)
    return [verdicts[call.key] for call in calls]
