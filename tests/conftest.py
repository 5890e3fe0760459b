"""Settings for all tests."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

if "PYTEST_XDIST_WORKER" in os.environ:
    # The workers share the cores already; threads of numpy and torch would wait for each other.
    # Read when these are imported, and inherited by the processes that tests start.
    for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ.setdefault(_name, "1")


@pytest.fixture
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder for prepared data, the test's own."""
    folder = tmp_path / "LMUData"
    folder.mkdir()
    monkeypatch.setenv("LMUData", str(folder))
    return folder
