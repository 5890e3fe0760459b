"""From nothing to a scored table: the sample pack of MedEBench through the real VLMEvalKit.

    python3 scripts/demo.py

Makes an environment, installs VLMEvalKit and this package, edits the sample pack with the baseline
editors, scores it, and prints the table and where the files are. No key, GPU or download of data.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path

from environment import ROOT, Stopped, prepared_python, run_logged, step

BASELINES = (
    "Baseline-CopyInput",
    "Baseline-Reference",
    "Baseline-Blank",
    "Baseline-BlurROI",
    "Baseline-NoiseOutsideROI",
)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--env", help="a Python (or environment) that has VLMEvalKit already")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="where our own goes")
    parser.add_argument("--out", type=Path, default=Path("medbench_demo"), help="where results go")
    arguments = parser.parse_args()
    try:
        python = prepared_python("host,fast,sample", arguments.env, arguments.venv.absolute())
        evaluate(python, arguments.out.absolute())
    except Stopped as stopped:
        print(f"\n{stopped}", file=sys.stderr)
        return 1
    return 0


def evaluate(python: Path, out: Path) -> None:
    """Run the host on the sample pack, then show what it wrote."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "LMUData").mkdir(exist_ok=True)
    environment = {**os.environ, "LMUData": str(out / "LMUData"), "PYTHONUNBUFFERED": "1"}
    step("VLMEvalKit: MedEBench_sample with the baseline editors")
    command = [str(python), "-m", "vlmeval", "--data", "MedEBench_sample"]
    command += ["--model", *BASELINES, "--work-dir", str(out / "outputs"), "--mode", "all"]
    remedy = "Run `medbench doctor` in that environment; it says what is wrong."
    run_logged(command, out / "vlmeval.log", "evaluation", remedy, cwd=out, env=environment)
    step("results")
    medbench = [str(python), "-m", "medbench_vlmeval.cli", "results", str(out / "outputs")]
    if subprocess.run(medbench, cwd=out, env=environment, check=False).returncode:
        raise Stopped(f"VLMEvalKit ended without results; see {out / 'vlmeval.log'}")
    print(f"log of VLMEvalKit: {out / 'vlmeval.log'}")


if __name__ == "__main__":
    sys.exit(main())
