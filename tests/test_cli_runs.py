from __future__ import annotations

from pathlib import Path

from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main

from .report.test_verify import choices


def medbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def test_a_run_and_a_folder_of_runs_are_verified(tmp_path: Path) -> None:
    choices(tmp_path / "a", {1: "A", 2: "B"})
    run = choices(tmp_path / "b", {1: "A"})
    result = medbench("verify", tmp_path)
    assert (result.exit_code, result.output.count("all as written")) == (0, 2)
    assert medbench("verify", run.beside("_scores.jsonl")).exit_code == 0


def test_a_tampered_run_fails_and_the_others_are_still_looked_at(tmp_path: Path) -> None:
    run = choices(tmp_path / "a", {1: "A", 2: "B"})
    choices(tmp_path / "b", {1: "A"})
    path = run.beside("_score.json")
    path.write_text(path.read_text().replace('"accuracy": 0.', '"accuracy": 0.9'), encoding="utf-8")
    result = medbench("verify", tmp_path)
    assert result.exit_code == 1
    assert "other SHA-256" in result.output
    assert "all as written" in result.output


def test_what_cannot_be_verified_fails_and_the_others_are_still_looked_at(tmp_path: Path) -> None:
    choices(tmp_path / "a", {1: "A"})
    newer = choices(tmp_path / "b", {1: "A"}).manifest_path
    newer.write_text(newer.read_text(encoding="utf-8").replace('"schema": 1', '"schema": 9'))
    choices(tmp_path / "c", {1: "A"}).beside("_scores.jsonl").unlink()
    choices(tmp_path / "d", {1: "A"}).manifest_path.unlink()
    result = medbench("verify", tmp_path)
    assert result.exit_code == 1
    assert result.output.count("all as written") == 1
    assert "expected a manifest of schema up to 1, got 9" in result.output
    assert "_scores.jsonl is not there" in result.output
    assert "has no manifest beside it" in result.output


def test_nothing_to_verify_is_an_error_in_one_line(tmp_path: Path) -> None:
    result = medbench("verify", tmp_path)
    assert (result.exit_code, "no finished run" in result.output) == (1, True)
    assert "Traceback" not in result.output


def test_two_runs_are_compared(tmp_path: Path) -> None:
    choices(tmp_path / "a", {1: "A", 2: "B"})
    choices(tmp_path / "b", {1: "B", 2: "B"})
    result = medbench("diff", tmp_path / "a", tmp_path / "b")
    assert result.exit_code == 0, result.output
    assert "accuracy: moved in 1 sample" in result.output
    assert medbench("diff", tmp_path / "a", tmp_path).exit_code == 1
