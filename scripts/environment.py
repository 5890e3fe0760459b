"""One virtual environment with VLMEvalKit and this package; shared by demo.py and test.py.

Standard library only: it runs before anything is installed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
import urllib.request
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST, NEWEST = (3, 10), (3, 13)
CPU_WHEELS = "https://download.pytorch.org/whl/cpu"
_IMPORTS_TORCH_PAIR = "import torch, torchvision; torchvision.ops.nms; print(torch.__version__)"
_NEEDED_GIB = 9


class Stopped(Exception):
    """A step failed; the text says what to do."""


def step(text: str) -> None:
    print(f"==> {text}", flush=True)


def run_logged(command: list[str], log: Path, what: str, remedy: str, **options: object) -> None:
    """Run a command with its output in `log`, saying every half minute that it goes on."""
    started = time.monotonic()
    with log.open("ab") as stream:
        stream.write(f"\n$ {' '.join(command)}\n".encode())
        stream.flush()
        process = subprocess.Popen(command, stdout=stream, stderr=subprocess.STDOUT, **options)
        while True:
            try:
                code = process.wait(timeout=30)
                break
            except subprocess.TimeoutExpired:
                print(f"    {what}: {time.monotonic() - started:.0f} s …", flush=True)
    if code:
        tail = log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
        raise Stopped("\n".join([*tail, "", f"{what} failed (all output: {log}).", remedy]))
    print(f"    {what}: done in {time.monotonic() - started:.0f} s", flush=True)


def prepared_python(extras: str, given: str | None, place: Path) -> Path:
    """The interpreter of an environment that has host, torch pair and package.

    Args:
        extras: extras of the package to install, e.g. ``host,test``.
        given: an interpreter the user points to; it must have a host already, and only this package
            is added to it.
        place: where the environment of our own goes.
    """
    if given:
        python = Path(given).expanduser()
        python = python / "bin" / "python" if python.is_dir() else python
        if not python.is_file():
            raise Stopped(f"{given} is no Python interpreter or environment.")
        if not _succeeds(python, "import vlmeval"):
            raise Stopped(
                f"{python} cannot import vlmeval. Install it there "
                '(pip install "ms-vlmeval>=0.0.20" rouge_score absl-py), or leave --env out.'
            )
        step(f"using the environment of {python}")
        _install_package(python, extras.replace("host,", "").replace("host", ""), place)
        return python
    python = _own_environment(place)
    _install_torch(python, place)
    _install_package(python, extras, place)
    return python


def _own_environment(place: Path) -> Path:
    if not OLDEST <= sys.version_info[:2] <= NEWEST:
        raise Stopped(
            f"Python {sys.version.split()[0]} is not supported; "
            "run this script with Python 3.10, 3.11, 3.12 or 3.13, e.g. python3.12."
        )
    python = place / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    if _succeeds(python, "import pip"):
        step(f"environment: {place} (there already)")
        return python
    free = shutil.disk_usage(place.parent).free / 2**30
    if free < _NEEDED_GIB:
        raise Stopped(
            f"{free:.1f} GiB free at {place.parent}, {_NEEDED_GIB} needed; use --venv DIR."
        )
    step(f"environment: making {place}")
    try:
        venv.create(place, with_pip=True, clear=place.exists())
    except (subprocess.CalledProcessError, OSError) as error:
        raise Stopped(
            f"the environment could not be made ({error}).\n"
            "On Debian and Ubuntu: apt-get install python3-venv"
        ) from error
    return python


def _install_torch(python: Path, place: Path) -> None:
    """A matching pair of torch and torchvision, which the host needs."""
    if _succeeds(python, _IMPORTS_TORCH_PAIR):
        step("torch and torchvision: there already")
        return
    log = place / "install.log"
    pip = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    has_gpu = shutil.which("nvidia-smi") is not None or sys.platform == "darwin"
    if not has_gpu and _answers(CPU_WHEELS):
        step("torch and torchvision: CPU build (no NVIDIA GPU here)")
        command = [*pip, "--index-url", CPU_WHEELS, "torch", "torchvision"]
        try:
            run_logged(command, log, "CPU build", "", env=_without_other_indexes())
        except Stopped:
            print("    the CPU build could not be had; taking the default build")
    if not _succeeds(python, _IMPORTS_TORCH_PAIR):
        step("torch and torchvision: default build, several GB")
        remedy = "Check the network, or point to an environment that has VLMEvalKit: --env PYTHON"
        run_logged([*pip, "torch", "torchvision"], log, "torch and torchvision", remedy)
    if not _succeeds(python, _IMPORTS_TORCH_PAIR):
        raise Stopped(
            "torch and torchvision do not fit together; install a matching pair in\n"
            f"{python} (https://pytorch.org/get-started/locally/) and run this again."
        )


def _answers(address: str) -> bool:
    """Whether a web address can be reached at all."""
    try:
        with urllib.request.urlopen(address, timeout=10):
            return True
    except OSError:
        return False


def _without_other_indexes() -> dict[str, str]:
    # torch from one place and torchvision from another are no pair, even with fitting versions; so
    # neither a configured extra index nor a folder of wheels may take part.
    others = ("PIP_FIND_LINKS", "PIP_EXTRA_INDEX_URL", "PIP_INDEX_URL", "PIP_CONSTRAINT")
    kept = {name: value for name, value in os.environ.items() if name not in others}
    return {**kept, "PIP_CONFIG_FILE": os.devnull}


def _install_package(python: Path, extras: str, place: Path) -> None:
    step(f"VLMEvalKit and medbench-vlmeval[{extras}]" if "host" in extras else "medbench-vlmeval")
    place.mkdir(parents=True, exist_ok=True)
    target = f"{ROOT}[{extras.strip(',')}]" if extras.strip(",") else str(ROOT)
    command = [str(python), "-m", "pip", "install", "--disable-pip-version-check", "--no-input"]
    remedy = "Check the network; see the log for the package that failed."
    run_logged([*command, "-e", target], place / "install.log", "installing", remedy)


def _succeeds(python: Path, statement: str) -> bool:
    if not python.is_file():
        return False
    command = [str(python), "-c", statement]
    outside = ROOT.parent  # a checkout in the current directory would shadow what is installed
    return subprocess.run(command, capture_output=True, cwd=outside, check=False).returncode == 0
