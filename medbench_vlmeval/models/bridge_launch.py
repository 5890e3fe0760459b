"""What is needed to start a worker of the bridge: its program, its folder, its environment."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

WORKERS_FOLDER = Path(__file__).resolve().parents[1] / "bridge_workers"
SETTINGS_VARIABLE = "MEDBENCH_BRIDGE_SETTINGS"
PAGE = "docs/bridge.md"

PASSED_ON = frozenset(
    {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TZ", "TMPDIR", "LANG", "LANGUAGE"}
    | {"LD_LIBRARY_PATH", "DYLD_LIBRARY_PATH", "SSL_CERT_FILE", "SSL_CERT_DIR"}
    | {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"}
)
PASSED_ON_PREFIXES = (
    *("LC_", "XDG_", "HF_", "HUGGINGFACE_HUB_", "TRANSFORMERS_", "TORCH_", "PYTORCH_", "CUDA_"),
    *("NVIDIA_", "NCCL_", "HIP_", "ROCR_", "OMP_", "MKL_", "OPENBLAS_"),
)


@dataclass(frozen=True)
class Sources:
    """Where a worker's parts are, as far as they were given; variables fill the gaps."""

    python: str | None
    worker: str | None
    checkout: str | None
    variables: str
    """Start of the environment variables' names, e.g. ``MEDBENCH_SEEDX``."""
    needs_checkout: bool

    def worker_script(self) -> Path:
        """The worker's program.

        Raises:
            ValueError: none was named, or there is no such file.
        """
        named = self._named("worker")
        if Path(named).name == named and not named.endswith(".py"):
            path = WORKERS_FOLDER / f"{named}.py"
        else:
            path = Path(named).expanduser()
        if not path.is_file():
            shipped = sorted(it.stem for it in WORKERS_FOLDER.glob("*.py"))
            names = ", ".join(name for name in shipped if name not in ("__init__", "protocol"))
            raise ValueError(
                f"expected a worker's program or one of {names}, got {named!r}; see {PAGE}"
            )
        return path.resolve()

    def interpreter(self) -> str:
        """The Python that runs the worker; links stay, because a virtual environment is one.

        Raises:
            ValueError: none was named, or there is no such program.
        """
        named = str(Path(self._named("python")).expanduser())
        found = shutil.which(named)
        if found is None:
            raise ValueError(
                f"expected a Python interpreter, got {named!r}; correct `python` in the model's "
                f"entry or {self.variables}_PYTHON, see {PAGE}"
            )
        return os.path.abspath(found)  # noqa: PTH100 - resolve() would leave the environment

    def working_folder(self) -> Path:
        """The checkout, or the worker's own folder where a worker needs no checkout.

        Raises:
            ValueError: none was named and one is needed, or there is no such folder.
        """
        if not self.needs_checkout and not self._given("checkout"):
            return self.worker_script().parent
        folder = Path(self._named("checkout")).expanduser()
        if not folder.is_dir():
            raise ValueError(
                f"expected the folder of a checkout, got {str(folder)!r}; correct `checkout` in "
                f"the model's entry or {self.variables}_CHECKOUT, see {PAGE}"
            )
        return folder.resolve()

    def _given(self, part: str) -> str:
        return getattr(self, part) or os.environ.get(self._variable(part), "")

    def _named(self, part: str) -> str:
        value = self._given(part)
        if not value:
            needed = ["python", "worker", *(["checkout"] if self.needs_checkout else [])]
            missing = [name for name in needed if not self._given(name)]
            variables = " and ".join(map(self._variable, missing))
            raise ValueError(
                f"expected {' and '.join(missing)} of the worker, got none; set {variables}, or "
                f"give {' and '.join(missing)} in the model's entry of --config; {PAGE} shows how"
            )
        return value

    def _variable(self, part: str) -> str:
        return f"{self.variables}_{part.upper()}"


@dataclass(frozen=True)
class Launch:
    """How one worker is started."""

    command: tuple[str, ...]
    folder: Path
    environ: Mapping[str, str]
    log: Path
    start_timeout_s: float
    checkout_commit: str


@dataclass(frozen=True)
class WorkerSetup:
    """All that an editor was told about its worker."""

    name: str
    sources: Sources
    environ: Mapping[str, str]
    settings: Mapping[str, Any]
    start_timeout_s: float

    def launch(self) -> Launch:
        """How the worker is started now.

        Raises:
            ValueError: a part is not named or not there.
        """
        script, folder = self.sources.worker_script(), self.sources.working_folder()
        return Launch(
            command=(self.sources.interpreter(), str(script)),
            folder=folder,
            environ=worker_environment(self.environ, settings=self.settings, folder=folder),
            log=log_path(self.name),
            start_timeout_s=self.start_timeout_s,
            checkout_commit=checkout_commit(folder),
        )


def worker_environment(
    added: Mapping[str, str], *, settings: Mapping[str, Any], folder: Path
) -> dict[str, str]:
    """The variables a worker sees: a short list of ours, its own, and what the bridge tells it.

    Keys of judges and services stay here. ``HF_*`` is passed on, ``HF_TOKEN`` with it, because
    gated weights need it.
    """
    passed = {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(PASSED_ON_PREFIXES)
    }
    path = [str(folder), str(WORKERS_FOLDER), added.get("PYTHONPATH", "")]
    return {
        **passed,
        **{name: str(value) for name, value in added.items()},
        # The worker's Python is another one: its byte code has no place in this package.
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join(part for part in path if part),
        SETTINGS_VARIABLE: json.dumps(dict(settings)),
    }


def log_path(name: str) -> Path:
    """Where a worker's output goes: ``<LMUData>/medbench/bridge/bridge_<name>.log``."""
    from ..data import lmu_root

    plain = "".join(letter if letter.isalnum() or letter in "-._" else "_" for letter in name)
    return lmu_root() / "medbench" / "bridge" / f"bridge_{plain}.log"


def checkout_commit(folder: Path) -> str:
    """The commit that a checkout stands at; empty where git cannot say."""
    import subprocess

    command = ["git", "-C", str(folder), "rev-parse", "HEAD"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return asked.stdout.strip() if asked.returncode == 0 else ""
