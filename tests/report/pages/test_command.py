from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main

from ..test_collecting import zipped_folder
from . import page_runs


@pytest.fixture(autouse=True)
def no_plots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("medbench_vlmeval.report.pages.page.plots_of", lambda runs: ())


def report(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["report", *map(str, arguments)])


def test_a_page_lies_beside_its_run_and_the_command_says_what_is_in_it(tmp_path: Path) -> None:
    page_runs.edits(tmp_path / "outputs", "Blue")
    result = report(tmp_path / "outputs")
    page = tmp_path / "outputs" / "Blue_MedEBench_test_report.html"
    assert (result.exit_code, page.is_file()) == (0, True)
    # one edit was refused, one sample lost its mask, one seed of another gave nothing
    assert f"{page}: 6 samples, 23 images" in result.output
    assert "3 images are missing" in result.output


def test_a_page_below_the_working_folder_is_named_from_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page_runs.boxes(tmp_path / "outputs", "P")
    monkeypatch.chdir(tmp_path)
    assert report("outputs").output.startswith("outputs/P_MedSG_test_report.html: 2 samples")


def test_several_runs_are_compared_once_each(tmp_path: Path) -> None:
    a, b = (page_runs.edits(tmp_path / name, name, n=2) for name in "ab")
    result = report(a.predictions, tmp_path / "a", b.manifest_path, "--out", tmp_path / "c.html")
    assert result.exit_code == 0, result.output
    data = page_runs.page_data((tmp_path / "c.html").read_text(encoding="utf-8"))
    assert data["runs"] == ["a", "b"]


def test_a_bundle_alone_writes_no_other_page(tmp_path: Path) -> None:
    page_runs.boxes(tmp_path / "run")
    result = report(tmp_path / "run", "--bundle", tmp_path / "b.zip")
    assert (result.exit_code, (tmp_path / "b.zip").is_file()) == (0, True)
    assert list(tmp_path.rglob("*.html")) == []


@pytest.mark.parametrize("kind", ["empty", "mixed"])
def test_what_cannot_be_one_page_is_an_error_in_one_line(kind: str, tmp_path: Path) -> None:
    if kind == "mixed":
        page_runs.boxes(tmp_path / "boxes")
        page_runs.choices(tmp_path / "choices")
    result = report(tmp_path)
    said = {"empty": "no finished run", "mixed": "expected runs of one data set"}[kind]
    assert (result.exit_code, said in result.output) == (1, True)
    assert "Traceback" not in result.output


def test_runs_in_an_archive_are_shown_in_a_bundle_with_their_edited_images(tmp_path: Path) -> None:
    page_runs.edits(tmp_path / "runs", "Blue", n=2)
    archive = zipped_folder(tmp_path / "runs", tmp_path / "runs.zip")
    result = report(archive, "--bundle", tmp_path / "b")
    assert result.exit_code == 0, result.output
    page = (tmp_path / "b" / "index.html").read_text(encoding="utf-8")
    edited = [it["runs"][0]["edited"] for it in page_runs.page_data(page)["samples"]]
    assert all((tmp_path / "b" / it["src"]).is_file() for it in edited)
    assert "medbench-runs-" not in page


@pytest.mark.parametrize("out", [(), ("--out", "x.html"), ("--out", "x.html", "--bundle", "b")])
def test_a_page_that_would_outlive_its_images_is_refused(
    out: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    page_runs.boxes(tmp_path / "runs")
    archive = zipped_folder(tmp_path / "runs", tmp_path / "runs.zip")
    result = report(archive, *out)
    assert (result.exit_code, "unpack it, or give --bundle" in result.output) == (1, True)
    assert list(tmp_path.glob("*.html")) == []


def test_one_data_set_of_several_is_chosen(tmp_path: Path) -> None:
    page_runs.boxes(tmp_path / "boxes")
    page_runs.choices(tmp_path / "choices")
    assert "(--dataset)" in report(tmp_path).output
    result = report(tmp_path, "--dataset", "MedSG_test", "--out", tmp_path / "x.html")
    assert result.exit_code == 0, result.output
    result = report(tmp_path, "--dataset", "Other")
    assert result.exit_code == 1
    assert "no finished run of Other" in result.output
    assert "there are runs of MedQ_MCQ_test, MedSG_test" in result.output


def test_what_cannot_be_shown_is_named_and_the_rest_is_written(tmp_path: Path) -> None:
    page_runs.boxes(tmp_path / "whole")
    changed = page_runs.boxes(tmp_path / "changed").beside("_scores.jsonl")
    changed.write_text(changed.read_text(encoding="utf-8") + " \n", encoding="utf-8")
    page_runs.boxes(tmp_path / "half").beside("_scores.jsonl").unlink()
    result = report(tmp_path, "--out", tmp_path / "x.html")
    assert result.exit_code == 0, result.output
    assert "is not the file that the manifest was written for" in result.output
    assert "_scores.jsonl is not there; evaluate again" in result.output
