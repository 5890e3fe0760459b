"""Says in plain words whether this interpreter is ready: ``medbench doctor``.

Looks, and changes nothing. The host and torch are imported in a process of their own, so that a
broken installation can be described; of keys only their presence is looked at, never their value.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import shlex
import shutil
import sys
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from urllib.parse import urlsplit

import click

from . import __version__
from .hosting.diagnosis import Finding, Level, host_findings, startup_findings
from .hosting.probes import Host, find_host, host_at

FREE_BYTES_WANTED = 5 * 10**9
JUDGE_SECONDS = 10
_CHAT = "/chat/completions"
_OPTIONAL: Mapping[str, tuple[str, str]] = {
    "numba": ("fast", "metrics run slower"),
    "pydicom": ("sample", "DICOM files cannot be read"),
    "diffusers": ("diffusers", "local diffusion editors cannot run"),
    "google.genai": ("gemini", "Gemini editors cannot run"),
}


def diagnose(
    *,
    environ: Mapping[str, str] = os.environ,
    import_host: bool = True,
    ask_judge: bool = False,
) -> list[Finding]:
    """Everything worth saying about this interpreter, most basic things first.

    Args:
        environ: environment to judge by; the imported host sees the real one.
        import_host: import the host in another process, which takes 5 to 30 s.
        ask_judge: send one request to the judge's address (it lists models and costs nothing).
    """
    root = data_root(environ)
    return [
        *python_findings(),
        *startup_findings(environ),
        *host_findings(host_to_run(environ), import_host=import_host),
        *data_findings(environ, root),
        *space_findings(root),
        *key_findings(environ),
        *(judge_findings(environ) if ask_judge else ()),
        *optional_findings(),
    ]


def python_findings() -> list[Finding]:
    """Whether this Python is one the package is tested with."""
    what = f"medbench-vlmeval {__version__}, Python {platform.python_version()}"
    if (3, 10) <= sys.version_info[:2] <= (3, 13):
        return [Finding(Level.OK, what)]
    return [Finding(Level.NOTE, f"{what}, which is not tested", "tested are 3.10 to 3.13")]


def host_to_run(environ: Mapping[str, str]) -> Host | None:
    """The clone in ``MEDBENCH_VLMEVALKIT``, the clone that is the current folder, or the installed.

    Those are the hosts that the launcher, ``python run.py`` and ``python -m vlmeval`` run.
    """
    chosen = Path(environ.get("MEDBENCH_VLMEVALKIT") or ".")
    for clone in (chosen.parent if chosen.is_file() else chosen, Path()):
        host = host_at(clone / "vlmeval") if (clone / "run.py").is_file() else None
        if host is not None:
            return host
    return find_host()


def data_root(environ: Mapping[str, str]) -> Path:
    """The folder that VLMEvalKit takes for data: ``LMUData`` if it exists, else ``~/LMUData``."""
    chosen = environ.get("LMUData", "")
    return Path(chosen) if chosen and Path(chosen).exists() else Path.home() / "LMUData"


def data_findings(environ: Mapping[str, str], root: Path) -> list[Finding]:
    """Where data is looked for, and what was prepared there."""
    chosen = environ.get("LMUData", "")
    if not chosen:
        findings = [Finding(Level.NOTE, f"LMUData is not set; data goes to {root}")]
    elif root != Path(chosen):
        what = f"LMUData names {chosen}, which does not exist; VLMEvalKit silently uses {root}"
        findings = [Finding(Level.WARNING, what, f"mkdir -p {shlex.quote(chosen)}")]
    else:
        findings = [Finding(Level.OK, f"data folder: {root}")]
    manifests = sorted(root.glob("medbench/*/manifest.json"))
    if not manifests:
        what = f"no benchmark is prepared in {root / 'medbench'}"
        return [*findings, Finding(Level.NOTE, what, "medbench data --help says how")]
    return findings + [_prepared(manifest) for manifest in manifests]


def _prepared(manifest: Path) -> Finding:
    name = manifest.parent.name
    try:
        json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        what = f"{manifest} cannot be read: {error}"
        return Finding(Level.WARNING, what, f"prepare {name} again")
    return Finding(Level.OK, f"prepared: {name}")


def space_findings(root: Path) -> list[Finding]:
    """Whether the disk that holds the data has room."""
    existing = next(folder for folder in (root, *root.absolute().parents) if folder.is_dir())
    free = shutil.disk_usage(existing).free
    what = f"{free / 1e9:.1f} GB free at {existing}"
    if free >= FREE_BYTES_WANTED:
        return [Finding(Level.OK, what)]
    return [Finding(Level.WARNING, what, f"{FREE_BYTES_WANTED / 1e9:.0f} GB or more are wanted")]


def key_findings(environ: Mapping[str, str]) -> list[Finding]:
    """Whether a judge can be called: is there a key, and does the address look like one."""
    if environ.get("OPENAI_API_KEY"):
        findings = [Finding(Level.OK, "OPENAI_API_KEY is set")]
    else:
        remedy = "set it for judged scores; everything else works without"
        findings = [Finding(Level.NOTE, "OPENAI_API_KEY is not set", remedy)]
    base = environ.get("OPENAI_API_BASE", "")
    return [*findings, address_finding(base)] if base else findings


def address_finding(base: str) -> Finding:
    """What the shape of ``OPENAI_API_BASE`` tells; the address itself is not repeated."""
    address = urlsplit(base)
    if address.scheme not in ("http", "https") or not address.hostname:
        remedy = f"expected https://HOST/v1{_CHAT}"
        return Finding(Level.WARNING, "OPENAI_API_BASE is not a web address", remedy)
    if address.username or address.password:
        remedy = "move it to OPENAI_API_KEY; addresses end up in log files"
        return Finding(Level.WARNING, "OPENAI_API_BASE carries a user name or a key", remedy)
    if not address.path.rstrip("/").endswith(_CHAT):
        what = f"OPENAI_API_BASE does not end with {_CHAT}"
        return Finding(Level.NOTE, what, "fine for our judge; VLMEvalKit's own judges need it")
    return Finding(Level.OK, f"OPENAI_API_BASE is a web address ending with {_CHAT}")


def judge_findings(environ: Mapping[str, str]) -> list[Finding]:
    """Whether the judge's address answers and takes the key; sends one request."""
    base = environ.get("OPENAI_API_BASE") or "https://api.openai.com/v1"
    if address_finding(base).level is Level.WARNING:
        return []
    url = base.rstrip("/").removesuffix(_CHAT) + "/models"
    headers = {"Authorization": f"Bearer {environ.get('OPENAI_API_KEY', '')}"}
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=JUDGE_SECONDS):
            return [Finding(Level.OK, "the judge answers and takes the key")]
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403):
            what = f"the judge refuses the key (HTTP {error.code})"
            return [Finding(Level.WARNING, what, "check OPENAI_API_KEY")]
        return [Finding(Level.NOTE, f"the judge's address answers with HTTP {error.code}")]
    except OSError as error:
        remedy = "check OPENAI_API_BASE and the network"
        return [
            Finding(Level.WARNING, f"the judge cannot be reached: {type(error).__name__}", remedy)
        ]


def optional_findings() -> list[Finding]:
    """Which optional packages are there."""
    return [_optional(module, *names) for module, names in _OPTIONAL.items()]


def _optional(module: str, extra: str, loss: str) -> Finding:
    # Looking for a submodule imports its parent, which may itself be absent.
    parent = module.partition(".")[0]
    if importlib.util.find_spec(parent) and importlib.util.find_spec(module):
        return Finding(Level.OK, f"{module} is installed")
    remedy = f'pip install "medbench-vlmeval[{extra}]"'
    return Finding(Level.NOTE, f"{module} is not installed: {loss}", remedy)


def main(argv: Sequence[str] | None = None) -> int:
    """Print the findings; the result is 1 if something blocks an evaluation, else 0."""
    parser = argparse.ArgumentParser(prog="medbench doctor", description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="do not import VLMEvalKit")
    parser.add_argument("--judge", action="store_true", help="send one request to the judge")
    parser.add_argument("--json", action="store_true", help="print the findings as JSON")
    chosen = parser.parse_args(argv)
    findings = diagnose(import_host=not chosen.quick, ask_judge=chosen.judge)
    if chosen.json:
        click.echo(json.dumps([asdict(finding) for finding in findings], indent=2))
    else:
        for finding in findings:
            click.echo(f"{finding.level:<8} {finding.what}")
            if finding.remedy:
                click.echo(f"{'':<8} -> {finding.remedy}")
    return int(any(finding.level is Level.PROBLEM for finding in findings))


if __name__ == "__main__":
    sys.exit(main())
