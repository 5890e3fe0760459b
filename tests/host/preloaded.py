"""Runs of the real VLMEvalKit that share one import of it.

Importing the host takes most of the time of a run on a few samples. One process imports it, as
``python -m vlmeval`` would, and forks for every run; the run itself is the host's own ``__main__``
(or another module, or a program) with arguments, environment and folder of its own, and it can be
killed like any process. Packages on its ``PYTHONPATH`` are found and registered after the fork.
What depends on a fresh start (the hook, plugins found while the host is imported, upstream's
``run.py``) is tested with fresh processes.
"""

from __future__ import annotations

import atexit
import json
import os
import select
import signal
import subprocess
import sys
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from .environments import clean_environ

PROGRAM = r"""
import json, os, runpy, signal, sys
import vlmeval

def redirect(order):
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(order["stdin"], os.O_RDONLY), 0)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.argv[:] = [order["module"], *order["arguments"]]
    sys.path[0] = order["cwd"]

def register_packages_on_the_path():
    paths = [it for it in os.environ.get("PYTHONPATH", "").split(os.pathsep) if it]
    if paths:
        sys.path[1:1] = paths
        import medbench_vlmeval
        medbench_vlmeval.register()

def child(order):
    os.setsid()
    redirect(order)
    code = 0
    try:
        register_packages_on_the_path()
        if order["program"]:
            exec(compile(order["program"], "<string>", "exec"), {"__name__": "__main__"})
        else:
            runpy.run_module(order["module"], run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        code = stop.code or 0
        if not isinstance(code, int):
            print(code, file=sys.stderr)
            code = 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)

channel = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
print("ready", file=channel, flush=True)
for line in sys.stdin:
    pid = os.fork()
    if pid == 0:
        channel.close()
        child(json.loads(line))
    print(pid, file=channel, flush=True)
    print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), file=channel, flush=True)
"""


class Preloaded:
    """A process that has imported the installed VLMEvalKit and runs it again and again."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=clean_environ(OPENAI_API_KEY=""),
        )
        self._latest: ForkedRun | None = None
        atexit.register(self._stop)
        assert self.line(240) == "ready"

    def start(
        self,
        arguments: Sequence[str] = (),
        *,
        cwd: Path,
        environ: Mapping[str, str],
        module: str = "vlmeval",
        program: str = "",
        stdin: str = os.devnull,
    ) -> ForkedRun:
        """Start a run of ``python -m module``, or of a program, and leave it running.

        One run at a time: what an earlier one left running is killed.
        """
        if self._latest is not None:
            self._latest.kill()
            self._latest.wait(10)
        log = cwd / "host-output.log"
        order = {
            "arguments": [*arguments],
            "cwd": str(cwd),
            "environ": {**environ},
            "log": str(log),
            "module": module,
            "program": program,
            "stdin": stdin,
        }
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(order).encode() + b"\n")
        self._process.stdin.flush()
        self._latest = ForkedRun(self, int(self.line(10)), log)
        return self._latest

    def line(self, timeout: float) -> str:
        """What the process says next; a silence of so many seconds is an error."""
        stream = self._process.stdout
        assert stream is not None
        if not select.select([stream], [], [], timeout)[0]:
            raise TimeoutError(f"expected a sign of the host within {timeout} s, got none")
        # Unbuffered reads: a line that waits in a buffer would look like silence to `select`.
        read = bytearray()
        while not read.endswith(b"\n"):
            byte = os.read(stream.fileno(), 1)
            assert byte, "the process that has imported the host died"
            read += byte
        return read.decode().strip()

    def _stop(self) -> None:
        self._process.kill()
        self._process.wait()


class ForkedRun:
    """One run; of `subprocess.Popen` it has what tests need."""

    def __init__(self, preloaded: Preloaded, pid: int, log: Path) -> None:
        self._preloaded = preloaded
        self.pid = pid
        self._log = log
        self.returncode: int | None = None

    def poll(self) -> int | None:
        """Exit status, or None while it runs."""
        if self.returncode is None:
            try:
                self.returncode = int(self._preloaded.line(0))
            except TimeoutError:
                return None
        return self.returncode

    def wait(self, timeout: float = 240) -> int:
        """Exit status, once it has ended; after `timeout` seconds it is killed and an error."""
        if self.returncode is None:
            try:
                self.returncode = int(self._preloaded.line(timeout))
            except TimeoutError:
                os.killpg(self.pid, signal.SIGKILL)
                self.returncode = int(self._preloaded.line(10))
                raise
        return self.returncode

    def kill(self) -> None:
        """End it at once, as `subprocess.Popen.kill` does."""
        if self.poll() is None:
            os.kill(self.pid, signal.SIGKILL)

    def finished(self, timeout: float = 240) -> tuple[int, str]:
        """Exit status, and all that it wrote to its standard streams."""
        status = self.wait(timeout)
        output = self._log.read_text(encoding="utf-8", errors="replace")
        self._log.unlink()
        return status, output


@cache
def preloaded() -> Preloaded:
    """The one of this test process, started when it is first needed."""
    return Preloaded()
