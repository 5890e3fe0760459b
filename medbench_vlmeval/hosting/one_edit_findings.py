"""Whether one model works: built in the host, asked once, and looked at; ``medbench doctor``."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..editing import STORE_VARIABLE, EditCollector, EditedImage, EditStore
from ..files import read_jsonl, write_bytes_atomic
from ..naming import file_stem
from ..types import Status
from . import one_edit
from .diagnosis import Finding, Level
from .one_edit_options import Trial
from .one_edit_picture import picture_findings
from .probes import Host

_SHOWN_CHARACTERS = 600
_SHOWN_LINES = 3


@dataclass(frozen=True)
class _Course:
    """How far the process got."""

    steps: Mapping[str, Mapping[str, Any]]
    status: int
    last_lines: str

    def seconds(self, step: str) -> float:
        return float(self.steps[step]["seconds"])


def trial_findings(trial: Trial, host: Host | None) -> list[Finding]:
    """Build the model, ask it once, and say how that went.

    Takes as long as the model takes; the edit is made anew even where the store remembers it.
    """
    if host is None:
        remedy = 'pip install "medbench-vlmeval[host]", or work inside a clone of VLMEvalKit'
        return [Finding(Level.PROBLEM, "VLMEvalKit is not found", remedy)]
    with tempfile.TemporaryDirectory(prefix="medbench-doctor-") as name:
        folder = Path(name)
        course = _run(trial, host, folder)
        findings = _steps_findings(trial, course)
        if "answered" not in course.steps:
            return findings
        reply = course.steps["answered"]["reply"]
        collector = EditCollector(folder / "doctor.tsv", EditStore(folder / "store"))
        edited = collector.collect(reply)
        if edited.path is None:
            is_editor = bool(course.steps["built"]["is_editor"])
            return [*findings, _no_image_finding(edited, reply, is_editor=is_editor)]
        found, side_by_side = picture_findings(trial.image, edited.path, edited.flags, trial.roi)
        findings += found
        if side_by_side is not None:
            path = trial.out / f"{file_stem(trial.model, 'doctor')}.png"
            write_bytes_atomic(path, side_by_side)
            findings.append(Finding(Level.OK, f"input and result, side by side: {path}"))
        return findings


def _run(trial: Trial, host: Host, folder: Path) -> _Course:
    record, log = folder / "record.jsonl", folder / "log.txt"
    task = {
        "model": trial.model,
        "models": dict(trial.models),
        "image": str(trial.image.absolute()),
        "instruction": trial.instruction,
        "record": str(record),
    }
    with log.open("wb") as stream:
        process = subprocess.run(
            [sys.executable, "-m", one_edit.__name__],
            input=json.dumps(task).encode("utf-8"),
            stdout=stream,
            stderr=subprocess.STDOUT,
            env=_environment(host, folder / "store"),
            check=False,
        )
    steps = read_jsonl(record)[0] if record.is_file() else []
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    secrets = one_edit.secrets_in(os.environ, trial.models)
    last = one_edit.without_secrets(" / ".join(lines[-_SHOWN_LINES:]), secrets)
    return _Course({it["step"]: it for it in steps}, process.returncode, last)


def _environment(host: Host, store: Path) -> dict[str, str]:
    # A clone is importable only from its own folder, or by whoever names that folder.
    paths = [os.environ.get("PYTHONPATH", "")]
    if not host.distribution:
        paths.insert(0, str(host.package.parent))
    changes = {"PYTHONPATH": os.pathsep.join(filter(None, paths)), STORE_VARIABLE: str(store)}
    return {**os.environ, **changes}


def _steps_findings(trial: Trial, course: _Course) -> list[Finding]:
    findings = []
    if "imported" in course.steps:
        what = f"VLMEvalKit was imported in {course.seconds('imported'):.1f} s"
        findings.append(Finding(Level.OK, what))
    if "built" in course.steps:
        kind = course.steps["built"]["kind"]
        what = f"{trial.model} was built ({kind}) in {course.seconds('built'):.1f} s"
        findings.append(Finding(Level.OK, what))
    if "answered" in course.steps:
        seconds = course.seconds("answered")
        what = f"it answered in {seconds:.1f} s, with all that is loaded at the first call"
        return [*findings, Finding(Level.OK, what)]
    return [*findings, _failure(trial, course)]


def _failure(trial: Trial, course: _Course) -> Finding:
    what = "VLMEvalKit cannot be imported"
    remedy = "medbench doctor says more"
    if "imported" in course.steps:
        what = f"{trial.model} cannot be built"
        remedy = "see the message; MEDBENCH_VLMEVAL_DEBUG=1 shows tracebacks of broken modules"
    if "built" in course.steps:
        what = f"{trial.model} stopped while it answered, which would stop VLMEvalKit, too"
        remedy = "a model must return, whatever happens; see docs/adding-a-model.md"
    failed = course.steps.get("failed")
    if failed is not None:
        reason = f"{failed['type']}: {shown_text(failed['message'])}"
    elif course.status < 0:
        reason = f"the process was ended by {_signal_name(-course.status)}"
        remedy = "memory often is the reason; try a smaller model or a larger machine"
    else:
        reason = f"the process ended with {course.status}: {shown_text(course.last_lines)}"
    return Finding(Level.PROBLEM, f"{what}: {reason}", remedy)


def _signal_name(number: int) -> str:
    known = {it.value: it.name for it in signal.Signals}
    return known.get(number, f"signal {number}")


def _no_image_finding(edited: EditedImage, reply: str, *, is_editor: bool) -> Finding:
    if edited.status is Status.API_FAIL:
        what = f"the call failed: {shown_text(edited.note)}"
        return Finding(Level.PROBLEM, what, "a run counts this, and --reuse asks again")
    if not is_editor and reply.strip():
        what = f"it answered in words ({len(reply)} characters): {shown_text(reply)}"
        return Finding(Level.OK, what, "an editing benchmark needs an image; the others need words")
    if edited.status is Status.REFUSAL:
        what = f"the model refused: {shown_text(edited.note)}"
        return Finding(Level.PROBLEM, what, "a run counts this as a refusal")
    what = f"no image came ({edited.status}): {shown_text(edited.note)}"
    return Finding(Level.PROBLEM, what, "a run counts this as a missing answer")


def shown_text(text: str) -> str:
    """`text` on one line for a terminal: control characters escaped, at most 600 characters."""
    cut = text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"
    return "".join(
        it if it.isprintable() else it.encode("unicode_escape").decode("ascii") for it in cut
    )
