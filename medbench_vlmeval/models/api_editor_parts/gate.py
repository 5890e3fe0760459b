"""How many requests of an editor may be under way at the same time, from however many threads."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

SCOUT_SECONDS = 3.0
"""How long other threads wait for the first answer before they start as well."""


class Gate:
    """Admits threads to a service.

    The first request goes alone: a bad key or an unknown model is then met once and not once per
    thread. A rate limit pauses every thread and halves how many may be under way; each success
    afterwards gives a little back.

    Args:
        lanes: most requests under way at the same time.
    """

    def __init__(self, lanes: int) -> None:
        self._lanes = lanes
        self._limit = float(lanes)
        self._change = threading.Condition()
        self._under_way = 0
        self._resume_at = time.monotonic()
        self._scouting = True
        self._scout_until: float | None = None
        self._stopped: Exception | None = None

    @contextmanager
    def admitted(self) -> Iterator[None]:
        """Wait for a place, and hold it for the length of the block.

        Raises:
            Exception: the error given to `stop`.
        """
        with self._change:
            while (pause := self._pause()) is not None:
                self._change.wait(pause)
            self._under_way += 1
            if self._scouting and self._scout_until is None:
                self._scout_until = time.monotonic() + SCOUT_SECONDS
        try:
            yield
        finally:
            with self._change:
                self._under_way -= 1
                self._change.notify_all()

    def _pause(self) -> float | None:
        """Seconds to wait before looking again; `None` when there is a place."""
        if self._stopped is not None:
            raise self._stopped
        now = time.monotonic()
        if self._resume_at > now:
            return self._resume_at - now
        if self._scouting and self._under_way and self._scout_until is not None:
            if now < self._scout_until:
                return self._scout_until - now
            self._scouting = False
        # Whoever leaves wakes the others; the limit on the wait is for a clock that was set back.
        return None if self._under_way < int(self._limit) else 60.0

    def succeeded(self) -> None:
        """An answer came: the way is open, and the limit may grow."""
        with self._change:
            self._scouting = False
            self._limit = min(float(self._lanes), self._limit + 1.0 / self._limit)
            self._change.notify_all()

    def slow_down(self, seconds: float) -> None:
        """The service asked for a pause of `seconds`: all threads make it."""
        with self._change:
            now = time.monotonic()
            if self._resume_at <= now:
                # Requests that were under way together are refused together: halve once.
                self._limit = max(1.0, self._limit / 2)
            self._resume_at = max(self._resume_at, now + seconds)

    def stop(self, error: Exception) -> bool:
        """Admit nobody any more; who asks gets `error`. False when it was stopped before."""
        with self._change:
            first = self._stopped is None
            self._stopped = self._stopped or error
            self._change.notify_all()
        return first
