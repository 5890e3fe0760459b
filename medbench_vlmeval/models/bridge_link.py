"""The conversation with a worker: batches of requests out, one result for each back."""

from __future__ import annotations

import functools
import itertools
import json
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .base import EditRequest
from .bridge_answers import failed_edit, plain_facts, read_answer
from .bridge_launch import WorkerSetup
from .bridge_process import WorkerFailed, WorkerProcess, WrongWorker

if TYPE_CHECKING:
    from ..editing import NoImageReturned

logger = logging.getLogger(__name__)


class Link:
    """Speaks to one worker at a time, starts it when it is needed and again when it has failed.

    Args:
        setup: says how to start it; asked at every start. Its settings travel with every request.
        edit_timeout_s: allowed time for one edit; a batch has as many times that as it has edits.
        max_restarts: starts after a failure without any answer in between; then no more is tried.
    """

    def __init__(self, setup: WorkerSetup, *, edit_timeout_s: float, max_restarts: int) -> None:
        self.lock = threading.RLock()
        """Held for a whole batch: one conversation at a time."""
        self._setup = setup
        self._edit_timeout_s = edit_timeout_s
        self._max_restarts = max_restarts
        self._numbers = itertools.count(1)
        self._worker: WorkerProcess | None = None
        self._failures_in_a_row = 0
        self._given_up = ""
        if hasattr(os, "register_at_fork"):
            renew = functools.partial(_after_fork, weakref.ref(self))
            os.register_at_fork(after_in_child=renew)

    @property
    def is_doubtful(self) -> bool:
        """The worker's last life ended in a failure and nothing was answered since."""
        return self._failures_in_a_row > 0

    @property
    def facts(self) -> dict[str, Any]:
        """What is known of the running worker: its hello, the state of its checkout."""
        if self._worker is None:
            return {}
        commit = self._worker.launch.checkout_commit
        return {"hello": plain_facts(self._worker.hello), "checkout_commit": commit}

    def exchange(self, requests: Sequence[EditRequest]) -> list[bytes | NoImageReturned]:
        """The result of each request: an image file's bytes, or why there is none."""
        with self.lock:
            results: dict[int, bytes | NoImageReturned] = {}
            try:
                worker = self._running()
                batch = _Batch(worker, requests, self._setup.settings, self._numbers)
                batch.run(results, self._edit_timeout_s, self._answered)
            except WorkerFailed as error:
                self._failed(error)
                reason = str(error)
                for position in range(len(requests)):
                    results.setdefault(position, failed_edit(reason))
            return [results[position] for position in range(len(requests))]

    def close(self) -> None:
        """End the worker, if one runs."""
        with self.lock:
            worker, self._worker = self._worker, None
            if worker is not None:
                worker.close()

    def _running(self) -> WorkerProcess:
        if self._given_up:
            raise WorkerFailed(self._given_up)
        if self._worker is None:
            self._worker = WorkerProcess(self._setup.launch())
        return self._worker

    def _answered(self) -> None:
        self._failures_in_a_row = 0

    def _failed(self, error: WorkerFailed) -> None:
        if self._given_up:
            return
        logger.warning("the worker failed: %s", error)
        self.close()
        self._failures_in_a_row += 1
        if isinstance(error, WrongWorker):
            self._given_up = str(error)
        elif self._failures_in_a_row > self._max_restarts:
            self._given_up = f"given up after {self._failures_in_a_row} starts: {error}"

    def renew(self) -> None:
        """Begin anew in a forked process, whose parent keeps the worker."""
        self.lock = threading.RLock()
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.forget()


class _Batch:
    """Requests that go out together."""

    def __init__(
        self,
        worker: WorkerProcess,
        requests: Sequence[EditRequest],
        settings: Mapping[str, Any],
        numbers: itertools.count[int],
    ) -> None:
        self.worker = worker
        self.requests = requests
        self.settings = settings
        self.positions = {next(numbers): position for position in range(len(requests))}
        self.open = set(self.positions)

    def run(
        self,
        results: dict[int, bytes | NoImageReturned],
        edit_timeout_s: float,
        answered: Callable[[], None],
    ) -> None:
        """Fill in a result for every request that is answered.

        Raises:
            WorkerFailed: the others will not be.
        """
        deadline = time.monotonic() + edit_timeout_s * len(self.requests)
        try:
            self.worker.send(self._lines(), deadline)
            while self.open:
                answer = self.worker.next_message(deadline)
                position = self._position(answer, results)
                results[position] = read_answer(answer, self._output(answer["id"]))
                self.open.discard(answer["id"])
                answered()
        finally:
            for number in self.positions:
                self._input(number).unlink(missing_ok=True)
                self._output(number).unlink(missing_ok=True)

    def _lines(self) -> str:
        from ..images import encode_png

        lines = []
        for following, (number, position) in enumerate(reversed(self.positions.items())):
            request = self.requests[position]
            self._input(number).write_bytes(encode_png(request.image))
            line = {
                "id": number,
                "image": str(self._input(number)),
                "instruction": request.own_instruction,
                "seed": request.seed,
                "output": str(self._output(number)),
                "settings": self.settings,
                "following": following,
            }
            lines.append(json.dumps(line) + "\n")
        return "".join(reversed(lines))

    def _position(
        self, answer: Mapping[str, Any], results: dict[int, bytes | NoImageReturned]
    ) -> int:
        """Which request is answered.

        Raises:
            WorkerFailed: none that is open.
        """
        number = answer["id"]
        if not isinstance(number, int) or number not in self.positions:
            raise WorkerFailed(f"the worker answered request {str(number)[:40]}, which is not open")
        position = self.positions[number]
        if number not in self.open:
            reason = f"the worker answered request {number} twice"
            # Which of the two answers the image belongs to cannot be told.
            results[position] = failed_edit(reason)
            raise WorkerFailed(reason)
        return position

    def _input(self, number: int) -> Path:
        return self.worker.folder / f"{number}.png"

    def _output(self, number: int) -> Path:
        return self.worker.folder / f"{number}_edited.png"


def _after_fork(reference: weakref.ref[Link]) -> None:
    link = reference()
    if link is not None:
        link.renew()
