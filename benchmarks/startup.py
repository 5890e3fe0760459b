"""What the start-up hook costs every program, and what the plugin adds to VLMEvalKit's import.

    python benchmarks/startup.py            the whole measurement, about 3 minutes
    python benchmarks/startup.py --quick    few repetitions, about half a minute

Programs with and without the hook are started in turns, so that a busy machine slows both. The
cost inside the host is measured there directly, because it is a hundredth of the host's own import,
and as processor time, so that other programs count less.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import sysconfig
import tempfile
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
HOOK_TARGET_MS = 1.0
PLUGIN_TARGET_MS = 50.0

INSIDE_HOST = """
import json, sys, time
started = time.thread_time()
import vlmeval
host = time.thread_time() - started
torch = "torch" in sys.modules
loaded = {*sys.modules}

import medbench_vlmeval_hook
finder = medbench_vlmeval_hook.HostFinder()
names = [name for name in sys.modules if name.partition(".")[0] != "vlmeval"]
started = time.thread_time()
for name in names:
    finder.find_spec(name)
searching = time.thread_time() - started

started = time.thread_time()
import gc
gc.disable()
from medbench_vlmeval.hosting import registration
registration._import_submodules(registration.DATASETS_PACKAGE, [])
before_zoo = time.thread_time()
registration._import_submodules(registration.MODELS_PACKAGE, [])
zoo = time.thread_time() - before_zoo
import medbench_vlmeval
medbench_vlmeval.register()
registering = time.thread_time() - started
gc.enable()
started = time.thread_time()
from medbench_vlmeval.hosting.registration import register
done = register()
again = time.thread_time() - started
added = sorted({*sys.modules} - loaded)
print(json.dumps({
    "host": host, "torch": torch, "searching": searching, "searches": len(names),
    "registering": registering, "zoo": zoo, "again": again, "datasets": len(done.datasets),
    "editors": len(done.editors), "failures": done.failures,
    "packages": sorted({name.partition(".")[0] for name in added} - {"medbench_vlmeval"}),
}))
"""


def milliseconds(values: Sequence[float]) -> str:
    low, high = min(values), max(values)
    return f"{statistics.median(values) * 1e3:7.2f} ms  ({low * 1e3:.2f} to {high * 1e3:.2f})"


def clean_environ(**changes: str) -> dict[str, str]:
    # byte code is written, as it is in an ordinary installation
    dropped = ("PYTHONPATH", "PYTHONHOME", "PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED")
    kept = {name: value for name, value in os.environ.items() if name not in dropped}
    return {**kept, **changes}


def build_wheel(folder: Path) -> Path:
    sources = folder / "sources"
    sources.mkdir()
    for name in ("setup.py", "pyproject.toml", "README.md", "LICENSE", "medbench_vlmeval_hook.py"):
        if (ROOT / name).is_file():
            shutil.copy2(ROOT / name, sources)
    ignored = shutil.ignore_patterns("__pycache__")
    shutil.copytree(ROOT / "medbench_vlmeval", sources / "medbench_vlmeval", ignore=ignored)
    code = f"from setuptools import build_meta; build_meta.build_wheel({str(folder)!r})"
    subprocess.run([sys.executable, "-c", code], cwd=sources, check=True, capture_output=True)
    return next(folder.glob("*.whl"))


def environment(folder: Path, wheel: Path | None) -> Path:
    """The interpreter of a new environment, with the wheel unpacked into it if one is given."""
    command = [sys.executable, "-m", "venv", "--without-pip", str(folder)]
    subprocess.run(command, check=True)
    if wheel is not None:
        site = next(folder.glob("lib/python3*/site-packages"))
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(site)
    return folder / "bin" / "python"


def start_time(python: Path) -> float:
    started = time.perf_counter()
    subprocess.run([python, "-c", "pass"], check=True, env=clean_environ(), cwd=ROOT.anchor)
    return time.perf_counter() - started


def hook_import_time(python: Path) -> float:
    """Seconds that ``-X importtime`` counts for the hook's module and what it imports."""
    command = [python, "-X", "importtime", "-c", "pass"]
    process = subprocess.run(
        command, check=True, env=clean_environ(), cwd=ROOT.anchor, capture_output=True, text=True
    )
    line = re.search(r"\|\s*(\d+) \|\s+medbench_vlmeval_hook$", process.stderr, re.MULTILINE)
    if line is None:
        raise SystemExit("the hook was not imported at start-up")
    return int(line[1]) / 1e6


def measure_starts(with_hook: Path, without: Path, repetitions: int) -> None:
    for python in (with_hook, without):  # the first start writes byte code
        start_time(python)
    pairs = [(start_time(with_hook), start_time(without)) for _ in range(repetitions)]
    having, lacking = zip(*pairs, strict=True)
    print(f"python -c pass, {repetitions} starts each, in turns")
    print(f"  without the hook   {milliseconds(lacking)}")
    print(f"  with the hook      {milliseconds(having)}")
    print(f"  ratio of medians   {statistics.median(having) / statistics.median(lacking):7.3f}")
    imports = [hook_import_time(with_hook) for _ in range(repetitions)]
    verdict = "met" if statistics.median(imports) * 1e3 < HOOK_TARGET_MS else "MISSED"
    print(f"  importing the hook {milliseconds(imports)}  target < {HOOK_TARGET_MS} ms: {verdict}")


def measure_host(python: Path, repetitions: int) -> None:
    if importlib.util.find_spec("vlmeval") is None:
        print("\nVLMEvalKit is not installed here: the cost inside it is not measured")
        return
    site = next(python.parents[1].glob("lib/python3*/site-packages"))
    (site / "zz_lent.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    environ = clean_environ(MEDBENCH_VLMEVAL_DISABLE="1")
    runs = []
    for _ in range(repetitions + 1):
        process = subprocess.run(
            [python, "-c", INSIDE_HOST],
            env=environ,
            cwd=ROOT.anchor,
            capture_output=True,
            text=True,
            check=True,
        )
        runs.append(json.loads(process.stdout.splitlines()[-1]))
    runs = runs[1:]  # the first run writes byte code
    added = [run["searching"] + run["registering"] for run in runs]
    host = statistics.median(run["host"] for run in runs)
    last = runs[-1]
    known = f"{last['datasets']} datasets, {last['editors']} editors"
    print(f"\nimport vlmeval, {repetitions} times, processor time ({known})")
    print(f"  the host alone     {host * 1e3:7.0f} ms")
    print(f"  {last['searches']} searches      {milliseconds([run['searching'] for run in runs])}")
    print(f"  registering        {milliseconds([run['registering'] for run in runs])}")
    print(f"    models among it   {milliseconds([run['zoo'] for run in runs])}  target < 10 ms")
    print(f"  registering again  {milliseconds([run['again'] for run in runs])}")
    met = statistics.median(added) * 1e3 < PLUGIN_TARGET_MS
    verdict = f"target < {PLUGIN_TARGET_MS:.0f} ms: {'met' if met else 'MISSED'}"
    print(f"  added in all       {milliseconds(added)}  {verdict}")
    print(f"  ratio              {1 + statistics.median(added) / host:7.4f}")
    print(f"  torch loaded by us: {'torch' in last['packages'] and not last['torch']}")
    print(f"  packages that only we load: {', '.join(last['packages']) or 'none'}")
    for failure in last["failures"]:
        print(f"  not registered: {failure}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="few repetitions")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        wheel = build_wheel(Path(folder))
        with_hook = environment(Path(folder, "with"), wheel)
        without = environment(Path(folder, "without"), None)
        measure_starts(with_hook, without, 10 if chosen.quick else 50)
        measure_host(with_hook, 1 if chosen.quick else 5)


if __name__ == "__main__":
    main()
