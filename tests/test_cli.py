from __future__ import annotations

import errno
import json
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main
from medbench_vlmeval.cli.groups import Plain
from medbench_vlmeval.files import read_jsonl

from .data.releases import picture, write_official
from .shared import shared_path


@pytest.fixture(autouse=True)
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    folder.mkdir()
    monkeypatch.setenv("LMUData", str(folder))
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    return folder


def medbench(*arguments: str | Path) -> Result:
    return CliRunner().invoke(main, [str(argument) for argument in arguments])


def test_data_is_prepared_and_verified(tmp_path: Path) -> None:
    source = write_official(tmp_path / "release")
    prepared = medbench("data", "prepare", "medebench", "--from", source)
    assert prepared.exit_code == 0, prepared.output
    assert "3" in prepared.output
    verified = medbench("data", "verify", "MedEBench_test")
    assert verified.exit_code == 0, verified.output


def test_a_changed_file_fails_verification(tmp_path: Path, lmu: Path) -> None:
    medbench("data", "prepare", "medebench", "--from", write_official(tmp_path / "release"))
    next(lmu.rglob("previous/2.png")).write_bytes(picture(99))
    verified = medbench("data", "verify", "MedEBench_test")
    assert verified.exit_code == 1
    assert "previous/2.png" in verified.output


def test_scoring_without_data_names_the_command() -> None:
    result = medbench("score", "--data", "MedEBench_test", "--images", ".", "--name", "M")
    assert result.exit_code == 1
    assert "medbench data prepare medebench" in result.output
    assert "Traceback" not in result.output


def test_pictures_of_two_models_are_scored_and_listed(tmp_path: Path) -> None:
    medbench("data", "prepare", "medebench", "--from", write_official(tmp_path / "release"))
    folders = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "1_0.png").write_bytes(picture(5))
        folders += ["--images", folder, "--name", name]
    out = tmp_path / "out"
    scored = medbench("score", "--data", "MedEBench_test", *folders, "--out", out)
    assert scored.exit_code == 0, scored.output
    assert "images for 1 of 3 samples" in scored.output
    assert "two on MedEBench_test" in scored.output
    listed = medbench("results", out)
    assert listed.exit_code == 0
    assert "CP 1, CP" in listed.output
    machine = json.loads(medbench("results", out, "--json").output)
    assert [run["model"] for run in machine] == ["one", "two"]


def test_a_name_for_each_folder_is_demanded(tmp_path: Path) -> None:
    result = medbench("score", "--data", "MedEBench_sample", "--images", tmp_path)
    assert result.exit_code == 2
    two = ["--images", tmp_path, "--images", tmp_path, "--name", "M"]
    result = medbench("score", "--data", "MedEBench_sample", *two)
    assert result.exit_code == 2
    assert "one --name per --images" in result.output


def test_an_unreachable_judge_is_one_line_and_a_failure(tmp_path: Path) -> None:
    medbench("data", "prepare", "medebench", "--from", write_official(tmp_path / "release", [1]))
    (tmp_path / "1_0.png").write_bytes(picture(5))
    arguments = ["--images", tmp_path, "--name", "M", "--out", tmp_path / "out"]
    judge = ["--judge", "judge", "--judge-base-url", "http://127.0.0.1:9/v1"]
    result = medbench("score", "--data", "MedEBench_test", *arguments, *judge, "--judge-retry", "0")
    assert result.exit_code == 1
    assert "Error:" in result.output
    assert "Traceback" not in result.output
    assert (tmp_path / "out" / "M" / "M@MedEBench_test_score.json").is_file()


def test_options_of_scoring_may_stand_among_the_judges(tmp_path: Path) -> None:
    medbench("data", "prepare", "medebench", "--from", write_official(tmp_path / "release", [1]))
    (tmp_path / "1_0.png").write_bytes(picture(5))
    arguments = ["--images", tmp_path, "--name", "M", "--out", tmp_path / "out", "--judge", "none"]
    given = json.dumps({"medbench_scoring_backend": "threading", "medbench_judge_layout": "single"})
    result = medbench("score", "--data", "MedEBench_test", *arguments, "--judge-args", given)
    assert result.exit_code == 0, result.output
    wrong = json.dumps({"medbench_scoring_backend": "spark"})
    result = medbench("score", "--data", "MedEBench_test", *arguments, "--judge-args", wrong)
    assert result.exit_code == 1
    assert "spark" in result.output


def test_no_results_is_an_error(tmp_path: Path) -> None:
    result = medbench("results", tmp_path)
    assert result.exit_code == 1
    assert "no finished run" in result.output


def test_the_gallery_scores_close_to_the_published_values(tmp_path: Path) -> None:
    gallery = shared_path("real/medebench_gallery")
    medbench("data", "prepare", "medebench", "--from", gallery)
    arguments = ["--images", gallery / "generated_images" / "icedit", "--name", "icedit"]
    result = medbench(
        "score", "--data", "MedEBench_test", *arguments, "--out", tmp_path, "--judge", "none"
    )
    assert result.exit_code == 0, result.output
    published = json.loads((gallery / "published_scores.json").read_text())
    rows = [
        json.loads(line)
        for line in (tmp_path / "icedit" / "icedit@MedEBench_test_scores.jsonl")
        .read_text()
        .splitlines()
    ]
    for row in rows:
        ours = row["scores"]["CP"]["value"]
        assert abs(ours - published[str(row["index"])]["icedit"]["CP"]) <= 0.10


def test_only_listed_ids_are_scored(tmp_path: Path) -> None:
    medbench("data", "prepare", "medebench", "--from", write_official(tmp_path / "r", [1, 2]))
    for identifier in (1, 2):
        (tmp_path / f"{identifier}_0.png").write_bytes(picture(5))
    (tmp_path / "ids.txt").write_text("2\n", encoding="utf-8")
    arguments = ["--images", tmp_path, "--name", "M", "--out", tmp_path / "out", "--judge", "none"]
    only = ["--only", tmp_path / "ids.txt"]
    result = medbench("score", "--data", "MedEBench_test", *arguments, *only)
    assert result.exit_code == 0, result.output
    rows, _ = read_jsonl(next((tmp_path / "out").rglob("*_scores.jsonl")))
    assert [row["index"] for row in rows] == [2]
    (tmp_path / "ids.txt").write_text("7\n", encoding="utf-8")
    result = medbench("score", "--data", "MedEBench_test", *arguments, *only)
    assert (result.exit_code, "expected ids of MedEBench_test" in result.output) == (1, True)


def test_a_reader_that_has_seen_enough_is_no_error_to_talk_about() -> None:
    @click.group(cls=Plain)
    def group() -> None: ...

    @group.command()
    def chatty() -> None:
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")

    result = CliRunner().invoke(group, ["chatty"])
    assert "Broken pipe" not in result.output
    assert result.exit_code == 1
