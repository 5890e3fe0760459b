"""Findings about the host and about our place in it; `medbench_vlmeval.doctor` prints them."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import site
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import medbench_vlmeval_hook

from . import inventory
from .probes import Host

HOST_IMPORT_SECONDS = 300
_LAUNCHER = "start runs with: python -m medbench_vlmeval.run"
_DISTRIBUTIONS: Mapping[str, str] = {
    "absl": "absl-py",
    "cv2": "opencv-python",
    "dotenv": "python-dotenv",
    "PIL": "pillow",
    "pkg_resources": "'setuptools<82'",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "yaml": "pyyaml",
}
"""What to install for a module that is called otherwise than its distribution."""


class Level(str, Enum):
    """How much a finding matters."""

    OK = "ok"
    NOTE = "note"
    WARNING = "warning"
    PROBLEM = "problem"
    """Nothing can be evaluated before this is mended."""

    def __str__(self) -> str:
        return self.value


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at, and what to do about it."""

    level: Level
    what: str
    remedy: str = ""


def startup_findings(environ: Mapping[str, str]) -> list[Finding]:
    """Whether VLMEvalKit will find us by itself."""
    places = [folder for folder in sorted(site_folders()) if _holds_startup_file(folder)]
    findings = [Finding(Level.OK, f"start-up files are installed in {place}") for place in places]
    if not places:
        remedy = f"install the package with pip (not with --target), or {_LAUNCHER}"
        findings.append(Finding(Level.WARNING, "start-up files are not installed", remedy))
    if environ.get("MEDBENCH_VLMEVAL_DISABLE", "") not in ("", "0"):
        what = "MEDBENCH_VLMEVAL_DISABLE is set, so VLMEvalKit does not load this package"
        findings.append(Finding(Level.WARNING, what, f"unset it, or {_LAUNCHER}"))
    elif medbench_vlmeval_hook.installed_finder() is not None and places:
        findings.append(Finding(Level.OK, "the start-up hook is active in this interpreter"))
    return findings


def site_folders() -> set[str]:
    """The folders in which this interpreter looks for start-up files."""
    folders = {*site.getsitepackages(), sysconfig.get_path("purelib")}
    return folders | ({site.getusersitepackages()} if site.ENABLE_USER_SITE else set())


def _holds_startup_file(folder: str) -> bool:
    return Path(folder, "medbench_vlmeval.pth").is_file()


def host_findings(host: Host | None, *, import_host: bool) -> list[Finding]:
    """Which VLMEvalKit there is, whether it can be imported, and what it knows of us then."""
    if host is None:
        remedy = 'pip install "medbench-vlmeval[host]", or work inside a clone of VLMEvalKit'
        return [Finding(Level.PROBLEM, "VLMEvalKit is not found", remedy)]
    findings = [Finding(Level.OK, f"VLMEvalKit: {host} in {host.package}"), *torch_findings()]
    settings = host.package.parent / ".env"
    if settings.is_file():
        what = f"VLMEvalKit reads {settings}; what it sets wins over your shell"
        findings.append(Finding(Level.NOTE, what))
    return findings + (_import_findings(host) if import_host else [])


def torch_findings() -> list[Finding]:
    """Whether torch and torchvision were built for each other, read from torchvision's metadata."""
    try:
        torch, vision = (importlib.metadata.version(name) for name in ("torch", "torchvision"))
    except importlib.metadata.PackageNotFoundError as error:
        remedy = "pip install torch torchvision"
        return [
            Finding(Level.PROBLEM, f"{error.name} is not installed; VLMEvalKit needs it", remedy)
        ]
    for requirement in importlib.metadata.requires("torchvision") or []:
        pinned = re.match(r"torch\s*\(?==\s*([^\s;)]+)", requirement)
        if pinned and _public_version(pinned[1]) != _public_version(torch):
            what = f"torchvision {vision} was built for torch {pinned[1]}, but torch is {torch}"
            remedy = "install the two together: pip install --upgrade torch torchvision"
            return [Finding(Level.PROBLEM, what, remedy)]
    return [Finding(Level.OK, f"torch {torch} and torchvision {vision} belong together")]


def _public_version(version: str) -> str:
    return version.partition("+")[0]


def _environment_for(host: Host) -> dict[str, str]:
    # A clone is importable only from its own folder, or by whoever names that folder.
    paths = [os.environ.get("PYTHONPATH", "")]
    if not host.distribution:
        paths.insert(0, str(host.package.parent))
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def _import_findings(host: Host) -> list[Finding]:
    command = [sys.executable, "-m", inventory.__name__]
    try:
        process = subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=HOST_IMPORT_SECONDS,
            env=_environment_for(host),
            check=False,
        )
    except subprocess.TimeoutExpired:
        what = f"VLMEvalKit was not imported within {HOST_IMPORT_SECONDS} s"
        return [Finding(Level.PROBLEM, what, "try: python -X importtime -c 'import vlmeval'")]
    for line in process.stdout.splitlines():
        if line.startswith(inventory.MARK):
            return registration_findings(json.loads(line.removeprefix(inventory.MARK)))
    return [import_failure(process.stderr)]


def import_failure(traceback: str) -> Finding:
    """The finding for a host that ended with this traceback."""
    lines = traceback.strip().splitlines() or ["no message"]
    missing = re.search(r"No module named '([^'.]+)", lines[-1])
    remedy = "try: python -c 'import vlmeval'"
    if missing:
        remedy = f"pip install {_DISTRIBUTIONS.get(missing[1], missing[1])}"
    elif "torchvision::" in lines[-1]:
        remedy = "torch and torchvision do not match: pip install --upgrade torch torchvision"
    return Finding(Level.PROBLEM, f"VLMEvalKit cannot be imported: {lines[-1]}", remedy)


def registration_findings(known: Mapping[str, Any]) -> list[Finding]:
    """Findings about what `inventory.inventory` found."""
    findings = []
    if known["loaded_by_hook"]:
        findings.append(Finding(Level.OK, "VLMEvalKit loads this package by itself"))
    else:
        what = "VLMEvalKit does not load this package by itself"
        findings.append(Finding(Level.WARNING, what, _LAUNCHER))
    for kind in ("datasets", "editors"):
        names = known[kind]
        level = Level.OK if names else Level.PROBLEM
        what = f"{len(names)} {kind} registered" + (f": {', '.join(names)}" if names else "")
        findings.append(Finding(level, what))
    if known["taken_over"]:
        what = f"names of VLMEvalKit served by our classes: {', '.join(known['taken_over'])}"
        findings.append(Finding(Level.NOTE, what))
    remedy = "MEDBENCH_VLMEVAL_DEBUG=1 python -c 'import vlmeval' shows the traceback"
    return findings + [
        Finding(Level.WARNING, f"not registered: {failure}", remedy)
        for failure in known["failures"]
    ]
