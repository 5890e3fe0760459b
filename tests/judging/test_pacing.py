from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable

import pytest

from medbench_vlmeval.judging import pacing
from medbench_vlmeval.judging.pacing import Pacer

from .asking import FastClock


def run(test: Callable[[Pacer, FastClock], Awaitable[None]], lanes: int = 8) -> None:
    async def main() -> None:
        clock = FastClock()
        pacer = Pacer(lanes, clock.clock)
        try:
            await test(pacer, clock)
        finally:
            pacer.close()

    asyncio.run(main())


async def peak(pacer: Pacer, lanes: int) -> int:
    """How many of `lanes` were under way together, each for a few turns of the loop."""
    seen = []

    async def lane() -> None:
        await pacer.enter()
        for _ in range(5):
            seen.append(len(pacer.under_way))
            await asyncio.sleep(0)
        pacer.leave()

    await asyncio.gather(*[lane() for _ in range(lanes)])
    return max(seen)


def test_the_first_question_goes_alone_until_it_is_answered() -> None:
    async def test(pacer: Pacer, clock: FastClock) -> None:
        assert await peak(pacer, 8) == 1
        pacer.succeeded()
        assert await peak(pacer, 20) == 8

    run(test)


def test_a_slow_first_answer_does_not_hold_the_others_for_long(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(pacing, "SCOUT_SECONDS", 0.05)

    async def test(pacer: Pacer, clock: FastClock) -> None:
        await pacer.enter()
        assert await asyncio.wait_for(peak(pacer, 3), 5) == 4

    run(test)


def test_a_rate_limit_pauses_everyone_and_halves_the_lanes_once() -> None:
    async def test(pacer: Pacer, clock: FastClock) -> None:
        pacer.succeeded()
        for _ in range(8):
            pacer.slow_down(2.0)
        before = clock.time
        assert await peak(pacer, 8) == 4
        assert clock.time - before >= 2.0

    run(test)


def test_successes_give_the_lanes_back() -> None:
    async def test(pacer: Pacer, clock: FastClock) -> None:
        pacer.succeeded()
        for _ in range(10):
            pacer.slow_down(1.0)
            clock.time += 2.0
        assert await peak(pacer, 8) == 1
        for _ in range(200):
            pacer.succeeded()
        assert await peak(pacer, 20) == 8

    run(test)


def test_nobody_is_admitted_after_a_stop() -> None:
    async def test(pacer: Pacer, clock: FastClock) -> None:
        pacer.stop(ValueError("first"))
        pacer.stop(ValueError("second"))
        with pytest.raises(ValueError, match="first"):
            await pacer.enter()

    run(test)
