from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main

from .report.made_runs import boxes, changed, choices, linked, write_predictions

HITS = [True, False, True, True, False, True, True, False]


def medbench(*arguments: object) -> Result:
    return CliRunner().invoke(main, list(map(str, arguments)))


def board_of(folder: Path, name: str = "MedQ_MCQ_test") -> dict[str, object]:
    facts: dict[str, object] = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    return facts


def measured(folder: Path) -> list[str]:
    rows = board_of(folder)["rows"]
    assert isinstance(rows, list)
    return sorted(row["name"] for row in rows if row["kind"] == "measured")


def test_a_board_a_data_set_is_written_and_summarised(tmp_path: Path) -> None:
    runs, out = tmp_path / "outputs", tmp_path / "board"
    linked(choices(runs, "gpt-5", HITS))
    choices(runs, "org/my model", HITS[::-1])
    choices(runs, "half", HITS, complete=False)
    boxes(runs, "Qwen2.5-VL-7B-Instruct", [0.0, 9.0])
    write_predictions(runs / "late_MedSG_test.jsonl", {1: "x"})
    result = medbench("leaderboard", runs, "--out", out)
    assert result.exit_code == 0, result.output
    text = " ".join(result.output.split())
    assert "predictions, but not evaluated: " in text
    assert "org/my model" in text
    assert "left out: half (" in text
    assert "the judge stopped before the end" in text
    assert "published, but not to be held against these runs: medq-perception (1)" in text
    page = (out / "MedQ_MCQ_test.md").read_text(encoding="utf-8")
    assert "medq-perception: gpt-5 as GPT-5: no figure can be held against it" in page
    assert f"written: {out / 'MedSG_test.md'}" in result.output
    assert measured(out) == ["gpt-5", "org/my model"]


def test_one_data_set_some_formats_and_no_published_rows(tmp_path: Path) -> None:
    choices(tmp_path / "runs", "A", HITS)
    boxes(tmp_path / "runs", "A", [0.0])
    out = tmp_path / "board"
    options = ("--dataset", "MedQ_MCQ_test", "--format", "json, md", "--no-published")
    result = medbench("leaderboard", tmp_path / "runs", "--out", out, *options)
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in out.iterdir()) == [
        "MedQ_MCQ_test.json", "MedQ_MCQ_test.md",
    ]  # fmt: skip
    assert "published" not in result.output


def test_like_and_least_coverage_choose_the_runs(tmp_path: Path) -> None:
    runs, out = tmp_path / "runs", tmp_path / "board"
    choices(runs, "A", HITS)
    choices(runs, "B", [*HITS[:-2], None, None])
    part = choices(runs, "Part", HITS, expected=[1, 2])
    assert medbench("leaderboard", runs, "--out", out).exit_code == 0
    assert measured(out) == ["A"]
    assert medbench("leaderboard", runs, "--out", out, "--least-coverage", "0.7").exit_code == 0
    assert measured(out) == ["A", "B"]
    like = part.beside("_scores.jsonl")
    assert medbench("leaderboard", runs, "--out", out, "--like", like).exit_code == 0
    assert measured(out) == ["Part"]


def test_like_must_be_of_a_data_set_that_has_a_board(tmp_path: Path) -> None:
    choices(tmp_path / "runs", "A", HITS)
    other = boxes(tmp_path / "other", "A", [0.0])
    arguments = ("leaderboard", tmp_path / "runs", "--out", tmp_path / "board")
    result = medbench(*arguments, "--like", other.manifest_path)
    assert result.exit_code == 1
    assert "expected --like a run of MedQ_MCQ_test, got one of MedSG_test" in result.output


def test_two_names_of_one_model(tmp_path: Path) -> None:
    choices(tmp_path / "runs", "mine", HITS)
    boxes(tmp_path / "runs", "mine", [0.0, 9.0])
    arguments = ("leaderboard", tmp_path / "runs", "--out", tmp_path / "board")
    result = medbench(*arguments, "--same", "mine=Grok-4")
    assert result.exit_code == 0
    page = (tmp_path / "board" / "MedQ_MCQ_test.md").read_text(encoding="utf-8")
    assert "medq-perception: mine as Grok-4" in page
    unknown = medbench(*arguments, "--same", "other=Grok-4")
    assert (unknown.exit_code, "measured: mine" in unknown.output) == (1, True)
    assert medbench(*arguments, "--same", "mine").exit_code == 2
    wrong = medbench(*arguments, "--same", "mine=Grok-40")
    assert (wrong.exit_code, "GPT-5" in wrong.output) == (1, True)


def test_archives_and_folders_are_one_collection(tmp_path: Path) -> None:
    run = choices(tmp_path / "runs", "A", HITS)
    choices(tmp_path / "more", "B", HITS)
    archive = tmp_path / "a.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        for path in run.manifest_path.parent.iterdir():
            stream.write(path, f"A/{path.name}")
    result = medbench("leaderboard", archive, tmp_path / "more", "--out", tmp_path / "board")
    assert result.exit_code == 0, result.output
    assert measured(tmp_path / "board") == ["A", "B"]


def test_a_newer_run_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    choices(tmp_path / "runs", "A", HITS)
    changed(choices(tmp_path / "runs", "B", HITS), medbench_vlmeval="9.0")
    path = next((tmp_path / "runs" / "B").rglob("*_manifest.json"))
    facts = {**json.loads(path.read_text(encoding="utf-8")), "schema": 2}
    path.write_text(json.dumps(facts), encoding="utf-8")
    result = medbench("leaderboard", tmp_path / "runs", "--out", tmp_path / "board")
    assert result.exit_code == 0
    assert "written by medbench-vlmeval '9.0'" in result.output
    assert measured(tmp_path / "board") == ["A"]


@pytest.mark.parametrize(
    "manifest",
    [
        {"replies": {"missing": "many"}},
        {"metrics": [{"label": "no name"}]},
        {"metrics": {"a": 1}},
        {"asked": ["host"]},
        {"judge": {"models_returned": 3}},
        {"data": {"n_expected": "all"}},
        {"trivial_answers": {"whole image": 0.5}},
        {"data": ["MedQ_MCQ_test"]},
    ],
    ids=lambda it: next(iter(it)),
)
def test_a_manifest_of_another_form_is_named_and_the_rest_goes_on(
    tmp_path: Path, manifest: dict[str, object]
) -> None:
    choices(tmp_path / "runs", "A", HITS)
    odd = choices(tmp_path / "runs", "Odd", HITS)
    odd.manifest_path.write_text(json.dumps({**odd.manifest, **manifest}), encoding="utf-8")
    result = medbench("leaderboard", tmp_path / "runs", "--out", tmp_path / "board")
    assert result.exit_code == 0, result.output
    assert "Odd_MedQ_MCQ_test_manifest.json" in result.output
    assert measured(tmp_path / "board") == ["A"]


@pytest.mark.parametrize(
    ("made", "words"),
    [
        (lambda folder: None, "no run for a board"),
        (lambda folder: choices(folder, "A", HITS, complete=False), "no run can stand on a board"),
        (
            lambda folder: write_predictions(folder / "M_MedSG_test.jsonl", {1: "x"}),
            "not evaluated",
        ),
    ],
    ids=["empty", "incomplete", "not evaluated"],
)
def test_nothing_to_show_is_an_error_that_says_why(
    tmp_path: Path, made: Callable[[Path], object], words: str
) -> None:
    made(tmp_path)
    result = medbench("leaderboard", tmp_path, "--out", tmp_path / "board")
    assert result.exit_code == 1
    assert words in result.output
    assert "Traceback" not in result.output
    assert not (tmp_path / "board").exists()


def test_an_unknown_data_set_or_format_is_one_line(tmp_path: Path) -> None:
    choices(tmp_path / "runs", "A", HITS)
    arguments = ("leaderboard", tmp_path / "runs", "--out", tmp_path / "board")
    result = medbench(*arguments, "--dataset", "MedSG_test")
    assert (result.exit_code, "(MedQ_MCQ_test), got MedSG_test" in result.output) == (1, True)
    result = medbench(*arguments, "--format", "pdf")
    assert (result.exit_code, "got 'pdf'" in result.output) == (1, True)
