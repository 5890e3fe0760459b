from __future__ import annotations

import json
import shutil
import stat
import zipfile
from pathlib import Path

import pytest

from medbench_vlmeval.report import zipped
from medbench_vlmeval.report.collecting import Collected, collecting
from medbench_vlmeval.report.runs import Run

from .made_runs import SUFFIXES, boxes, changed, choices, linked, write_predictions
from .pages import page_runs


def found_in(*paths: Path) -> Collected:
    with collecting(paths) as found:
        return found


def models(found: Collected) -> list[str]:
    return sorted(run.model for run in found.runs)


def zipped_folder(folder: Path, archive: Path) -> Path:
    with zipfile.ZipFile(archive, "w") as stream:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                stream.write(path, path.relative_to(folder))
    return archive


def test_layouts_of_both_hosts_in_one_folder_and_links_once(tmp_path: Path) -> None:
    linked(choices(tmp_path, "A", [True, False]))
    flat = choices(tmp_path, "B", [True], stamp=".")
    assert flat.manifest_path.parent.name == "B"
    (tmp_path / "moved").symlink_to(tmp_path / "A", target_is_directory=True)
    found = found_in(tmp_path, tmp_path / "A", flat.manifest_path)
    assert models(found) == ["A", "B"]
    assert found.problems == ()


@pytest.mark.parametrize(
    "model",
    ["org/my model", "a@b", "with space", "päth/Ünïcode", "-dash", "100%", "a_MedQ_MCQ_test"],
)
def test_names_come_out_as_they_were_given(tmp_path: Path, model: str) -> None:
    run = choices(tmp_path, model, [True])
    assert models(found_in(tmp_path)) == [model]
    assert (run.model, run.dataset) == (model, "MedQ_MCQ_test")


def test_any_file_of_a_run_leads_to_it(tmp_path: Path) -> None:
    run = choices(tmp_path, "A", [True])
    for suffix in SUFFIXES:
        assert models(found_in(run.beside(suffix))) == ["A"]


def test_runs_in_archives_are_read_while_the_command_runs(tmp_path: Path) -> None:
    choices(tmp_path / "out", "A", [True, False])
    choices(tmp_path / "out", "org/B", [True])
    inner = tmp_path / "kept" / "runs.zip"
    inner.parent.mkdir()
    zipped_folder(tmp_path / "out", inner)
    with collecting([inner, tmp_path / "kept"]) as found:
        assert models(found) == ["A", "org/B"]
        run = next(run for run in found.runs if run.model == "A")
        assert len(run.rows) == 2
        assert run.place == f"{inner}: A/T20260101_G0"
        unpacked = run.manifest_path
        assert not [path for path in unpacked.parent.iterdir() if path.suffix == ".xlsx"]
        assert not run.predictions.exists()
    assert not unpacked.exists()


@pytest.mark.parametrize(
    "name",
    ["../out_manifest.json", "/abs_manifest.json", "a/../../b_scores.jsonl", "..\\c_acc.csv"],
)
def test_names_that_lead_out_of_an_archive_are_left_in_it(tmp_path: Path, name: str) -> None:
    archive = tmp_path / "inner" / "evil.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr(name, "{}")
    before = sorted(tmp_path.rglob("*"))
    found = found_in(archive)
    assert found.runs == ()
    assert "leads out of the archive" in found.problems[0]
    assert sorted(tmp_path.rglob("*")) == before


def test_links_in_archives_are_not_followed(tmp_path: Path) -> None:
    info = zipfile.ZipInfo("M_X_manifest.json")
    info.external_attr = (stat.S_IFLNK | 0o777) << 16
    archive = tmp_path / "links.zip"
    with zipfile.ZipFile(archive, "w") as stream:
        stream.writestr(info, "/etc/passwd")
    assert "it is a link" in found_in(archive).problems[0]


def test_absurd_sizes_are_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zipped, "LARGEST_FILE", 1 << 20)
    archive = tmp_path / "bomb.zip"
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as stream:
        stream.writestr("M_X_scores.jsonl", b"0" * (8 << 20))
    unpacked = zipped.unpack_runs(archive, tmp_path)
    assert "expected at most 1 MB a file" in unpacked.problems[0]
    assert not (tmp_path / "0" / "M_X_scores.jsonl").exists()


def test_a_damaged_archive_is_named_and_the_rest_goes_on(tmp_path: Path) -> None:
    choices(tmp_path, "A", [True])
    (tmp_path / "half.zip").write_bytes(b"PK\x03\x04 and no more")
    found = found_in(tmp_path)
    assert models(found) == ["A"]
    assert "half.zip: cannot be unpacked" in found.problems[0]


def test_a_newer_manifest_is_named_with_its_version_and_the_rest_goes_on(tmp_path: Path) -> None:
    choices(tmp_path, "A", [True])
    newer = choices(tmp_path, "B", [True])
    facts = {**newer.manifest, "schema": 99, "medbench_vlmeval": "9.0"}
    newer.manifest_path.write_text(json.dumps(facts), encoding="utf-8")
    found = found_in(tmp_path)
    assert models(found) == ["A"]
    (problem,) = found.problems
    assert "B_MedQ_MCQ_test_manifest.json" in problem
    assert "medbench-vlmeval '9.0': use that version or a newer one" in problem


@pytest.mark.parametrize(
    ("suffix", "text", "problem"),
    [
        ("_scores.jsonl", '{"index": 1}\n', "is not the file that the manifest was written for"),
        ("_acc.csv", "", "is not the file that the manifest was written for"),
        ("_score.json", None, "is not there; evaluate again"),
        ("_scores.jsonl", None, "is not there; evaluate again"),
        ("_manifest.json", "{", "cannot be read"),
        ("_manifest.json", None, "has no manifest beside it"),
    ],
)
def test_damaged_and_half_written_runs_are_named(
    tmp_path: Path, suffix: str, text: str | None, problem: str
) -> None:
    choices(tmp_path, "A", [True])
    run = choices(tmp_path, "B", [True])
    path = run.beside(suffix)
    path.unlink()
    if text is not None:
        path.write_text(text, encoding="utf-8")
    found = found_in(tmp_path)
    assert models(found) == ["A"]
    assert any(problem in it for it in found.problems)
    assert any("B_MedQ_MCQ_test" in it for it in found.problems)


@pytest.mark.parametrize("ending", ["xlsx", "tsv", "csv", "json", "jsonl", "pkl"])
def test_predictions_that_were_not_evaluated_are_named_in_any_format(
    tmp_path: Path, ending: str
) -> None:
    path = tmp_path / "M" / "T1" / f"M_MedSG_test.{ending}"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"whatever")
    (problem,) = found_in(tmp_path).problems
    assert problem.startswith("predictions, but not evaluated: ")
    assert path.name in problem
    assert "--mode eval" in problem


def test_half_an_inference_is_named_and_other_files_are_not(tmp_path: Path) -> None:
    for name in ("01_MedEBench_test.pkl", "M_MMBench.xlsx", "MedEBench_test.tsv", "notes.json"):
        (tmp_path / name).write_bytes(b"whatever")
    (tmp_path / "other_manifest.json").write_text('{"name": "an app"}')
    (problem,) = found_in(tmp_path).problems
    assert "not finished" in problem
    assert "--reuse" in problem


def test_predictions_in_an_archive_without_evaluation_are_named(tmp_path: Path) -> None:
    write_predictions(tmp_path / "M_MedSG_test.jsonl", {1: "[0, 0, 1, 1]"})
    archive = zipped_folder(tmp_path, tmp_path.parent / f"{tmp_path.name}.zip")
    (problem,) = found_in(archive).problems
    assert str(archive) in problem
    assert "not evaluated: M_MedSG_test.jsonl" in problem


def test_evaluated_predictions_are_not_reported(tmp_path: Path) -> None:
    boxes(tmp_path, "A", [0.0, 10.0])
    choices(tmp_path, "org/B", [True])
    assert found_in(tmp_path).problems == ()


def test_a_moved_run_is_found_where_it_lies_now(tmp_path: Path) -> None:
    run = choices(tmp_path / "there", "A", [True])
    shutil.move(run.manifest_path.parent, tmp_path / "here")
    with collecting([tmp_path / "here"]) as found:
        assert [run.place for run in found.runs] == [str(tmp_path / "here")]


def test_a_manifest_without_a_data_set_is_named(tmp_path: Path) -> None:
    run: Run = changed(choices(tmp_path, "A", [True]), data={"name": ""})
    assert "names no data set" in found_in(run.manifest_path.parent).problems[0]


def test_an_empty_folder_holds_nothing(tmp_path: Path) -> None:
    found = found_in(tmp_path)
    assert (found.runs, found.problems) == ((), ())


def test_edited_images_and_judge_replies_are_unpacked_for_pages_alone(tmp_path: Path) -> None:
    page_runs.edits(tmp_path / "runs" / "a", "A", n=2)
    archive = zipped_folder(tmp_path / "runs", tmp_path / "runs.zip")
    for whole in (False, True):
        with collecting([archive], whole=whole) as found:
            (run,) = found.runs
            assert found.is_unpacked(run)
            assert run.beside("_images").is_dir() is whole
            assert run.beside("_judge.jsonl").is_file() is whole
            assert found.problems == ()


@pytest.mark.parametrize("name", ["../M_X_images/a.png", "/M_X_images/a.png", "a/../_images/a.png"])
def test_no_image_leads_out_of_an_archive(tmp_path: Path, name: str) -> None:
    with zipfile.ZipFile(tmp_path / "evil.zip", "w") as stream:
        stream.writestr(name, b"image")
        stream.writestr("a/_images/b/_images/c.png", b"image")
    (tmp_path / "target").mkdir()
    found = zipped.unpack_runs(tmp_path / "evil.zip", tmp_path / "target", whole=True)
    assert "leads out of the archive" in found.problems[0]
    assert [path.name for path in tmp_path.rglob("*.png")] == ["c.png"]
    assert next(tmp_path.rglob("c.png")).is_relative_to(tmp_path / "target")
