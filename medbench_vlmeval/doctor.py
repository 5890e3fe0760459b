"""Says in plain words whether this interpreter is ready: ``medbench doctor``.

Looks, and changes nothing; with ``--model`` it tries one model instead, and leaves a picture. The
host and torch are imported in a process of their own, so that a broken installation can be
described; of keys only their presence is looked at, never their value.
"""

from __future__ import annotations

import argparse
import http.client
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
from urllib.parse import SplitResult, urlsplit

import click

from . import __version__
from .hosting.diagnosis import Finding, Level, host_findings, startup_findings
from .hosting.one_edit_findings import trial_findings
from .hosting.one_edit_options import add_model_options, trial_of
from .hosting.probes import Host, find_host, host_at

FREE_BYTES_WANTED = 5 * 10**9
JUDGE_SECONDS = 10
_CHAT = "/chat/completions"
_OPTIONAL: Mapping[str, tuple[str, str]] = {
    "numba": ("fast", "metrics run slower"),
    "pyspng": ("fast", "PNG files are read more slowly"),
    "pydicom": ("sample", "the sample pack has fewer pictures"),
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
    """The folder that this package keeps data in: ``LMUData``, or ``~/LMUData``."""
    chosen = environ.get("LMUData", "").strip()
    return Path(chosen).expanduser() if chosen else Path.home() / "LMUData"


def data_findings(environ: Mapping[str, str], root: Path) -> list[Finding]:
    """Where data is looked for, and what was prepared there."""
    if not environ.get("LMUData"):
        findings = [Finding(Level.NOTE, f"LMUData is not set; data goes to {root}")]
    elif not root.is_dir():
        what = f"LMUData names {root}, which does not exist; VLMEvalKit silently uses ~/LMUData"
        findings = [Finding(Level.WARNING, what, f"mkdir -p {shlex.quote(str(root))}")]
    else:
        findings = [Finding(Level.OK, f"data folder: {root}")]
    manifests = sorted(root.glob("medbench/*/manifest.json"))
    if not manifests:
        remedy = (
            "medbench data prepare medebench-sample (needs no network), or medbench data --help"
        )
        what = f"no benchmark is prepared in {root / 'medbench'}"
        return [*findings, Finding(Level.NOTE, what, remedy)]
    return findings + [_prepared(manifest) for manifest in manifests]


def _prepared(manifest: Path) -> Finding:
    name = manifest.parent.name
    try:
        record = json.loads(manifest.read_text(encoding="utf-8"))
        samples, revision = record["n_samples"], record["revision"]
    except (OSError, ValueError, TypeError, KeyError) as error:
        what = f"{manifest} cannot be read: {type(error).__name__}: {error}"
        return Finding(Level.WARNING, what, f"prepare {name} again")
    source = f", revision {revision}" if revision else ""
    return Finding(Level.OK, f"prepared: {name}, {samples} samples{source}")


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
    key, base = environ.get("OPENAI_API_KEY", ""), environ.get("OPENAI_API_BASE", "")
    findings = [address_finding(base)] if base else []
    if not key:
        remedy = "set it for judged scores; everything else works without"
        return [Finding(Level.NOTE, "OPENAI_API_KEY is not set", remedy), *findings]
    if not _fits_a_header(key):
        what = "OPENAI_API_KEY holds a space, a line break or a letter that no key has"
        return [Finding(Level.WARNING, what, "copy it again"), *findings]
    return [Finding(Level.OK, "OPENAI_API_KEY is set"), *findings]


def _fits_a_header(key: str) -> bool:
    return key.isascii() and key.isprintable() and " " not in key


def address_finding(base: str) -> Finding:
    """What the shape of ``OPENAI_API_BASE`` tells; the address itself is not repeated."""
    address = _web_address(base)
    if address is None:
        remedy = f"expected https://HOST/v1{_CHAT}"
        return Finding(Level.WARNING, "OPENAI_API_BASE is not a web address", remedy)
    if address.username or address.password:
        remedy = "move it to OPENAI_API_KEY; addresses end up in log files"
        return Finding(Level.WARNING, "OPENAI_API_BASE carries a user name or a key", remedy)
    if not address.path.rstrip("/").endswith(_CHAT):
        what = f"OPENAI_API_BASE does not end with {_CHAT}"
        return Finding(Level.NOTE, what, "fine for our judge; VLMEvalKit's own judges need it")
    return Finding(Level.OK, f"OPENAI_API_BASE is a web address ending with {_CHAT}")


def _web_address(base: str) -> SplitResult | None:
    try:
        address = urlsplit(base)
        _ = address.port  # reading it checks it
    except ValueError:
        return None
    return address if address.scheme in ("http", "https") and address.hostname else None


def judge_findings(environ: Mapping[str, str]) -> list[Finding]:
    """Whether the judge's address answers and takes the key; sends one request.

    Sends none when key or address cannot be right; `key_findings` says so.
    """
    key = environ.get("OPENAI_API_KEY", "")
    base = environ.get("OPENAI_API_BASE") or "https://api.openai.com/v1"
    if address_finding(base).level is Level.WARNING or not _fits_a_header(key):
        return []
    url = base.rstrip("/").removesuffix(_CHAT) + "/models"
    request = urllib.request.Request(url, headers={"Authorization": f"Bearer {key}"})
    try:
        with urllib.request.urlopen(request, timeout=JUDGE_SECONDS):
            return [Finding(Level.OK, "the judge answers and takes the key")]
    except urllib.error.HTTPError as error:
        error.close()
        if error.code in (401, 403):
            what = f"the judge refuses the key (HTTP {error.code})"
            return [Finding(Level.WARNING, what, "check OPENAI_API_KEY")]
        return [Finding(Level.NOTE, f"the judge's address answers with HTTP {error.code}")]
    except (OSError, http.client.HTTPException) as error:
        what = f"the judge cannot be reached: {type(error).__name__}"
        return [Finding(Level.WARNING, what, "check OPENAI_API_BASE and the network")]


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
    add_model_options(parser)
    chosen = parser.parse_args(argv)
    trial = trial_of(chosen, parser)
    if trial is not None:
        findings = trial_findings(trial, host_to_run(os.environ))
    else:
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
