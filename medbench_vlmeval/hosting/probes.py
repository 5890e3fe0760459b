"""Which VLMEvalKit this interpreter would run, found out without importing it.

``vlmeval.__version__`` is the same text in every release, so a host is known by its distribution,
by the commit of its clone, and by the features its files show.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_DISTRIBUTIONS = ("ms-vlmeval", "nvidia-vlmeval", "vlmeval")
_FEATURE_FILES: Mapping[str, str] = {
    "status_json": "smp/status_report.py",
    "api_mode": "inference_api.py",
    "adapters": "api/adapters/__init__.py",
    "medqbench": "dataset/medqbench_mcq.py",
}
_RUN_FLAGS: Mapping[str, str] = {
    "data_config": "--data-config",
    "limit": "--limit",
    "first_n": "--first-n",
    "reuse_aux": "--reuse-aux",
}


@dataclass(frozen=True)
class Host:
    """One VLMEvalKit."""

    package: Path
    """The folder `vlmeval`."""
    distribution: str = ""
    """Name under which it was installed; empty for a plain clone."""
    version: str = ""
    """Version of that distribution."""
    commit: str = ""
    """Commit of the clone it lies in; empty without one."""

    @property
    def run_script(self) -> Path | None:
        """The file behind ``python -m vlmeval``, ``python -m vlmeval.run`` or ``python run.py``."""
        for candidate in (self.package / "run.py", self.package.parent / "run.py"):
            if candidate.is_file():
                return candidate
        return None

    @property
    def run_module(self) -> str | None:
        """What to put after ``python -m``; None for a clone, which has only its ``run.py``."""
        if (self.package / "__main__.py").is_file():
            return "vlmeval"
        return "vlmeval.run" if (self.package / "run.py").is_file() else None

    @property
    def features(self) -> dict[str, bool]:
        """What this host can do, by name; read from its files."""
        script = self.run_script
        text = script.read_text(encoding="utf-8", errors="replace") if script else ""
        by_file = {name: (self.package / file).is_file() for name, file in _FEATURE_FILES.items()}
        by_flag = {
            name: re.search(rf"""['"]{flag}['"]""", text) for name, flag in _RUN_FLAGS.items()
        }
        return by_file | {name: match is not None for name, match in by_flag.items()}

    def __str__(self) -> str:
        name = f"{self.distribution} {self.version}".strip() or "clone of VLMEvalKit"
        return f"{name} at commit {self.commit[:12]}" if self.commit else name


def find_host() -> Host | None:
    """The VLMEvalKit that ``import vlmeval`` would give, or None."""
    spec = importlib.util.find_spec("vlmeval")
    return host_at(Path(spec.origin).parent) if spec is not None and spec.origin else None


def host_description() -> dict[str, str]:
    """The host for a manifest: distribution, version and commit, each empty when unknown."""
    host = find_host() or Host(Path())
    return {"distribution": host.distribution, "version": host.version, "commit": host.commit}


def host_at(package: Path) -> Host | None:
    """The host whose package is this folder, or None.

    A folder that merely is called ``vlmeval`` is none: a host has datasets and a model zoo.
    """
    package = package.resolve()
    if not (package / "dataset").is_dir() or not (package / "config.py").is_file():
        return None
    distribution, version = _distribution_of(package)
    return Host(package, distribution, version, _commit_of(package.parent))


def _distribution_of(package: Path) -> tuple[str, str]:
    for name in _DISTRIBUTIONS:
        try:
            distribution = importlib.metadata.distribution(name)
        except importlib.metadata.PackageNotFoundError:
            continue
        if package in (_installed_at(distribution), _editable_at(distribution)):
            return name, distribution.version
    return "", ""


def _installed_at(distribution: importlib.metadata.Distribution) -> Path:
    return Path(str(distribution.locate_file("vlmeval"))).resolve()


def _editable_at(distribution: importlib.metadata.Distribution) -> Path | None:
    address = json.loads(distribution.read_text("direct_url.json") or "{}").get("url", "")
    if not address.startswith("file://"):
        return None
    return (Path(address.removeprefix("file://")) / "vlmeval").resolve()


def _commit_of(clone: Path) -> str:
    """Commit of the working tree at `clone`, read without git; empty when it is none."""
    git = clone / ".git"
    if git.is_file():  # a linked work tree: one line that names the folder
        git = (clone / git.read_text(encoding="utf-8").partition(":")[2].strip()).resolve()
    head = _text(git / "HEAD").strip()
    reference = head.removeprefix("ref: ")
    if reference == head:
        return head
    common = (git / (_text(git / "commondir").strip() or ".")).resolve()
    loose = _text(git / reference).strip() or _text(common / reference).strip()
    return loose or _packed_commit(_text(common / "packed-refs"), reference)


def _packed_commit(packed_references: str, reference: str) -> str:
    for line in packed_references.splitlines():
        commit, _, name = line.partition(" ")
        if name == reference:
            return commit
    return ""


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""
