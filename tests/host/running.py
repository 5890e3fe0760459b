"""Runs of the real VLMEvalKit in processes of their own, as a user would start them."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from ..data.packs import MEDEBENCH, lend_packs
from .environments import clean_environ
from .preloaded import preloaded

HOSTS = ("ms-vlmeval", "upstream")


@dataclass(frozen=True)
class Host:
    """One of the two hosts, and a folder of its own to run in."""

    name: str
    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    fresh: bool = False
    """Start a new Python for every run, instead of sharing one import of the host.

    Only then the run generates its sample packs itself; otherwise that of edits is there.
    """

    @property
    def _starts_fresh(self) -> bool:
        return self.name == "upstream" or self.fresh

    @property
    def outputs(self) -> Path:
        return self.folder / "outputs"

    def run(self, *arguments: str, timeout: float = 240, **environ: str) -> str:
        """Run the host; its whole output comes back. The exit status of the host says nothing."""
        arguments = (*arguments, "--work-dir", str(self.outputs))
        environ = {**self._environ(), **self.environ, **environ}
        if self._starts_fresh:
            status, output = self._run_fresh(arguments, environ, timeout)
        else:
            run = preloaded().start(arguments, cwd=self.folder, environ=environ)
            status, output = run.finished(timeout)
        assert status == 0, output[-4000:]
        return output

    def _run_fresh(
        self, arguments: Sequence[str], environ: Mapping[str, str], timeout: float
    ) -> tuple[int, str]:
        process = subprocess.run(
            [*self._command(), *arguments],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=timeout,
            check=False,
        )
        return process.returncode, process.stdout

    def start(self, *arguments: str, **environ: str) -> subprocess.Popen[bytes]:
        """Start the host, always as a process of its own, and leave it running to be killed."""
        arguments = (*arguments, "--work-dir", str(self.outputs))
        environ = {**self._environ(), **self.environ, **environ}
        return subprocess.Popen(
            [*self._command(), *arguments],
            cwd=self.folder,
            env=environ,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    def python(self, program: str) -> str:
        """The output of a program that may import the host."""
        environ = {**self._environ(), **self.environ}
        if not self._starts_fresh:
            run = preloaded().start(program=program, cwd=self.folder, environ=environ)
            status, output = run.finished()
            assert status == 0, output[-4000:]
            return output
        process = subprocess.run(
            [sys.executable, "-c", program],
            cwd=self.folder,
            env=environ,
            capture_output=True,
            text=True,
            timeout=240,
            check=False,
        )
        assert process.returncode == 0, process.stderr[-4000:]
        return process.stdout

    def result(self, model: str, dataset: str) -> Path:
        """The newest prediction file of a model."""
        found = [
            path
            for path in (self.outputs / model).rglob(f"{model}_{dataset}.*")
            if not path.is_symlink() and path.suffix in (".xlsx", ".tsv", ".json")
        ]
        assert found, f"no prediction file of {model} below {self.outputs}"
        # Upstream copies a prediction file into the folder of a new run with its time.
        return max(found, key=lambda path: (path.stat().st_mtime, path.parent.name))

    def scores(self, model: str, dataset: str) -> dict[str, Any]:
        """The summary beside the newest prediction file."""
        predictions = self.result(model, dataset)
        return json.loads(predictions.with_name(f"{predictions.stem}_score.json").read_text())

    def status(self, model: str, dataset: str) -> dict[str, Any]:
        """What the host itself recorded of the newest run."""
        folder = self.result(model, dataset).parent
        return json.loads((folder / "status.json").read_text())["datasets"][dataset]

    def _command(self) -> list[str]:
        if self.name == "upstream":
            return [sys.executable, str(upstream_clone() / "run.py")]
        return [sys.executable, "-m", "vlmeval"]

    def _environ(self) -> dict[str, str]:
        data = self.folder / "LMUData"
        data.mkdir(parents=True, exist_ok=True)
        if not self._starts_fresh:
            lend_packs(data, MEDEBENCH)
        environ = clean_environ(LMUData=str(data), PYTHONUNBUFFERED="1", OPENAI_API_KEY="")
        if self.name == "upstream":
            environ["PYTHONPATH"] = str(upstream_clone())
        return environ


def upstream_clone() -> Path:
    """The clone of upstream that ``MEDBENCH_VLMEVALKIT`` names; skips where none is named."""
    named = os.environ.get("MEDBENCH_VLMEVALKIT")
    if not named:
        pytest.skip("set MEDBENCH_VLMEVALKIT to a clone of VLMEvalKit to run this on upstream")
    return Path(named)


def write_config(path: Path, models: dict[str, Any], datasets: dict[str, Any]) -> str:
    """A configuration file for ``--config``."""
    path.write_text(json.dumps({"model": models, "data": datasets}))
    return str(path)
