"""Starts a benchmark again with as many threads of numpy as it is to use, one by default."""

from __future__ import annotations

import os
import sys

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")


def threads_asked_for() -> str:
    given = [*sys.argv[1:], "1"]
    return given[given.index("--threads") + 1] if "--threads" in given else "1"


def restart_with_threads() -> None:
    """Call before numpy is imported, which reads the variables then."""
    wanted = dict.fromkeys(THREADS, threads_asked_for())
    if not wanted.items() <= os.environ.items():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **wanted})
