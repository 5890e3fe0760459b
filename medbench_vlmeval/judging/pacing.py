"""How fast all lanes together may go: a scout first, one shared pause, and a limit that adapts."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

SCOUT_SECONDS = 0.5
"""How long the other lanes wait for the first reply before they start as well."""


@dataclass(frozen=True)
class Clock:
    """Time and waiting, so that tests need not wait."""

    now: Callable[[], float] = time.monotonic
    sleep: Callable[[float], Awaitable[Any]] = asyncio.sleep


class Pacer:
    """Admits lanes to the endpoint.

    The first question goes alone: a bad key, an unknown model or a refused parameter is then paid
    for once and not once per lane. A rate limit pauses every lane and halves how many may be under
    way; each success afterwards gives a little back.
    """

    def __init__(self, lanes: int, clock: Clock) -> None:
        self._lanes = lanes
        self._limit = float(lanes)
        self._clock = clock
        self._scouting = True
        self._resume_at = clock.now()
        self._waiting: list[asyncio.Future[None]] = []
        self._stopped: BaseException | None = None
        self._opening: asyncio.TimerHandle | None = None
        self.under_way: set[asyncio.Task[Any] | None] = set()

    async def enter(self) -> None:
        """Wait until another question may go out, and count it as under way until `leave`.

        Raises:
            BaseException: the error given to `stop`.
        """
        while not self._is_free:
            if self._stopped is not None:
                raise self._stopped
            pause = self._resume_at - self._clock.now()
            if pause > 0:
                await self._clock.sleep(pause)
            else:
                change = asyncio.get_running_loop().create_future()
                self._waiting.append(change)
                await change
        self.under_way.add(asyncio.current_task())
        if self._scouting and self._opening is None:
            loop = asyncio.get_running_loop()
            self._opening = loop.call_later(SCOUT_SECONDS, self._open)

    def leave(self) -> None:
        """The question of this task is no longer under way."""
        self.under_way.discard(asyncio.current_task())
        self._wake()

    def _wake(self) -> None:
        for change in self._waiting:
            if not change.done():
                change.set_result(None)
        self._waiting.clear()

    @property
    def _is_free(self) -> bool:
        paused = self._resume_at > self._clock.now()
        return self._stopped is None and not paused and len(self.under_way) < self._allowed

    @property
    def _allowed(self) -> int:
        return 1 if self._scouting else int(self._limit)

    def _open(self) -> None:
        self._scouting = False
        self._wake()

    def succeeded(self) -> None:
        """A reply came: the way is open, and the limit may grow."""
        self._limit = min(float(self._lanes), self._limit + 1.0 / self._limit)
        if self._scouting:
            self._open()

    def slow_down(self, seconds: float) -> None:
        """The endpoint asked for a pause of `seconds`: all lanes make it."""
        now = self._clock.now()
        if self._resume_at <= now:
            # Lanes that were under way together are refused together; that halves the limit once.
            self._limit = max(1.0, self._limit / 2)
        self._resume_at = max(self._resume_at, now + seconds)

    def stop(self, error: BaseException) -> None:
        """Admit nobody any more; who asks gets `error`."""
        self._stopped = self._stopped or error
        self._wake()

    @property
    def is_stopped(self) -> bool:
        return self._stopped is not None

    def close(self) -> None:
        """Drop the timer of the scout."""
        if self._opening is not None:
            self._opening.cancel()
