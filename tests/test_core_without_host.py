"""The core imports and scores where neither VLMEvalKit nor torch is installed."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from .data.releases import picture, write_official

PROGRAM = """
import sys
for absent in ("vlmeval", "torch", "torchvision", "numba", "diffusers", "pyspng"):
    sys.modules[absent] = None
from medbench_vlmeval.cli import main
main(["data", "prepare", "medebench", "--from", sys.argv[1]], standalone_mode=False)
arguments = ["score", "--data", "MedEBench_test", "--images", sys.argv[2], "--name", "M"]
main([*arguments, "--out", sys.argv[3]], standalone_mode=False)
"""


def test_pictures_are_scored_without_host_torch_and_numba(tmp_path: Path) -> None:
    source = write_official(tmp_path / "release")
    (tmp_path / "images").mkdir()
    (tmp_path / "images" / "1_0.png").write_bytes(picture(4))
    (tmp_path / "LMUData").mkdir()
    command = [sys.executable, "-c", PROGRAM, str(source), str(tmp_path / "images")]
    environ = {**os.environ, "LMUData": str(tmp_path / "LMUData"), "OPENAI_API_KEY": ""}
    process = subprocess.run(
        [*command, str(tmp_path / "out")], env=environ, capture_output=True, text=True, check=False
    )
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "out" / "M" / "M@MedEBench_test_score.json").is_file()
