"""What the host's start loads of us: names and thin classes, nothing that only a run needs."""

from __future__ import annotations

import sys

import pytest

from .environments import clean_environ, run_python

pytestmark = pytest.mark.host

PROGRAM = """
import sys
import vlmeval
ours = sorted(name for name in sys.modules if name.startswith("medbench_vlmeval."))
print(" ".join(ours))
"""
ONLY_FOR_RUNS = (
    "data",
    "editing",
    "evaluation",
    "images",
    "judging",
    "metrics",
    "parsing",
    "stats",
)


def test_importing_the_host_loads_nothing_that_only_a_run_needs() -> None:
    process = run_python(sys.executable, "-c", PROGRAM, environ=clean_environ())
    loaded = process.stdout.split()[-100:]
    assert "medbench_vlmeval.datasets.medebench" in loaded, process.stderr
    assert "medbench_vlmeval.models.baselines" in loaded
    parts = {name.split(".")[1] for name in loaded}
    assert not parts.intersection(ONLY_FOR_RUNS)
