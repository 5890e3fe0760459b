"""Runs of the real VLMEvalKit that share one import of it.

Importing the host takes most of the time of a run on a few samples. One process imports it, as
``python -m vlmeval`` would, and forks for every run; the run itself is the host's own ``__main__``
with arguments, environment and folder of its own. What depends on a fresh start (the hook, plugins
on ``PYTHONPATH``, upstream's ``run.py``) is tested with fresh processes.
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

def child(order):
    os.setsid()
    log = os.open(order["log"], os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(log, 1)
    os.dup2(log, 2)
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.chdir(order["cwd"])
    os.environ.clear()
    os.environ.update(order["environ"])
    sys.argv[:] = ["vlmeval", *order["arguments"]]
    sys.path[0] = order["cwd"]
    code = 0
    try:
        runpy.run_module("vlmeval", run_name="__main__", alter_sys=True)
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    except BaseException:
        import traceback
        traceback.print_exc()
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
        atexit.register(self._process.kill)
        assert self._line(240) == "ready"

    def run(
        self, arguments: Sequence[str], *, cwd: Path, environ: Mapping[str, str], timeout: float
    ) -> tuple[int, str]:
        """Exit status and whole output of one run."""
        log = cwd / "host-output.log"
        order = {"arguments": [*arguments], "cwd": str(cwd), "environ": {**environ}}
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({**order, "log": str(log)}).encode() + b"\n")
        self._process.stdin.flush()
        pid = int(self._line(10))
        try:
            status = int(self._line(timeout))
        except TimeoutError:
            os.killpg(pid, signal.SIGKILL)
            self._line(10)
            raise
        output = log.read_text(encoding="utf-8", errors="replace")
        log.unlink()
        return status, output

    def _line(self, timeout: float) -> str:
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


@cache
def preloaded() -> Preloaded:
    """The one of this test process, started when it is first needed."""
    return Preloaded()
