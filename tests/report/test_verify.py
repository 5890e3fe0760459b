from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.conventions import convention_for
from medbench_vlmeval.evaluation.medq_perception import evaluate_medq_perception
from medbench_vlmeval.evaluation.medsg import evaluate_medsg
from medbench_vlmeval.files import sha256_bytes
from medbench_vlmeval.report.runs import Run, RunUnreadable, runs_below
from medbench_vlmeval.report.verify import verify_run

from ..evaluation.medq_questions import benchmark as medq_benchmark
from ..evaluation.medq_questions import question
from ..evaluation.test_medsg import benchmark as medsg_benchmark
from ..evaluation.test_medsg import sample
from .pages.page_runs import write_run


def write(path: Path, replies: dict[int, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    rows = [{"index": str(index), "prediction": reply} for index, reply in replies.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def choices(folder: Path, replies: dict[int, Any], model: str = "M") -> Run:
    data = medq_benchmark(
        folder,
        question(1, level="mild"),
        question(2, modality="MRI", case="1"),
        question(3, question_type="How"),
        question(4, answer=None),
    )
    path = write(folder / f"{model}_MedQ_MCQ_test.jsonl", replies)
    evaluate_medq_perception(path, data)
    return Run.at(path)


def boxes(folder: Path) -> Run:
    data = medsg_benchmark(sample(1), sample(2, task="patch"), root=folder)
    path = write(folder / "M_MedSG_test.jsonl", {1: "[100, 100, 200, 200]", 2: "no idea"})
    evaluate_medsg(path, data, convention=convention_for("", explicit="absolute"))
    return Run.at(path)


@pytest.mark.parametrize(
    "made", [lambda folder: choices(folder, {1: "B", 2: "A", 3: None}), boxes], ids=["mcq", "boxes"]
)
def test_a_run_as_it_was_written_holds(made: Callable[[Path], Run], tmp_path: Path) -> None:
    found = verify_run(made(tmp_path))
    assert found.holds, found.lines()
    assert found.n_numbers > 50
    assert found.lines() == [
        f"{found.run.stem}: {found.n_rows} rows, {found.n_numbers} numbers recomputed, "
        "all as written"
    ]


def test_a_tampered_score_is_caught_in_every_table_that_it_enters(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "A", 2: "A", 3: "B"})
    path = run.beside("_scores.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    first = json.loads(lines[0])
    first["scores"]["accuracy"]["value"] = 1.0
    path.write_text("\n".join([json.dumps(first), *lines[1:]]) + "\n", encoding="utf-8")
    problems = verify_run(Run.at(path)).problems
    assert any("other SHA-256" in it for it in problems)
    assert any(it.startswith("accuracy value: written 0.33") for it in problems)
    assert any("accuracy, level mild value" in it for it in problems)
    assert not any("modality MRI" in it for it in problems)


@pytest.mark.parametrize(
    ("suffix", "old", "new", "problem"),
    [
        ("_score.json", '"accuracy": 0.6666', '"accuracy": 0.7666', "accuracy: 0.7666"),
        (
            "_acc.csv",
            "modality,CT,accuracy,official,0.5,",
            "modality,CT,accuracy,official,0.6,",
            "accuracy, modality CT value: written 0.6, recomputed 0.5",
        ),
        ("_acc.csv", "modality,CT,", "modality,PET,", "modality PET: in the table, but not among"),
        (".jsonl", '"A"', '"C"', "M_MedQ_MCQ_test.jsonl: is not the file"),
    ],
)
def test_a_changed_file_is_named(
    tmp_path: Path, suffix: str, old: str, new: str, problem: str
) -> None:
    run = choices(tmp_path, {1: "A", 2: "B", 3: "B"})
    path = run.beside(suffix)
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    assert any(problem in it for it in verify_run(Run.at(run.manifest_path)).problems)


def test_rows_that_are_gone_or_twice_there_are_named(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "A", 2: "B", 3: "B"})
    path = run.beside("_scores.jsonl")
    lines = path.read_text(encoding="utf-8").splitlines()
    path.write_text("\n".join([lines[0], *lines[:2]]) + "\n", encoding="utf-8")
    problems = verify_run(Run.at(path)).problems
    assert any("expected 4 rows" in it for it in problems)
    assert any("same index" in it for it in problems)


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "A"})
    run.predictions.unlink()
    assert "M_MedQ_MCQ_test.jsonl: is not there" in verify_run(run).problems


def test_an_edited_image_that_was_changed_or_is_gone_is_named(tmp_path: Path) -> None:
    run = edits_with_images(tmp_path)
    assert verify_run(run).holds
    first, second, _ = sorted(run.beside("_images").iterdir())
    first.write_bytes(first.read_bytes() + b" ")
    second.unlink()
    assert set(verify_run(run).problems) == {
        f"M_MedEBench_test_images/{first.name}: is not the image that was scored (other SHA-256)",
        f"M_MedEBench_test_images/{second.name}: is not there",
    }


def edits_with_images(folder: Path) -> Run:
    """Two edits, the second of two seeds, under the hashes of their files."""
    files = [f"{sha256_bytes(data)}.png" for data in (b"a", b"b", b"c")]
    images = folder / "M_MedEBench_test_images"
    images.mkdir(parents=True)
    for name, data in zip(files, (b"a", b"b", b"c"), strict=True):
        (images / name).write_bytes(data)
    edited = {"status": "answer", "file": files[0], "sha256": files[0].removesuffix(".png")}
    rows = [
        {"index": 1, "cluster": "1", "groups": {}, "edited": edited, "scores": {}},
        {
            "index": 2,
            "cluster": "2",
            "groups": {},
            "edited": {"status": "answer", "file": files[1]},
            "replicas": [{"file": files[1]}, {"file": files[2]}],
            "scores": {},
        },
        {"index": 3, "cluster": "3", "groups": {}, "edited": {"file": None}, "scores": {}},
    ]
    data = {"name": "MedEBench_test", "n_expected": 3}
    return write_run(folder, "M", "MedEBench_test", (), rows, None, data=data)


def test_what_a_file_says_cannot_act_on_the_terminal(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "A"})
    path = run.beside("_acc.csv")
    text = path.read_text(encoding="utf-8")
    path.write_text(text.replace("modality,CT,", "modality,\x1b[2JCT,"), encoding="utf-8")
    told = "\n".join(verify_run(Run.at(path)).lines())
    assert "\x1b" not in told
    assert "<U+001B>[2JCT" in told


@pytest.mark.parametrize("text", ["nan", "many", "inf"])
def test_a_number_that_is_none_is_an_error_that_names_it(tmp_path: Path, text: str) -> None:
    run = choices(tmp_path, {1: "A", 2: "B", 3: "B"})
    path = run.beside("_acc.csv")
    table = path.read_text(encoding="utf-8")
    assert "CT,accuracy,official,0.5," in table
    path.write_text(table.replace("accuracy,official,0.5,", f"accuracy,official,{text},"))
    with pytest.raises(RunUnreadable, match=f"number as value of 'accuracy'.* got '{text}'"):
        verify_run(Run.at(path))


def test_a_run_is_found_by_any_of_its_files_and_by_its_folder(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "A"})
    for name in ("", "_scores.jsonl", "_acc.csv", "_manifest.json", ".jsonl"):
        path = tmp_path / f"M_MedQ_MCQ_test{name}" if name else tmp_path
        assert Run.at(path).manifest_path.resolve() == run.manifest_path.resolve()
    assert (run.model, run.dataset) == ("M", "MedQ_MCQ_test")
    (tmp_path / "link").symlink_to(tmp_path, target_is_directory=True)
    assert len(list(runs_below([tmp_path]))) == 1


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("no json", "cannot be read"),
        ("[]", "JSON object"),
        ('{"schema": 1, "data": null}', "one as its data"),
        ('{"schema": 99, "medbench_vlmeval": "9.0"}', "medbench-vlmeval '9.0'"),
        ("{}", "schema up to"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_named(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "M_X_manifest.json").write_text(text, encoding="utf-8")
    with pytest.raises(RunUnreadable, match=problem):
        Run.at(tmp_path / "M_X_manifest.json")


def test_a_folder_without_a_run_or_with_several_is_no_run(tmp_path: Path) -> None:
    with pytest.raises(RunUnreadable, match="found 0"):
        Run.at(tmp_path)
    choices(tmp_path / "a", {1: "A"})
    choices(tmp_path / "b", {1: "A"})
    with pytest.raises(RunUnreadable, match="found 2"):
        Run.at(tmp_path)
    with pytest.raises(RunUnreadable, match=r"expected a file or folder of a finished run$"):
        Run.at(tmp_path / "nothing.xlsx")
    (tmp_path / "runs.zip").touch()
    with pytest.raises(RunUnreadable, match="unpack it first"):
        Run.at(tmp_path / "runs.zip")
