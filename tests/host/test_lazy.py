"""What the host's start loads of us: names and thin classes, nothing that only a run needs."""

from __future__ import annotations

from pathlib import Path

import pytest

from .running import Host

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


def test_importing_the_host_loads_nothing_that_only_a_run_needs(tmp_path: Path) -> None:
    # A process that has imported the host and nothing else says what that has loaded.
    loaded = Host("ms-vlmeval", tmp_path).python(PROGRAM).split()
    assert "medbench_vlmeval.datasets.medebench" in loaded
    assert "medbench_vlmeval.models.baselines" in loaded
    parts = {name.split(".")[1] for name in loaded}
    assert not parts.intersection(ONLY_FOR_RUNS)
