"""Several images of one edit, from several seeds: in the outputs and in the scores."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.editing import EditsLost, EditStore, edited_image_line, with_replicas
from medbench_vlmeval.evaluation import edit_scoring, edited_rows
from medbench_vlmeval.evaluation.medebench import MedEBenchResult, evaluate_medebench
from medbench_vlmeval.evaluation.medebench_metrics import METRICS, SEED_METRICS
from medbench_vlmeval.evaluation.options import EvaluationOptions
from medbench_vlmeval.evaluation.pictures import predictions_from_folder
from medbench_vlmeval.evaluation.report_text import shown_result
from medbench_vlmeval.evaluation.seeds import SeedScores, seed_spread
from medbench_vlmeval.files import read_jsonl
from medbench_vlmeval.judging import JudgeSettings
from medbench_vlmeval.types import Score, Status, Summary

from ..data.releases import picture
from ..judging.server import Answer, JudgeServer
from .conftest import Predict

MakeData = Callable[..., MedEBenchData]
Line = Callable[..., str]


@pytest.fixture
def line(store: EditStore) -> Line:
    """A prediction of several images; None stands for a seed that gave no image."""

    def make(*images: bytes | None) -> str:
        lines = [
            None
            if data is None
            else edited_image_line(store.add(data), size_wh=(40, 30), seed=100 + number)
            for number, data in enumerate(images)
        ]
        first, *others = lines
        assert first is not None
        return with_replicas(first, others) if others else first

    return make


def evaluate(path: Path, data: MedEBenchData, **options: Any) -> MedEBenchResult:
    return evaluate_medebench([path], data, **options)[0]


def records(result: MedEBenchResult) -> list[dict[str, Any]]:
    return read_jsonl(result.files.scores)[0]


def manifest(result: MedEBenchResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.files.manifest.read_text(encoding="utf-8"))
    return found


def overall(result: MedEBenchResult, metric: str) -> Summary:
    return next(s for s in result.summaries if s.metric == metric and s.group_by == "overall")


def index_of(result: MedEBenchResult) -> list[dict[str, str]]:
    folder = result.files.beside("_images")
    with (folder / "index.csv").open(newline="", encoding="utf-8") as stream:
        return list(csv.DictReader(stream))


def test_the_first_image_scores_bit_for_bit_as_if_it_were_alone(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    data = make_data(3)
    alone = {number: line(picture(70 + number)) for number in (1, 2, 3)}
    several = {
        number: line(picture(70 + number), picture(80 + number), None, picture(90 + number))
        for number in (1, 2, 3)
    }
    one = evaluate(predict(alone, model="One"), data)
    many = evaluate(predict(several, model="Many"), data)
    assert {name: many.flat[name] for name in one.flat} == one.flat
    assert set(many.flat) - set(one.flat) == {
        f"{metric.name}{suffix}"
        for metric in SEED_METRICS
        for suffix in ("", "_low", "_high", "_n")
    }
    for first, second in zip(one.rows, many.rows, strict=True):
        assert {name: second.scores[name] for name in first.scores} == first.scores
    kept = {s.metric: s for s in many.summaries if s.group_by == "task"}
    assert all(kept[s.metric] == s for s in one.summaries if s.group_by == "task")


def test_a_run_of_single_images_has_no_trace_of_seeds(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    result = evaluate(predict({1: line(picture(1)), 2: "no"}), make_data(2))
    assert result.metrics == METRICS
    assert not [name for name in result.flat if "seed" in name]
    assert not any("replicas" in record for record in records(result))
    assert [metric["name"] for metric in manifest(result)["metrics"]] == [m.name for m in METRICS]
    assert "seed sd" not in shown_result(result, "T")


def test_the_spread_is_that_of_the_images_scored_one_by_one(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    data = make_data(2)
    pictures = {1: [picture(n) for n in (11, 12, 13)], 2: [picture(n) for n in (21, 22)]}
    result = evaluate(predict({n: line(*images) for n, images in pictures.items()}), data)
    singly: dict[int, dict[str, list[float]]] = {}
    for number, images in pictures.items():
        for place, image in enumerate(images):
            alone = evaluate(predict({number: image}, model=f"S{place}"), data)
            row = next(row for row in alone.rows if row.sample.id == number)
            for column in ("CP", "CP_strict"):
                value = row.scores[column].value
                assert value is not None
                singly.setdefault(number, {}).setdefault(column, []).append(value)
    for column in ("CP", "CP_strict"):
        expected = [np.std(singly[number][column], ddof=1) for number in (1, 2)]
        found = [row.scores[f"{column}_seed_sd"].value for row in result.rows]
        assert found == pytest.approx(expected, abs=1e-15)
        assert result.flat[f"{column}_seed_sd"] == pytest.approx(np.mean(expected), abs=1e-15)
        written = [
            [replica[column] for replica in record["replicas"]] for record in records(result)
        ]
        assert written == [singly[1][column], singly[2][column]]


def test_each_image_is_in_the_rows_and_beside_the_predictions(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    result = evaluate(predict({1: line(picture(1), None, picture(3))}), make_data(1))
    (record,) = records(result)
    assert [it["replica"] for it in record["replicas"]] == [0, 1, 2]
    assert [it["seed"] for it in record["replicas"]] == [100, None, 102]
    first, absent, last = record["replicas"]
    assert first["file"] == record["edited"]["file"]
    assert first["CP"] == record["scores"]["CP"]["value"]
    assert (absent["file"], absent["CP"], absent["CP_strict"]) == (None, None, None)
    folder = result.files.beside("_images")
    assert (folder / first["file"]).read_bytes() == picture(1)
    assert (folder / last["file"]).read_bytes() == picture(3)
    listed = [(it["id"], it["replica"], it["file"], it["seed"]) for it in index_of(result)]
    assert listed == [("1", "0", first["file"], "100"), ("1", "2", last["file"], "102")]
    assert manifest(result)["images_per_sample"] == {"3": 1}


def test_samples_with_fewer_than_two_images_are_left_out_of_the_spread(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    data = make_data(5, images={5: {"roi": None}})
    result = evaluate(
        predict(
            {
                1: line(picture(1), picture(2)),
                2: line(picture(1), None),
                3: line(picture(1)),
                4: "I'm sorry, but I can't help with analyzing medical images.",
                5: line(picture(1), picture(2)),
            }
        ),
        data,
    )
    found = {row.sample.id: row.scores["CP_seed_sd"] for row in result.rows}
    assert found[1].value is not None
    assert (found[2].status, found[2].model_fault) == (Status.MISSING, True)
    assert "needs two" in found[3].note
    assert found[4].status is Status.REFUSAL
    assert (found[5].status, found[5].model_fault) == (Status.DATA_ERROR, False)
    summary = overall(result, "CP_seed_sd")
    assert (summary.n_expected, summary.n_answered, summary.n_scored) == (5, 2, 1)
    assert "CP strict seed sd" in shown_result(result, "T")


def test_equal_images_do_not_differ_at_all(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    result = evaluate(predict({1: line(*[picture(5)] * 3)}), make_data(1))
    assert result.flat["CP_seed_sd"] == result.flat["CP_strict_seed_sd"] == 0.0


def test_without_a_reference_the_official_spread_is_open_as_the_official_value_is(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    data = make_data(1, images={1: {"reference": None}})
    scores = evaluate(predict({1: line(picture(1), picture(2))}), data).rows[0].scores
    assert scores["CP_seed_sd"].status is Status.DATA_ERROR
    assert scores["CP_strict_seed_sd"].value is not None


def test_a_broken_further_image_is_no_value(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    broken = picture(2)[:150]
    result = evaluate(predict({1: line(picture(1), broken, picture(3))}), make_data(1))
    values = [it["CP"] for it in records(result)[0]["replicas"]]
    assert [value is None for value in values] == [False, True, False]
    assert result.rows[0].scores["CP_seed_sd"].value == pytest.approx(
        np.std([values[0], values[2]], ddof=1), abs=1e-15
    )


def test_an_input_is_decoded_once_for_all_runs_and_seeds(
    make_data: MakeData, predict: Predict, line: Line, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: list[Any] = []
    original = edit_scoring._prepare

    def counting(task: edit_scoring.EditTask) -> Any:
        prepared.append(task)
        return original(task)

    monkeypatch.setattr(edit_scoring, "_prepare", counting)
    data = make_data(2)
    one = predict({n: line(picture(n), picture(n + 10)) for n in (1, 2)}, model="One")
    two = predict({1: line(picture(31), picture(32), picture(33)), 2: "no"}, model="Two")
    options = EvaluationOptions(scoring_backend="serial")
    first, second = evaluate_medebench([one, two], data, options=options)
    assert [len(task.edited) for task in prepared] == [5, 3]
    assert [len(row.seeds) for row in (*first.rows, *second.rows)] == [2, 2, 3, 0]


def test_workers_give_the_same(make_data: MakeData, predict: Predict, line: Line) -> None:
    data = make_data(2)
    path = predict({n: line(picture(n), picture(n + 10)) for n in (1, 2)})
    serial = evaluate(path, data, options=EvaluationOptions(scoring_backend="serial"))
    options = EvaluationOptions(scoring_backend="loky", scoring_jobs=2)
    assert evaluate(path, data, options=options).rows == serial.rows


def test_a_further_image_that_is_gone_stops_the_evaluation(
    make_data: MakeData, predict: Predict, line: Line, store: EditStore
) -> None:
    data = make_data(2)
    path = predict({1: line(picture(1), picture(2)), 2: line(picture(3), picture(4))})
    gone = store.add(picture(4))
    store.path(gone).unlink()
    with pytest.raises(EditsLost, match=r"1 of 2 edited images .*samples 2.*repair"):
        evaluate(path, data)
    result = evaluate(path, data, options=EvaluationOptions(lost_images="missing"))
    assert result.flat["n_answered"] == 2
    assert result.rows[1].scores["CP_seed_sd"].value is None
    assert "1 of 1 further images are gone" in records(result)[1]["edited"]["note"]


def test_further_images_are_not_judged(make_data: MakeData, predict: Predict, line: Line) -> None:
    data = make_data(2)
    path = predict({n: line(picture(n), picture(n + 10)) for n in (1, 2)})
    reply = "- Editing Accuracy: 8/10\n- Contextual Preservation: 9/10\n- Visual Quality: 7/10"
    with JudgeServer(lambda request: Answer.says(reply)) as server:
        settings = JudgeSettings(model="judge", base_url=server.base_url)
        result = evaluate(path, data, judge_settings=settings)
        assert server.calls == 2
    assert result.flat["EA"] == pytest.approx(0.8)


def scored(value: float | None) -> SeedScores:
    score = Score(value) if value is not None else Score.unanswered(Status.MISSING)
    return SeedScores(None, None, score, score)


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        ([0.0, 1.0], 0.5**0.5),
        ([0.5, 0.5, 0.5], 0.0),
        ([0.1, 0.2, 0.3], 0.1),
        ([0.2, None, 0.4], 0.02**0.5),
        ([0.2, None], None),
        ([0.2], None),
        ([], None),
    ],
    ids=str,
)
def test_the_spread_is_the_deviation_of_a_sample(
    values: Sequence[float | None], expected: float | None
) -> None:
    for score in seed_spread([scored(value) for value in values]).values():
        if expected is None:
            assert score.value is None
        else:
            assert score.value == pytest.approx(expected, abs=1e-15)


def test_the_spread_never_leaves_its_bounds() -> None:
    widest = seed_spread([scored(0.0), scored(1.0)])
    for metric in SEED_METRICS:
        assert widest[metric.name].value == pytest.approx(metric.worst, abs=1e-15)
        assert metric.protocol == "extra"
        assert not metric.higher_is_better


def test_a_value_we_could_not_give_is_told_from_one_the_model_did_not(tmp_path: Path) -> None:
    open_score = Score.unscored(Status.DATA_ERROR, "no mask")
    seeds = [replace(scored(0.3), official=open_score), scored(None)]
    assert seed_spread(seeds)["CP_seed_sd"] == open_score


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "generated"
    path.mkdir()
    for name, number in (("1_0", 1), ("1_1", 2), ("1_2", 3), ("2_0", 4), ("2_2", 5), ("3_1", 6)):
        (path / f"{name}.png").write_bytes(picture(number))
    return path


def test_a_folder_hands_over_further_images_without_a_gap(
    make_data: MakeData, folder: Path, tmp_path: Path
) -> None:
    data = make_data(3)
    found = predictions_from_folder(folder, data, model="M", output=tmp_path / "out")
    text = "\n".join(found.lines())
    assert "images from further seeds: 2, of 1 samples" in text
    assert "not used, as a number before them is missing: 2_2.png, 3_1.png" in text
    result = evaluate(found.predictions, data)
    assert [len(row.seeds) for row in result.rows] == [3, 0, 0]
    kept = [(it["id"], it["replica"]) for it in index_of(result)]
    assert kept == [("1", "0"), ("1", "1"), ("1", "2"), ("2", "0")]
    folder_of_run = result.files.beside("_images")
    listed = {it["replica"]: it["file"] for it in index_of(result) if it["id"] == "1"}
    assert (folder_of_run / listed["2"]).read_bytes() == picture(3)


def test_a_folder_of_single_images_is_scored_as_ever(
    make_data: MakeData, folder: Path, tmp_path: Path
) -> None:
    data = make_data(3)
    several = predictions_from_folder(folder, data, model="M", output=tmp_path / "several")
    for path in folder.glob("*_[12].png"):
        path.unlink()
    single = predictions_from_folder(folder, data, model="M", output=tmp_path / "single")
    assert not [line for line in single.lines() if "further" in line]
    many, one = evaluate(several.predictions, data), evaluate(single.predictions, data)
    assert {name: many.flat[name] for name in one.flat} == one.flat


def test_an_unreadable_further_picture_leaves_its_place(
    make_data: MakeData, folder: Path, tmp_path: Path
) -> None:
    (folder / "1_1.png").write_bytes(b"no image")
    data = make_data(3)
    found = predictions_from_folder(folder, data, model="M", output=tmp_path / "out")
    seeds = evaluate(found.predictions, data).rows[0].seeds
    assert [it.path is None for it in seeds] == [False, True, False]


def test_nothing_is_listed_where_nothing_was_brought(make_data: MakeData, predict: Predict) -> None:
    result = evaluate(predict({1: "no"}), make_data(1))
    assert not result.files.beside("_images").exists()


def test_rows_of_one_run_keep_their_own_images(
    make_data: MakeData, predict: Predict, line: Line
) -> None:
    data = make_data(2)
    path = predict({1: line(picture(1), picture(2)), 2: line(picture(3))})
    rows, _ = edited_rows.collect_rows(path, data.samples, EditStore.default(), EvaluationOptions())
    assert [len(row.edited.replicas) for row in rows] == [1, 0]
    assert rows[0].edited.replica_seeds == (101,)
