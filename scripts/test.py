"""Install what the tests need and run them.

    python3 scripts/test.py [pytest arguments]

Uses the same environment as demo.py. The tests that run upstream's VLMEvalKit need a clone of it:
set MEDBENCH_VLMEVALKIT to its folder.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from pathlib import Path

from environment import ROOT, Stopped, prepared_python, step


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--env", help="a Python (or environment) that has VLMEvalKit already")
    parser.add_argument("--venv", type=Path, default=ROOT / ".venv", help="where our own goes")
    arguments, pytest_arguments = parser.parse_known_args()
    try:
        python = prepared_python(
            "host,fast,sample,diffusers,gemini,test", arguments.env, arguments.venv.absolute()
        )
    except Stopped as stopped:
        print(f"\n{stopped}", file=sys.stderr)
        return 1
    step("tests")
    # A file's tests share runs of the host, so a file stays on one worker.
    default = ["-q", "-n", "3", "--dist", "loadfile"]
    command = [str(python), "-m", "pytest", *(pytest_arguments or default)]
    return subprocess.run(command, cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
