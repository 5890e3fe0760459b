"""Lanes that pull from one iterator, on an event loop of their own in a thread of their own."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any, TypeVar

from .line import Stopped
from .pacing import Pacer

Job = TypeVar("Job")
Result = TypeVar("Result")


async def pump(
    jobs: Iterator[Job], work: Callable[[Job], Awaitable[None]], *, lanes: int, pacer: Pacer
) -> None:
    """Do `work` on every job, at most `lanes` at a time; jobs are drawn when a lane is free.

    The first exception stops the drawing. After a `Stopped`, replies under way are waited for.
    """

    async def lane() -> None:
        for job in jobs:
            await work(job)
            if pacer.is_stopped:
                return

    tasks = [asyncio.create_task(lane()) for _ in range(lanes)]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_EXCEPTION)
        error = _first_error(tasks)
        if error is not None:
            pacer.stop(error)
            await _drained(tasks, pacer, error)
            raise error
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _first_error(tasks: list[asyncio.Task[None]]) -> BaseException | None:
    failed = (task.exception() for task in tasks if task.done() and not task.cancelled())
    return next((error for error in failed if error is not None), None)


async def _drained(tasks: list[asyncio.Task[None]], pacer: Pacer, error: BaseException) -> None:
    under_way = [task for task in tasks if task in pacer.under_way]
    for task in tasks:
        if task not in under_way:
            task.cancel()
    if under_way and isinstance(error, Stopped):
        await asyncio.wait(under_way, timeout=error.drain_s)


def run_apart(main: Callable[[], Coroutine[Any, Any, Result]]) -> Result:
    """The result of `main()`, run to its end on a new event loop in a new thread.

    The caller may itself be inside a running event loop, or in a forked child. An interruption of
    the caller (Ctrl-C) cancels `main` and waits until it has cleaned up.
    """
    running: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[Any]]] = []

    async def noted() -> Result:
        task = asyncio.current_task()
        if task is not None:
            running.append((asyncio.get_running_loop(), task))
        return await main()

    with ThreadPoolExecutor(1, thread_name_prefix="medbench-judge") as pool:
        future = pool.submit(lambda: asyncio.run(noted()))
        try:
            return future.result()
        finally:
            if not future.done():
                # The loop may just have ended by itself.
                with suppress(RuntimeError):
                    for loop, task in running:
                        loop.call_soon_threadsafe(task.cancel)
