"""Where the cases, facts and real inputs beside the checkout are found.

Tests that need them are skipped when the folder is absent, and fail instead when `CI` is set.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(os.environ.get("MEDBENCH_SHARED", Path(__file__).resolve().parents[2] / "shared"))


def shared_path(relative: str) -> Path:
    """Path of a file or folder of the shared inputs; skips the running test when absent."""
    path = ROOT / relative
    if not path.exists():
        if os.environ.get("CI"):
            pytest.fail(f"{path} is missing; in CI the shared inputs must be there")
        pytest.skip(f"{path} is not there; set MEDBENCH_SHARED to the folder of shared inputs")
    return path


def shared_cases(name: str) -> list[Any]:
    """The lines of ``cases/<name>`` as `pytest.param`s with the case's id, for `parametrize`.

    Without the folder the list holds one case that skips (or, in CI, fails) when it runs.
    """
    path = ROOT / "cases" / name
    if not path.exists():
        if os.environ.get("CI"):
            raise FileNotFoundError(f"{path} is missing; in CI the shared inputs must be there")
        mark = pytest.mark.skip(reason=f"{path} is not there; set MEDBENCH_SHARED")
        return [pytest.param({}, id="absent", marks=mark)]
    lines = path.read_text(encoding="utf-8").splitlines()
    cases = [json.loads(line) for line in lines if line.strip()]
    return [pytest.param(case, id=case["id"]) for case in cases]
