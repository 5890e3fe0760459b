from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.conventions import convention_for
from medbench_vlmeval.data import MedSGData, MedSGSample
from medbench_vlmeval.evaluation.medsg import MedSGResult, evaluate_medsg
from medbench_vlmeval.files import read_jsonl
from medbench_vlmeval.types import Box, Status

from ..shared import shared_path

TRUTH = Box(100, 100, 200, 200)


def sample(index: int, **changes: Any) -> MedSGSample:
    facts = {
        "index": index,
        "key": f"referring-{index:04d}",
        "task": "referring",
        "question": "Where?",
        "images": (),
        "target_image": None,
        "target_by": "",
        "size_wh": (336, 336),
        "declared_size_wh": None,
        "truth": TRUTH,
        "reference_box": None,
        "case": str(index),
    }
    return MedSGSample(**(facts | changes))


def benchmark(*samples: MedSGSample, root: Path) -> MedSGData:
    return MedSGData("MedSG_test", root, samples, "f" * 64, None, "made for a test")


def evaluate(
    tmp_path: Path,
    data: MedSGData,
    replies: Mapping[int, Any],
    model: str = "absolute",
    **options: Any,
) -> MedSGResult:
    path = tmp_path / "M_MedSG_test.jsonl"
    rows = [{"index": str(index), "prediction": reply} for index, reply in replies.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return evaluate_medsg(path, data, convention=convention_for("", explicit=model), **options)


@pytest.mark.parametrize(
    ("convention", "reply"),
    [
        ("absolute", "[100, 100, 200, 200]"),
        ("norm1000", "[297.62, 297.62, 595.24, 595.24]"),
        ("norm1", "[0.29762, 0.29762, 0.59524, 0.59524]"),
        ("yxyx1000", "[297.62, 297.62, 595.24, 595.24]"),
    ],
)
def test_a_perfect_answer_is_one_in_every_convention(
    tmp_path: Path, convention: str, reply: str
) -> None:
    result = evaluate(tmp_path, benchmark(sample(1), root=tmp_path), {1: reply}, convention)
    assert result.flat["IoU_strict"] == pytest.approx(1.0, abs=1e-4)
    assert result.flat["ACC@0.5_strict"] == 1.0


def test_a_convention_without_a_published_parser_has_no_official_number(tmp_path: Path) -> None:
    reply = {1: "[297, 297, 595, 595]"}
    result = evaluate(tmp_path, benchmark(sample(1), root=tmp_path), reply, "yxyx1000")
    assert "IoU" not in result.flat
    assert "no published parser" in result.rows[0].scores["IoU"].note


def test_a_reply_without_a_box_is_zero_as_published_and_strictly(tmp_path: Path) -> None:
    data = benchmark(sample(1), sample(2), root=tmp_path)
    replies = {1: "[100, 100, 200, 200]", 2: "I cannot see any lesion."}
    result = evaluate(tmp_path, data, replies)
    assert result.flat["IoU"] == result.flat["IoU_strict"] == 0.5
    assert result.flat["IoU_n"] == 2
    assert result.flat["n_answered"] == 1


def test_a_failed_call_is_no_reply(tmp_path: Path) -> None:
    data = benchmark(sample(1), sample(2), sample(3), root=tmp_path)
    replies = {1: "[100, 100, 200, 200]", 2: "Failed to obtain answer via API."}
    result = evaluate(tmp_path, data, replies)
    assert (result.flat["IoU"], result.flat["IoU_n"]) == (1.0, 1)
    assert result.flat["IoU_strict"] == pytest.approx(1 / 3)
    assert (result.flat["n_api_fail"], result.flat["n_missing"]) == (1, 1)
    assert "no prediction for 1 of 3" in result.warnings[0]


def test_thresholds_are_inclusive(tmp_path: Path) -> None:
    half = "[100, 100, 200, 150]"
    result = evaluate(tmp_path, benchmark(sample(1), root=tmp_path), {1: half})
    flat = result.flat
    assert flat["IoU"] == 0.5
    assert (flat["ACC@0.3"], flat["ACC@0.5"], flat["ACC@0.7"]) == (1.0, 1.0, 0.0)
    assert flat["ACC@0.5_strict"] == 1.0


def test_answers_are_mapped_back_from_the_size_that_was_sent(tmp_path: Path) -> None:
    data = benchmark(sample(1), root=tmp_path)
    enlarged = {1: "[300, 300, 600, 600]"}
    plain = evaluate(tmp_path, data, enlarged)
    mapped = evaluate(tmp_path, data, enlarged, sent_size_wh=lambda _: (1008, 1008))
    assert plain.flat["IoU_strict"] == 0.0
    assert mapped.flat["IoU_strict"] == 1.0


def test_an_answer_that_is_no_box_is_nobodys_fault(tmp_path: Path) -> None:
    data = benchmark(sample(1), sample(2, truth=None), root=tmp_path)
    result = evaluate(tmp_path, data, dict.fromkeys((1, 2), "[100, 100, 200, 200]"))
    assert result.flat["IoU"] == result.flat["IoU_strict"] == 1.0
    overall = next(s for s in result.summaries if s.metric == "IoU" and s.group_by == "overall")
    assert overall.status_counts == {"answer": 1, "data_error": 1}
    assert overall.floor == 0.5


def test_answers_that_need_no_model_are_named_beside_the_result(tmp_path: Path) -> None:
    data = benchmark(sample(1), sample(2, truth=Box(84, 84, 252, 252)), root=tmp_path)
    result = evaluate(tmp_path, data, {1: "no idea", 2: "no idea"})
    # 100 x 100 of 336 x 336, and of 168 x 168
    whole, centre = (100**2 / 336**2 + 0.25) / 2, (100**2 / 168**2 + 1) / 2
    assert result.trivial == {
        "whole image": {"IoU": pytest.approx(whole), "ACC@0.5": 0.0},
        "centre box": {"IoU": pytest.approx(centre), "ACC@0.5": 0.5},
    }
    assert "centre box IoU 0.677, ACC@0.5 0.500" in result.trivial_note()


def test_a_sample_that_lacks_an_image_is_nobodys_fault(tmp_path: Path) -> None:
    data = benchmark(sample(1), sample(2, images=(None,)), root=tmp_path)
    result = evaluate(tmp_path, data, {1: "[100, 100, 200, 200]"})
    assert result.flat["IoU"] == result.flat["IoU_strict"] == 1.0
    assert result.rows[1].scores["IoU_strict"].status is Status.DATA_ERROR


def test_the_overall_figure_is_over_samples_and_the_macro_mean_stands_beside_it(
    tmp_path: Path,
) -> None:
    rows = [sample(1), sample(2), sample(3, task="patch")]
    replies = {1: "[100, 100, 200, 200]", 2: "[100, 100, 200, 200]", 3: "[0, 0, 1, 1]"}
    result = evaluate(tmp_path, benchmark(*rows, root=tmp_path), replies)
    assert result.flat["IoU"] == pytest.approx(2 / 3)
    assert result.flat["IoU_macro"] == 0.5
    assert result.flat["IoU|task=patch"] == 0.0


def test_another_convention_that_fits_far_better_is_a_warning_and_no_score(tmp_path: Path) -> None:
    rows = [sample(n, truth=Box(100 + n, 100, 200, 200)) for n in range(30)]
    replies = {row.index: f"[{(100 + row.index) / 0.336:.0f}, 298, 595, 595]" for row in rows}
    result = evaluate(tmp_path, benchmark(*rows, root=tmp_path), replies)
    assert result.flat["IoU_strict"] < 0.2
    assert any("norm1000" in warning for warning in result.warnings)


def test_rows_can_be_traced(tmp_path: Path) -> None:
    data = benchmark(sample(1), root=tmp_path)
    result = evaluate(tmp_path, data, {1: "[200, 200, 100, 100]"})
    rows, _ = read_jsonl(result.files.scores)
    assert rows[0]["truth"] == [100, 100, 200, 200]
    assert rows[0]["official_boxes"] == [[200, 200, 100, 100]]
    assert rows[0]["strict_box"] == [100, 100, 200, 200]
    assert rows[0]["scores"]["IoU"]["value"] == 0.0, "inverted corners score 0 as published"
    assert rows[0]["scores"]["IoU_strict"]["value"] == 1.0
    manifest = json.loads(result.files.manifest.read_text(encoding="utf-8"))
    assert manifest["convention"]["name"] == "absolute"
    assert manifest["flags"] == {"inverted": 1}


@pytest.mark.parametrize("indices", [[9], None], ids=["unknown index", "no samples"])
def test_unusable_expectations_are_refused(tmp_path: Path, indices: list[int] | None) -> None:
    samples = [] if indices is None else [sample(1)]
    with pytest.raises(ValueError, match="expected"):
        evaluate(tmp_path, benchmark(*samples, root=tmp_path), {}, expected=indices)


def test_the_published_run_of_task_8_is_reproduced(tmp_path: Path) -> None:
    lines = shared_path("data/medsg_task8_part_a.jsonl").read_text(encoding="utf-8").splitlines()
    published = [json.loads(line) for line in lines]
    rows = [sample(n, truth=Box(*row["groundtruth"])) for n, row in enumerate(published)]
    replies = {n: row["raw_output"] for n, row in enumerate(published)}
    result = evaluate(tmp_path, benchmark(*rows, root=tmp_path), replies, "Qwen2.5-VL")
    assert len(result.rows) == 741
    assert [row.scores["IoU"].value for row in result.rows] == [
        row["official_iou"] for row in published
    ]
    for ours, row in zip(result.rows, published, strict=True):
        boxes = row["official_box"]
        several = boxes if isinstance(boxes[0], list) else [boxes]
        assert [list(box) for box in ours.official_boxes] == several
