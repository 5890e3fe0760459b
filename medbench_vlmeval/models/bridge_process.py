"""A worker's process: started, spoken to by lines, watched, and ended with all its children."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import selectors
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import weakref
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from .bridge_launch import Launch

PROTOCOL = 1

_LONGEST_LINE = 1 << 20
_LOOK_S = 0.2
_GRACE_S = 3.0
_QUOTED_LINES = 6
_QUOTED_LETTERS = 300
_SECRETS = ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN")


class WorkerFailed(RuntimeError):
    """The worker did not start, died, was too slow or broke the protocol."""


class WrongWorker(WorkerFailed):
    """A worker that no further start would make usable."""


class WorkerProcess:
    """One running worker, in a process group and with a temporary folder of its own.

    Args:
        launch: how to start it.

    Raises:
        WorkerFailed: it did not say hello.
        WrongWorker: it speaks another version of the protocol.
    """

    def __init__(self, launch: Launch) -> None:
        self.launch = launch
        launch.log.parent.mkdir(parents=True, exist_ok=True)
        self.folder = Path(tempfile.mkdtemp(prefix="medbench-bridge-")).resolve()
        self._messages: queue.SimpleQueue[dict[str, Any] | None] = queue.SimpleQueue()
        log = launch.log.open("ab", buffering=0)
        self._log_start = log.tell()
        try:
            self._process = self._started(log)
        except OSError as error:
            log.close()
            shutil.rmtree(self.folder, ignore_errors=True)
            raise WrongWorker(f"the worker cannot be started: {error}") from error
        self.close = weakref.finalize(self, _end, self._process, self.folder, os.getpid())
        stdout = self._process.stdout
        threading.Thread(target=_sort, args=(stdout, self._messages, log), daemon=True).start()
        try:
            self.hello = self._hello()
        except WorkerFailed:
            self.close()
            raise

    def _started(self, log: IO[bytes]) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            self.launch.command,
            cwd=self.launch.folder,
            env=dict(self.launch.environ),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=log,
            start_new_session=True,
            bufsize=0,
        )

    def _hello(self) -> Mapping[str, Any]:
        """The worker's first message.

        Raises:
            WorkerFailed: none in time, or something else.
            WrongWorker: another version.
        """
        hello = self.next_message(time.monotonic() + self.launch.start_timeout_s, "say hello")
        if hello.get("protocol") == PROTOCOL:
            return hello
        if "protocol" not in hello:
            raise WorkerFailed(f"expected a hello from the worker first, got {_short(hello)}")
        raise WrongWorker(
            f"expected a worker of protocol {PROTOCOL}, got {_short(hello['protocol'])}; take the "
            "protocol.py of this package's bridge_workers for it"
        )

    def send(self, lines: str, deadline: float) -> None:
        """Write request lines; a worker that has died is noticed when its answer is awaited.

        Raises:
            WorkerFailed: it does not read them.
        """
        stdin = self._process.stdin
        if stdin is None:
            raise WorkerFailed("the worker has no stdin")
        os.set_blocking(stdin.fileno(), False)
        left = memoryview(lines.encode("ascii"))
        with selectors.DefaultSelector() as selector:
            selector.register(stdin, selectors.EVENT_WRITE)
            while left:
                if not selector.select(max(0.0, deadline - time.monotonic())):
                    raise WorkerFailed("the worker does not read its requests" + self.log_tail())
                try:
                    left = left[os.write(stdin.fileno(), left) :]
                except BlockingIOError:
                    continue
                except BrokenPipeError:
                    return

    def next_message(self, deadline: float, what: str = "answer") -> dict[str, Any]:
        """The next message of the worker.

        Args:
            deadline: on the monotonic clock.
            what: what it is awaited for, in words.

        Raises:
            WorkerFailed: the worker ended, or time ran out; with the last lines of its log.
        """
        dead_since = 0.0
        while True:
            now = time.monotonic()
            try:
                message = self._messages.get(timeout=max(0.0, min(_LOOK_S, deadline - now)))
            except queue.Empty:
                if now >= deadline:
                    reason = f"the worker did not {what} in time"
                    raise WorkerFailed(reason + self.log_tail()) from None
                if self._process.poll() is not None:
                    # A child of a dead worker can hold its stdout open: its end then never comes.
                    dead_since = dead_since or now
                    if now - dead_since > _GRACE_S:
                        break
                continue
            if message is None:
                break
            return message
        raise WorkerFailed(f"the worker {self._ending()}" + self.log_tail())

    def _ending(self) -> str:
        """How it ended, in words."""
        try:
            code = self._process.wait(_GRACE_S)
        except subprocess.TimeoutExpired:
            return "closed its stdout"
        if code < 0:
            return f"was killed by signal {-code}"
        return f"ended with exit status {code}"

    def log_tail(self) -> str:
        """The last lines the worker wrote since its start, to be put behind a message."""
        with self.launch.log.open("rb") as log:
            size = log.seek(0, os.SEEK_END)
            log.seek(max(self._log_start, size - 20 * _QUOTED_LETTERS))
            text = log.read().decode("utf-8", "replace")
        for name in _SECRETS:
            secret = self.launch.environ.get(name)
            text = text.replace(secret, "***") if secret else text
        lines = [line.strip() for line in text.splitlines() if line.strip()]
        quoted = " | ".join(lines[-_QUOTED_LINES:])[-_QUOTED_LETTERS:]
        return f"; its last lines: {quoted} (log: {self.launch.log})" if quoted else ""

    def forget(self) -> None:
        """Leave the process to the parent: this is a fork, whose parent speaks to it."""
        self.close.detach()
        self._process.returncode = 0  # it is not our child, so there is nothing to wait for
        if self._process.stdin is not None:
            self._process.stdin.close()


def _sort(
    stdout: IO[bytes], messages: queue.SimpleQueue[dict[str, Any] | None], log: IO[bytes]
) -> None:
    """Messages to the queue, everything else that a worker prints to its log."""
    # The pipe is unbuffered for the sake of forks; a reader of lines needs a buffer.
    with stdout, log, open(stdout.fileno(), "rb", closefd=False) as buffered:
        while line := buffered.readline(_LONGEST_LINE):
            message = _message(line)
            if message is not None:
                messages.put(message)
            elif line.strip():
                log.write(line)
    messages.put(None)


def _message(line: bytes) -> dict[str, Any] | None:
    text = line.strip()
    if not text.startswith(b"{"):
        return None
    try:
        message = json.loads(text)
    except (ValueError, RecursionError):
        return None
    is_message = isinstance(message, dict) and (
        "protocol" in message or {"id", "status"} <= {*message}
    )
    return message if is_message else None


def _end(process: subprocess.Popen[bytes], folder: Path, owner: int) -> None:
    """End a worker and whatever it has started, and remove what lies in its folder."""
    if os.getpid() != owner:
        return
    if process.stdin is not None:
        with contextlib.suppress(BrokenPipeError):
            process.stdin.close()
    _signal_group(process, signal.SIGTERM)
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(_GRACE_S)
    _signal_group(process, signal.SIGKILL)
    process.wait()
    shutil.rmtree(folder, ignore_errors=True)


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # The group keeps the worker's number for as long as one of its members lives.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _short(value: object) -> str:
    return json.dumps(value, default=str)[:120]
