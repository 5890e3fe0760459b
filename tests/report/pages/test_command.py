from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main

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
