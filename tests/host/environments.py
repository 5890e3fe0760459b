"""Interpreters and virtual environments for tests of how the package is found at start-up."""

from __future__ import annotations

import functools
import os
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BASE_PYTHON: str = sys._base_executable
"""What the test environment was made of; unlike it, it holds neither a VLMEvalKit nor ourselves."""
STARTUP_FILES = ("medbench_vlmeval.pth", "medbench_vlmeval.start")
ARMED = "import sys; print(sum(type(it).__name__ == 'HostFinder' for it in sys.meta_path))"
"""A program that prints how many of our finders are in place."""


def clean_environ(**changes: str) -> dict[str, str]:
    """This process's environment without what would steer Python or us."""
    steering = ("PYTHONPATH", "PYTHONHOME", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "VIRTUAL_ENV")
    kept = {
        name: value
        for name, value in os.environ.items()
        if name not in steering and not name.startswith(("MEDBENCH_", "COV_CORE"))
    }
    return {**kept, **changes}


def run_python(
    python: Path | str,
    *arguments: str,
    cwd: Path | None = None,
    environ: Mapping[str, str] | None = None,
    timeout: float = 120,
) -> subprocess.CompletedProcess[str]:
    """The finished process ``python *arguments``, with its output as text.

    By default it runs away from the checkout, which would otherwise be on its path.
    """
    return subprocess.run(
        [str(python), *arguments],
        cwd=cwd or ROOT.anchor,
        env=dict(environ) if environ is not None else clean_environ(),
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def output_of(python: Path | str, *arguments: str, **options) -> str:
    """What the process printed; it must end well and must not write to stderr."""
    process = run_python(python, *arguments, **options)
    assert (process.returncode, process.stderr) == (0, ""), process.stderr
    return process.stdout.strip()


@functools.cache
def interpreter(version: str) -> str | None:
    """An interpreter of this version, e.g. ``3.12``, on PATH or kept by pyenv; None without one."""
    if version == f"{sys.version_info[0]}.{sys.version_info[1]}":
        return BASE_PYTHON
    pyenv = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv") / "versions"
    candidates = [shutil.which(f"python{version}"), *pyenv.glob(f"{version}.*/bin/python")]
    for candidate in filter(None, candidates):
        # A shim of pyenv is on PATH even when its version is not selected, and is slow when it is.
        question = "import sys; print('{0[0]}.{0[1]}'.format(sys.version_info), sys.executable)"
        found, _, executable = run_python(candidate, "-c", question).stdout.strip().partition(" ")
        if found == version:
            return executable
    return None


@dataclass(frozen=True)
class Environment:
    """A virtual environment without pip."""

    folder: Path

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    @property
    def site_packages(self) -> Path:
        # pip removes the folder when it has emptied it, so it is not looked for by its own name
        return next(self.folder.glob("lib/python3*")) / "site-packages"

    def contents(self) -> set[str]:
        """Every file of site-packages, by relative path."""
        site = self.site_packages
        return {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}

    def unpack(self, wheel: Path) -> None:
        """Install a wheel as an installer would, but for scripts and RECORD."""
        unpack(wheel, self.site_packages)

    def pip(self, *arguments: str) -> None:
        """Run the test environment's pip on this environment."""
        command = ["-m", "pip", "--disable-pip-version-check", "--python", str(self.python)]
        process = run_python(sys.executable, *command, *arguments)
        assert process.returncode == 0, process.stderr


def unpack(wheel: Path, folder: Path) -> None:
    """The files of a wheel, in a folder."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)


def create_environment(folder: Path, *, python: str = sys.executable) -> Environment:
    """A new virtual environment of `python`."""
    process = run_python(python, "-m", "venv", "--without-pip", str(folder))
    assert process.returncode == 0, process.stderr
    return Environment(folder)


def copy_sources(folder: Path) -> Path:
    """The files that a build reads, in a folder of their own.

    Builds leave ``build/`` and ``*.egg-info`` beside the sources and pick up what is left there.
    """
    folder.mkdir(parents=True)
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "medbench_vlmeval_hook.py"):
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, folder)
    shutil.copytree(
        ROOT / "medbench_vlmeval",
        folder / "medbench_vlmeval",
        ignore=shutil.ignore_patterns("__pycache__"),
    )
    return folder


def build(kind: str, sources: Path, output: Path, *, path: Sequence[Path] = ()) -> Path:
    """Build ``wheel``, ``sdist`` or ``editable`` with the setuptools of the test environment.

    Args:
        path: folders to look for setuptools in before that.
    """
    output.mkdir(parents=True, exist_ok=True)
    code = f"from setuptools import build_meta; print(build_meta.build_{kind}({str(output)!r}))"
    environ = clean_environ(PYTHONPATH=os.pathsep.join(map(str, path)))
    process = run_python(sys.executable, "-c", code, cwd=sources, environ=environ)
    assert process.returncode == 0, process.stderr
    return output / process.stdout.splitlines()[-1]
