from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.editing import EditsLost, EditStore, no_image_line
from medbench_vlmeval.evaluation.medebench import MedEBenchResult, evaluate_medebench
from medbench_vlmeval.evaluation.medebench_metrics import METRICS
from medbench_vlmeval.evaluation.options import EvaluationOptions
from medbench_vlmeval.evaluation.report_text import shown_result
from medbench_vlmeval.files import read_jsonl, sha256_file
from medbench_vlmeval.images import read_rgb, read_roi
from medbench_vlmeval.metrics import context_ssim, masked_ssim
from medbench_vlmeval.types import Status, Summary

from ..data.releases import encoded, mask, picture
from ..shared import shared_cases
from .conftest import Predict

MakeData = Callable[..., MedEBenchData]


def evaluate(path: Path, data: MedEBenchData, **options: Any) -> MedEBenchResult:
    return evaluate_medebench([path], data, **options)[0]


def overall(result: MedEBenchResult, metric: str) -> Summary:
    return next(s for s in result.summaries if s.metric == metric and s.group_by == "overall")


def previous(data: MedEBenchData) -> dict[int, bytes]:
    return {sample.id: sample.previous.read_bytes() for sample in data.samples}


def test_numbers_are_those_of_the_metrics(make_data: MakeData, predict: Predict) -> None:
    data = make_data(2)
    path = predict({1: picture(77), 2: picture(78)})
    result = evaluate(path, data)
    expected = [
        (masked_ssim(*arrays), max(0.0, context_ssim(*arrays)))
        for sample, seed in zip(data.samples, (77, 78), strict=True)
        for arrays in [
            (
                read_rgb(sample.previous).pixels,
                read_rgb(picture(seed)).pixels,
                read_roi(sample.roi).values,
            )
        ]
    ]
    official, strict = np.mean(expected, axis=0)
    assert result.flat["CP"] == pytest.approx(official, abs=1e-15)
    assert result.flat["CP_strict"] == pytest.approx(strict, abs=1e-15)


def test_copying_the_input_is_perfect_context(make_data: MakeData, predict: Predict) -> None:
    data = make_data()
    result = evaluate(predict(previous(data)), data)
    assert result.flat["CP"] == result.flat["CP_strict"] == 1.0
    assert result.flat["PSNR_inside"] == result.flat["PSNR_outside"] == 100.0


def test_what_the_model_did_not_give_is_left_out_officially_and_worst_strictly(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(5)
    given = previous(data) | {
        2: "I'm sorry, but I can't help with analyzing medical images.",
        3: no_image_line(Status.MISSING, "text only"),
        4: "Failed to obtain answer via API. server gone",
    }
    del given[5]
    result = evaluate(predict(given), data)
    assert result.flat["CP"] == 1.0
    assert result.flat["CP_strict"] == pytest.approx(0.2)
    official, strict = overall(result, "CP"), overall(result, "CP_strict")
    assert (official.n_expected, official.n_answered, official.n_scored) == (5, 1, 1)
    assert (strict.n_expected, strict.n_answered, strict.n_scored) == (5, 1, 5)
    assert official.status_counts == {"answer": 1, "refusal": 1, "missing": 2, "api_fail": 1}
    assert {k: v for k, v in result.flat.items() if k.startswith("n_")} == {
        "n_expected": 5,
        "n_answered": 1,
        "n_refusal": 1,
        "n_missing": 2,
        "n_api_fail": 1,
    }
    assert "no prediction for 1 of 5" in result.warnings[0]


def test_nothing_answered_is_no_official_number_and_zero_strictly(
    make_data: MakeData, predict: Predict
) -> None:
    result = evaluate(predict({1: "no", 2: None}), make_data(2))
    assert "CP" not in result.flat
    assert result.flat["CP_strict"] == 0.0


def test_trying_is_never_worse_than_refusing(make_data: MakeData, predict: Predict) -> None:
    data = make_data(1)
    inverted = 255 - read_rgb(data.samples[0].previous).pixels
    result = evaluate(predict({1: encoded(inverted)}), data)
    pair = (read_rgb(data.samples[0].previous).pixels, inverted)
    assert context_ssim(*pair, read_roi(data.samples[0].roi).values) < 0
    assert result.flat["CP_strict"] == 0.0


def test_an_unusable_reference_leaves_official_and_keeps_strict(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(2, images={2: {"reference": None}})
    result = evaluate(predict(previous(data)), data)
    official = overall(result, "CP")
    assert (official.n_scored, official.status_counts["data_error"]) == (1, 1)
    assert (official.floor, official.ceiling) == (0.5, 1.0)
    assert overall(result, "CP_strict").n_scored == 2


@pytest.mark.parametrize("prediction", [b"image", "I cannot edit this."], ids=["edit", "refusal"])
def test_a_sample_without_mask_is_nobodys_fault(
    make_data: MakeData, predict: Predict, prediction: Any
) -> None:
    data = make_data(2, images={2: {"roi": None}})
    given = previous(data)
    if prediction != b"image":
        given[2] = prediction
    result = evaluate(predict(given), data)
    assert overall(result, "CP_strict").n_scored == 1
    assert result.flat["CP_strict"] == 1.0


@pytest.mark.parametrize(
    ("roi", "why"),
    [(mask(share=1.0), "outside the ROI"), (mask(size_wh=(40, 30), share=0.0), "")],
    ids=["full", "empty"],
)
def test_degenerate_masks_do_not_make_a_number(
    make_data: MakeData, predict: Predict, roi: bytes, why: str
) -> None:
    data = make_data(1, images={1: {"roi": roi}})
    result = evaluate(predict(previous(data)), data)
    strict = result.rows[0].scores["CP_strict"]
    if why:
        assert strict.status is Status.DATA_ERROR
        assert why in strict.note
        assert result.flat["CP"] == 1.0, "official: black against black"
    else:
        assert strict.value == 1.0


def test_images_below_the_window_are_data_errors(make_data: MakeData, predict: Predict) -> None:
    tiny = {"previous": picture(1, (6, 6)), "roi": mask(size_wh=(6, 6))}
    data = make_data(2, images={1: tiny})
    result = evaluate(predict(previous(data)), data)
    assert result.rows[0].scores["CP"].status is Status.DATA_ERROR
    assert result.flat["CP"] == 1.0


def test_a_broken_edit_is_missing_and_the_others_are_scored(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(3)
    given = previous(data)
    given[2] = given[2][: len(given[2]) // 2]
    result = evaluate(predict(given), data)
    broken = result.rows[1].scores["CP"]
    assert (broken.status, broken.model_fault) == (Status.MISSING, True)
    assert "unreadable" in broken.note
    assert result.flat["CP"] == 1.0
    assert result.flat["CP_strict"] == pytest.approx(2 / 3)


@pytest.mark.parametrize(
    "case", [case for case in shared_cases("images.jsonl") if case.id in ("B73a", "absent")]
)
def test_a_huge_edit_is_missing_and_the_others_are_scored(
    case: dict[str, Any], make_data: MakeData, predict: Predict
) -> None:
    width, height = case["build"]["size_wh"]
    data = make_data(2)
    given = previous(data)
    stream = io.BytesIO()
    Image.new(case["build"]["mode"], (width, height)).save(stream, "PNG")
    given[1] = stream.getvalue()
    result = evaluate(predict(given), data)
    note = result.rows[0].scores["CP"].note
    assert result.rows[0].scores["CP"].status is Status.MISSING
    assert case["required"]["other_rows_scored"] == (result.rows[1].scores["CP"].value == 1.0)
    assert "MEDBENCH_MAX_PIXELS" in note


def test_an_edit_of_another_size_is_resized_and_flagged(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(1)
    result = evaluate(predict({1: picture(1, (80, 30))}), data)
    assert {"size_differs", "aspect_differs"} <= result.rows[0].flags
    assert result.rows[0].diagnostics["size_wh"] == [80, 30]


def test_a_cell_outside_the_allowed_folders_is_missing(
    make_data: MakeData, predict: Predict, tmp_path: Path
) -> None:
    data = make_data(2)
    secret = tmp_path / "elsewhere" / "secret.png"
    secret.parent.mkdir()
    secret.write_bytes(picture(1))
    result = evaluate(predict({1: str(secret), 2: "../../elsewhere/secret.png"}), data)
    assert [row.edited.status for row in result.rows] == [Status.MISSING] * 2
    assert "allowed folder" in result.rows[0].edited.note


@pytest.mark.parametrize(
    "prediction", [None, float("nan"), "", "x" * 40_000, "[" * 40_000], ids=lambda p: str(p)[:5]
)
def test_odd_cells_are_missing_and_counted(
    make_data: MakeData, predict: Predict, prediction: Any
) -> None:
    data = make_data(2)
    result = evaluate(predict(previous(data) | {1: prediction}), data)
    assert result.rows[0].edited.status is Status.MISSING
    assert result.flat["n_answered"] == 1


@pytest.mark.parametrize(
    "case", [case for case in shared_cases("runs.jsonl") if case.id in ("B113a", "absent")]
)
def test_completeness_is_by_row(
    case: dict[str, Any], make_data: MakeData, predict: Predict
) -> None:
    done, size = map(int, re.findall(r"\d+", case["given"]))
    data = make_data(done + 4)
    result = evaluate(predict(dict(list(previous(data).items())[:done])), data)
    to_do = result.flat["n_expected"] - result.flat["n_answered"]
    assert to_do + size - (done + 4) == case["required"]["rows_to_do"]


def test_lost_images_stop_the_evaluation_and_name_the_repair(
    make_data: MakeData, predict: Predict, store: EditStore
) -> None:
    data = make_data(3)
    path = predict(previous(data))
    for image in store.root.rglob("*.png"):
        if sha256_file(image) == data.samples[1].sha256["previous"]:
            image.unlink()
    with pytest.raises(EditsLost, match=r"1 of 3 .*samples 2.*medbench repair"):
        evaluate(path, data)
    options = EvaluationOptions(lost_images="missing")
    assert evaluate(path, data, options=options).flat["n_answered"] == 2


def test_the_prediction_file_is_never_changed(make_data: MakeData, predict: Predict) -> None:
    data = make_data(2)
    path = predict(previous(data))
    before = (path.read_bytes(), path.stat().st_mtime_ns)
    evaluate(path, data)
    evaluate(path, data)
    assert (path.read_bytes(), path.stat().st_mtime_ns) == before
    assert sorted(item.name for item in path.parent.iterdir()) == [
        "M_MedEBench_test.jsonl",
        "M_MedEBench_test_acc.csv",
        "M_MedEBench_test_images",
        "M_MedEBench_test_manifest.json",
        "M_MedEBench_test_samples.jsonl",
        "M_MedEBench_test_score.json",
        "M_MedEBench_test_scores.jsonl",
    ]


def test_a_subset_is_stamped_partial_and_nothing_else_is_expected(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(4)
    given = dict(list(previous(data).items())[:2])
    result = evaluate(predict(given), data, expected_ids=[1, 2])
    assert result.flat["CP_strict"] == 1.0
    assert result.flat["n_expected"] == 2
    manifest = json.loads(result.files.manifest.read_text())
    assert (manifest["data"]["partial"], manifest["data"]["n_samples"]) == (True, 4)


def test_ids_that_are_not_in_the_data_are_refused(make_data: MakeData, predict: Predict) -> None:
    with pytest.raises(ValueError, match="prepare the data again"):
        evaluate(predict({}), make_data(1), expected_ids=[7])


def test_samples_of_one_source_image_are_one_cluster(make_data: MakeData, predict: Predict) -> None:
    same = {number: {"previous": picture(1)} for number in range(1, 5)}
    data = make_data(4, images=same)
    result = evaluate(predict({n: picture(50 + n) for n in range(1, 5)}), data)
    assert overall(result, "CP").low is None, "one source image gives no interval"


def test_several_models_at_once_give_what_each_gives_alone(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(3)
    one = predict(previous(data), model="One")
    two = predict({1: picture(9), 2: "no"}, model="Two")
    together = evaluate_medebench([one, two], data)
    alone = [evaluate(one, data), evaluate(two, data)]
    assert [result.flat for result in together] == [result.flat for result in alone]


@pytest.mark.parametrize("backend", ["loky", "threading"])
def test_every_backend_gives_the_same(make_data: MakeData, predict: Predict, backend: str) -> None:
    data = make_data(20)
    path = predict({number: picture(200 + number) for number in range(1, 21)})
    serial = evaluate(path, data, options=EvaluationOptions(scoring_backend="serial"))
    options = EvaluationOptions(scoring_backend=backend, scoring_jobs=2)
    assert evaluate(path, data, options=options).flat == serial.flat


def test_files_tell_where_every_number_comes_from(make_data: MakeData, predict: Predict) -> None:
    data = make_data(3, rows={2: {"Organ": "GI tract"}})
    result = evaluate(predict(previous(data) | {3: "no"}), data, environment={"host": {"a": "b"}})
    rows, _ = read_jsonl(result.files.scores)
    assert [row["index"] for row in rows] == [1, 2, 3]
    assert rows[2]["scores"]["CP_strict"]["model_fault"] is True
    table = list(csv.DictReader(result.files.groups.read_text().splitlines()))
    assert {row["metric"] for row in table} == {metric.name for metric in METRICS}
    assert {row["group_by"] for row in table} == {"overall", "organ", "task"}
    assert {row["group"] for row in table if row["group_by"] == "organ"} == {
        "Teeth",
        "Gastrointestinal Tract",
    }
    teeth = next(r for r in table if r["group"] == "Teeth" and r["metric"] == "CP")
    assert (teeth["n_expected"], teeth["n_answered"], teeth["n_scored"]) == ("2", "1", "1")
    manifest = json.loads(result.files.manifest.read_text())
    assert manifest["data"]["fingerprint"] == data.fingerprint
    assert manifest["predictions"]["sha256"] == sha256_file(result.files.predictions)
    assert manifest["host"] == {"a": "b"}


def test_flat_numbers_are_plain_python(make_data: MakeData, predict: Predict) -> None:
    data = make_data(2)
    flat = evaluate(predict(previous(data)), data).flat
    assert {type(value) for value in flat.values()} <= {int, float}
    assert json.loads(json.dumps(flat)) == flat


def test_the_text_for_a_log_names_columns_counts_and_files(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(2)
    result = evaluate(predict(previous(data)), data)
    text = shown_result(result, "M on MedEBench_test")
    for part in ("official", "strict", "expected", "answered", "scored", "not judged", "Teeth"):
        assert part in text
    assert str(result.files.scores) in text


def test_a_shifted_picture_is_flagged_and_a_local_edit_is_not(
    make_data: MakeData, predict: Predict
) -> None:
    from skimage import data as pictures

    frame = np.ascontiguousarray(pictures.retina()[400:656, 400:656])
    roi = np.zeros((256, 256), dtype=np.uint8)
    roi[100:150, 100:150] = 255
    edited = frame.copy()
    edited[100:150, 100:150] = 0
    images = {"previous": encoded(frame), "roi": encoded(roi)}
    data = make_data(2, images={1: images, 2: images})
    given = {1: encoded(np.roll(frame, 4, axis=1)), 2: encoded(edited)}
    rows = evaluate(predict(given, size_wh=(256, 256)), data).rows
    assert "shifted" in rows[0].flags
    assert rows[0].diagnostics["shift_xy"][0] == pytest.approx(4, abs=0.5)
    assert "shifted" not in rows[1].flags
