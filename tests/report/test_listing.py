from __future__ import annotations

import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.evaluation.medebench import evaluate_medebench
from medbench_vlmeval.evaluation.options import EvaluationOptions
from medbench_vlmeval.report.collecting import collecting
from medbench_vlmeval.report.listing import FinishedRun, finished_runs, runs_table
from medbench_vlmeval.report.runs import Run, RunUnreadable

from ..data.releases import picture
from ..evaluation.conftest import Predict, lmu, make_data, predict, store
from .made_runs import choices

__all__ = ["lmu", "make_data", "predict", "store"]

MakeData = Callable[..., MedEBenchData]


def listed(folder: Path) -> list[FinishedRun]:
    with collecting([folder]) as found:
        return finished_runs(found.runs)


def test_runs_are_found_below_a_folder_and_links_are_not_counted(
    make_data: MakeData, predict: Predict, tmp_path: Path
) -> None:
    data = make_data(2)
    paths = [predict({1: picture(1)}, model=model) for model in ("B", "A")]
    evaluate_medebench(paths, data)
    for suffix in ("_score.json", "_manifest.json", "_scores.jsonl"):
        path = paths[0].with_name(f"B_MedEBench_test{suffix}")
        (tmp_path / "run" / path.name).symlink_to(path)
    runs = listed(tmp_path / "run")
    assert [(run.model, run.dataset) for run in runs] == [
        ("A", "MedEBench_test"),
        ("B", "MedEBench_test"),
    ]
    table = runs_table(runs)
    assert "CP 1, CP strict 2" in " ".join(table.split())
    assert "not judged" in table
    assert str(paths[0].parent) in table


def test_a_damaged_summary_is_named(make_data: MakeData, predict: Predict, tmp_path: Path) -> None:
    path = predict({1: picture(1)})
    evaluate_medebench([path], make_data(1))
    path.with_name("M_MedEBench_test_score.json").write_text("{")
    with pytest.raises(RunUnreadable, match=r"M_MedEBench_test_score\.json: cannot be read"):
        finished_runs([Run.at(path)])
    with collecting([tmp_path]) as found:
        assert found.runs == ()
        assert any("M_MedEBench_test_score.json is not the file" in it for it in found.problems)


def test_an_empty_folder_has_no_runs(tmp_path: Path) -> None:
    assert listed(tmp_path) == []


def test_an_evaluation_records_its_track(make_data: MakeData, predict: Predict) -> None:
    data, path = make_data(1), predict({1: picture(1)})
    for options in (EvaluationOptions(), EvaluationOptions(track="rewrite")):
        evaluate_medebench([path], data, options=options)
        assert Run.at(path).manifest["track"] == options.track
    with pytest.raises(ValueError, match="medbench_track"):
        EvaluationOptions.from_host({"medbench_track": "other"})


def test_runs_in_an_archive_are_listed_by_the_archive(tmp_path: Path) -> None:
    run = choices(tmp_path / "runs", "A", [True])
    archive = tmp_path / "kept" / "a.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as stream:
        for path in run.manifest_path.parent.iterdir():
            stream.write(path, f"A/{path.name}")
    assert runs_table(listed(archive.parent)).endswith(f"A: {archive}: A")
    assert listed(tmp_path / "runs")[0].place == str(run.manifest_path.parent)


def test_a_run_that_is_not_complete_says_why(tmp_path: Path) -> None:
    choices(tmp_path, "A", [True], complete=False, judge_note="the judge \x1b[31mstopped")
    assert runs_table(listed(tmp_path)).endswith("(not complete: the judge <U+001B>[31mstopped)")
