from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.evaluation.finished_runs import finished_runs, runs_table
from medbench_vlmeval.evaluation.medebench import evaluate_medebench

from ..data.releases import picture
from .conftest import Predict

MakeData = Callable[..., MedEBenchData]


def test_runs_are_found_below_a_folder_and_links_are_not_counted(
    make_data: MakeData, predict: Predict, tmp_path: Path
) -> None:
    data = make_data(2)
    paths = [predict({1: picture(1)}, model=model) for model in ("B", "A")]
    evaluate_medebench(paths, data)
    summary = paths[0].with_name("B_MedEBench_test_score.json")
    (tmp_path / "run" / "B_MedEBench_test_score.json").symlink_to(summary)
    runs = finished_runs([tmp_path / "run"])
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
    with pytest.raises(ValueError, match=r"M_MedEBench_test_score\.json: not JSON"):
        finished_runs([tmp_path])


def test_an_empty_folder_has_no_runs(tmp_path: Path) -> None:
    assert finished_runs([tmp_path]) == []
