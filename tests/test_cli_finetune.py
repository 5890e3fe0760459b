"""``medbench data export-finetune`` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main
from medbench_vlmeval.data import prepare_medebench

from .data.releases import write_official

pytestmark = pytest.mark.usefixtures("lmu")


@pytest.fixture
def release(tmp_path: Path) -> None:
    rows = {number: {"Task": "Remove moles.", "Organ": "Skin"} for number in range(7, 11)}
    source = write_official(tmp_path / "release", range(1, 11), rows=rows)
    prepare_medebench(source, progress=False)


def export(*arguments: str | Path) -> Result:
    command = ["data", "export-finetune", *map(str, arguments)]
    return CliRunner().invoke(main, command)


def test_an_export_says_what_to_train_on_and_what_to_test(release: None, tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = export(
        "--out", out, "--shots", "4", "--task", "Remove moles", "--task", "remove stains."
    )
    assert result.exit_code == 0, result.output
    assert f"{out}: 5 training triplets of 2 tasks" in result.output
    assert "to test: 5 samples (held_out_ids.txt)" in result.output
    assert "Remove moles. (2 of 4: 4 samples" in result.output
    assert len((out / "train" / "metadata.jsonl").read_text().splitlines()) == 5


def test_all_shots_of_one_organ_and_another_seed(release: None, tmp_path: Path) -> None:
    arguments = ("--organ", "Skin", "--seed", "3", "--format", "parquet")
    result = export("--out", tmp_path / "out", "--shots", "all", *arguments)
    assert result.exit_code == 0, result.output
    request = json.loads((tmp_path / "out" / "manifest.json").read_text())["request"]
    chosen = [request[name] for name in ("shots", "organs", "seed", "format")]
    assert chosen == ["all", ["Skin"], 3, "parquet"]


@pytest.mark.parametrize("shots", ["0", "-1", "few", "1.5"])
def test_a_number_of_shots_that_is_none_is_refused(
    release: None, tmp_path: Path, shots: str
) -> None:
    result = export("--out", tmp_path / "out", "--shots", shots)
    assert result.exit_code == 2
    assert f"'all' for --shots, got {shots}" in result.output


def test_errors_are_one_line_with_a_remedy(release: None, tmp_path: Path) -> None:
    assert export("--out", tmp_path / "out").exit_code == 0
    again = export("--out", tmp_path / "out", "--shots", "1")
    assert again.exit_code == 1
    assert "pass --replace" in again.output
    assert export("--out", tmp_path / "out", "--shots", "1", "--replace").exit_code == 0
    unprepared = export("--out", tmp_path / "other", "--data", "MedEBench_none")
    assert unprepared.exit_code == 1
    assert "medbench data prepare medebench" in unprepared.output
    assert "Traceback" not in again.output + unprepared.output
