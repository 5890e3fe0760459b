"""Installs the package in every supported way: ``python tests/host/install_matrix.py``.

Wheel, sdist and editable install, with and without build isolation, by old and new setuptools. Not
a test that pytest collects: it downloads setuptools and takes minutes.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from itertools import product
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from tests.host.environments import (
    ARMED,
    STARTUP_FILES,
    Environment,
    clean_environ,
    copy_sources,
    output_of,
    run_python,
)

SETUPTOOLS = ("65.7.0", "70.3.0", "75.8.0", "80.9.0", "84.2.1")
KINDS = ("wheel", "sdist", "editable")


def environment_with(setuptools: str, folder: Path) -> Environment:
    """An environment with pip, wheel and this setuptools, for builds without isolation."""
    process = run_python(sys.executable, "-m", "venv", str(folder))
    assert process.returncode == 0, process.stderr
    environment = Environment(folder)
    pip(environment, "install", f"setuptools=={setuptools}", "wheel")
    return environment


def pip(environment: Environment, *arguments: str, constraint: Path | None = None) -> str:
    environ = clean_environ(**({"PIP_CONSTRAINT": str(constraint)} if constraint else {}))
    command = ["-m", "pip", "--disable-pip-version-check", *arguments]
    process = run_python(environment.python, *command, environ=environ, timeout=300)
    assert process.returncode == 0, process.stdout + process.stderr
    return process.stdout


def install(
    environment: Environment, kind: str, isolated: bool, setuptools: str, folder: Path
) -> None:
    """Install from a fresh copy of the sources, building with this setuptools."""
    constraint = folder / "constraint.txt"
    constraint.parent.mkdir(parents=True)
    constraint.write_text(f"setuptools=={setuptools}\n", encoding="utf-8")
    sources = copy_sources(folder / "sources")
    options = ["--no-deps"] if isolated else ["--no-deps", "--no-build-isolation"]
    target = [str(sources)]
    if kind == "editable":
        target = ["-e", str(sources)]
    elif kind == "sdist":
        code = f"from setuptools import build_meta; build_meta.build_sdist({str(folder)!r})"
        process = run_python(environment.python, "-c", code, cwd=sources)
        assert process.returncode == 0, process.stderr
        target = [str(next(folder.glob("*.tar.gz")))]
    pip(environment, "install", *options, *target, constraint=constraint if isolated else None)


def check(environment: Environment, before: set[str]) -> None:
    """The files are recorded, the hook is armed, and uninstalling leaves nothing."""
    shown = pip(environment, "show", "--files", "medbench-vlmeval")
    recorded = {line.strip() for line in shown.partition("Files:")[2].splitlines()}
    assert {*STARTUP_FILES} <= recorded, recorded
    assert {*STARTUP_FILES} <= environment.contents()
    environ = clean_environ()
    environ.pop("PYTHONDONTWRITEBYTECODE", None)
    assert output_of(environment.python, "-c", ARMED, environ=environ) == "1"
    code = "import medbench_vlmeval; print(medbench_vlmeval.__version__)"
    assert output_of(environment.python, "-c", code, environ=environ)
    pip(environment, "uninstall", "--yes", "medbench-vlmeval")
    left = {name for name in environment.contents() - before if "__pycache__" not in name}
    assert left == set(), left
    assert not [name for name in environment.contents() if "medbench" in name]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--setuptools", nargs="+", default=SETUPTOOLS, metavar="VERSION")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        for setuptools in chosen.setuptools:
            environment = environment_with(setuptools, Path(folder, setuptools))
            before = environment.contents()
            for kind, isolated in product(KINDS, (False, True)):
                case = Path(folder, f"{setuptools}-{kind}-{isolated}")
                install(environment, kind, isolated, setuptools, case)
                check(environment, before)
                how = "isolated" if isolated else "not isolated"
                line = f"setuptools {setuptools:<8} {kind:<9} {how:<13} ok\n"
                sys.stdout.write(line)
                sys.stdout.flush()


if __name__ == "__main__":
    main()
