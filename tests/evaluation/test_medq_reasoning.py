from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.evaluation.medq_reasoning import (
    MedQReasoningResult,
    evaluate_medq_reasoning,
)
from medbench_vlmeval.evaluation.medq_reasoning_metrics import HEADLINE, METRICS, OFFICIAL, STRICT
from medbench_vlmeval.evaluation.options import EvaluationOptions
from medbench_vlmeval.files import read_jsonl
from medbench_vlmeval.judging.medq import DIMENSIONS, own_templates
from medbench_vlmeval.types import Status, Summary

from ..judging.server import Answer, JudgeServer
from .medq_reasoning_cases import FAILED, host_like, judge_script, judged, predict, table, text

JUDGED = [metric.name for metric in METRICS if metric.judged]


def overall(result: MedQReasoningResult, metric: str) -> Summary:
    return next(s for s in result.summaries if (s.metric, s.group_by) == (metric, "overall"))


def manifest(result: MedQReasoningResult) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(result.files.manifest.read_text(encoding="utf-8"))
    return found


@pytest.mark.parametrize("templates", [host_like(), own_templates("caption")], ids=["host", "own"])
def test_points_become_means_and_their_sum(tmp_path: Path, templates: Any) -> None:
    data = table(tmp_path, 3)
    path = predict(tmp_path, {i: text(i) for i in (1, 2, 3)})
    points = {1: (2, 1, 2, 2), 2: (1, 1, 2, 0), 3: (0, 1, 1, 1)}
    with JudgeServer(judge_script(points)) as server:
        result = judged(path, data, server, templates=templates)
        assert server.calls == 12
    wanted = dict(zip(DIMENSIONS, (1.0, 1.0, 5 / 3, 1.0), strict=True))
    for dimension, mean in wanted.items():
        assert result.flat[dimension] == pytest.approx(mean)
        assert result.flat[f"{dimension}_strict"] == pytest.approx(mean)
        assert result.flat[f"{dimension}|modality=CT"] == pytest.approx(mean)
    assert result.flat["Overall"] == result.flat["Overall_strict"] == pytest.approx(14 / 3)
    assert [row.scores["Overall"].value for row in result.rows] == [7.0, 4.0, 3.0]
    assert (result.flat["n_expected"], result.flat["n_answered"]) == (3, 3)
    assert result.flat["n_judge_failed"] == 0
    assert HEADLINE == "Overall"


def test_the_first_reply_counts_officially_and_the_strict_reader_reads_on(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    path = predict(tmp_path, {1: text(1), 2: text(2)})
    points = {1: ("**Score:** 1", "Score: 10", "score is 2", 2), 2: (2, 2, 2, 2)}
    with JudgeServer(judge_script(points)) as server:
        result = judged(path, data, server)
    official = {d: result.rows[0].scores[d] for d in DIMENSIONS}
    assert [official[d].value for d in DIMENSIONS] == [None, 1.0, None, 2.0]
    assert official["completeness"].status is Status.UNPARSED
    strict = [result.rows[0].scores[f"{d}_strict"].value for d in DIMENSIONS]
    assert strict == [1.0, None, 2.0, 2.0]
    assert result.flat["completeness_n"] == 1
    assert result.flat["completeness_strict"] == 1.5


def test_overall_is_the_sum_of_the_means_when_judgements_were_dropped(tmp_path: Path) -> None:
    data = table(tmp_path, 4)
    path = predict(tmp_path, {i: text(i) for i in range(1, 5)})
    broken = Answer(500, text="x", times=None)
    points = {1: (0, 2, 2, 2), 2: (broken, 1, 1, 2), 3: (1, broken, 0, 0), 4: (2, 2, 2, 2)}
    with JudgeServer(judge_script(points)) as server:
        result = judged(path, data, server)
    total = overall(result, "Overall")
    assert total.value == pytest.approx(3 / 3 + 5 / 3 + 5 / 4 + 6 / 4)
    assert (total.n_expected, total.n_scored) == (4, 2)
    assert total.floor == pytest.approx(3 / 4 + 5 / 4 + 5 / 4 + 6 / 4)
    assert total.ceiling == pytest.approx(5 / 4 + 7 / 4 + 5 / 4 + 6 / 4)
    assert (total.low, total.high) == (6.0, 8.0), "rows 1 and 4 have all four"
    assert result.flat["n_judge_failed"] == 2
    assert "2 of 16 questions" in result.warnings[0]


def test_a_dimension_without_any_score_leaves_no_overall(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    path = predict(tmp_path, {1: text(1), 2: text(2)})
    points = dict.fromkeys((1, 2), (2, "It is fine.", 2, 2))
    with JudgeServer(judge_script(points)) as server:
        result = judged(path, data, server)
    total = overall(result, "Overall")
    assert (total.value, total.low, total.high, total.n_scored) == (None, None, None, 0)
    assert "Overall" not in result.flat
    assert "preciseness" not in result.flat
    assert result.flat["completeness"] == 2.0


def test_without_a_judge_the_judged_columns_stay_blank(tmp_path: Path) -> None:
    data = table(tmp_path, 3)
    replies = {1: text(1), 2: text(2, "reject"), 3: None}
    result = evaluate_medq_reasoning(predict(tmp_path, replies), data, templates=host_like())
    assert not set(JUDGED) & set(result.flat)
    assert "no judge is configured" in result.judge_note
    assert result.flat["quality_accuracy_read"] == pytest.approx((2 + 1 + 0) / 3)
    assert manifest(result)["judge"] is None


def test_an_estimate_asks_nobody(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    path = predict(tmp_path, {1: text(1), 2: text(2)})
    with JudgeServer(judge_script({})) as server:
        result = judged(path, data, server, options=EvaluationOptions(estimate=True))
        assert server.calls == 0
    assert "only estimated: 8 calls" in result.judge_note
    assert "Overall" not in result.flat


def test_a_refusal_is_judged_like_any_text_and_counted(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    refusal = "I'm sorry, but I can't help with analyzing medical images."
    path = predict(tmp_path, {1: text(1), 2: refusal})
    with JudgeServer(judge_script({0: (0, 0, 0, 0)})) as server:
        result = judged(path, data, server)
        assert server.calls == 8
        assert sum(refusal in request.text for request in server.requests) == 4
    assert (result.flat["n_answered"], result.flat["n_refusal"]) == (1, 1)
    assert result.flat["Overall"] == 4.0
    read = result.rows[1].scores["quality_accuracy_read"]
    assert (read.status, read.model_fault) == (Status.REFUSAL, True)


def test_a_row_that_the_file_lacks_is_in_no_official_mean(tmp_path: Path) -> None:
    data = table(tmp_path, 3)
    path = predict(tmp_path, {1: text(1), 2: None})
    with JudgeServer(judge_script({})) as server:
        result = judged(path, data, server)
        assert server.calls == 4
    assert (result.flat["Overall"], result.flat["Overall_n"]) == (4.0, 2)
    assert (result.flat["Overall_strict"], result.flat["Overall_strict_n"]) == (
        pytest.approx(8 / 3),
        3,
    )
    assert result.flat["n_missing"] == 2


def test_an_empty_prediction_file_gives_no_official_number(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    with JudgeServer(judge_script({})) as server:
        result = judged(predict(tmp_path, {}), data, server)
        assert server.calls == 0
    assert not {*OFFICIAL, "Overall"} & set(result.flat)
    assert {result.flat[metric.name] for metric in STRICT.values()} == {0.0}
    assert (result.flat["n_missing"], result.flat["n_answered"]) == (2, 0)
    assert any("no rows" in warning or "empty" in warning for warning in result.warnings)


def test_a_missing_image_is_nobodys_fault(tmp_path: Path) -> None:
    data = table(tmp_path, 2, changes={2: {"images": (None,), "sha256": (None,)}})
    path = predict(tmp_path, {1: text(1), 2: text(2)})
    with JudgeServer(judge_script({})) as server:
        result = judged(path, data, server)
        assert server.calls == 4
    for metric in METRICS:
        score = result.rows[1].scores[metric.name]
        assert (score.status, score.model_fault) == (Status.DATA_ERROR, False)
    assert result.flat["Overall_n"] == result.flat["Overall_strict_n"] == 1
    assert result.flat["n_data_error"] == 1
    assert "2 (an image is missing)" in result.warnings[0]


def test_groups_are_those_that_the_data_names(tmp_path: Path) -> None:
    changes = {1: {"level": "mild"}, 2: {"modality": "MRI"}, 3: {"modality": ""}}
    data = table(tmp_path, 3, changes=changes)
    path = predict(tmp_path, {i: text(i) for i in (1, 2, 3)})
    with JudgeServer(judge_script({2: (0, 0, 0, 0)})) as server:
        result = judged(path, data, server)
    groups = {(s.group_by, s.group): s.n_expected for s in result.summaries}
    assert groups == {
        ("overall", "Overall"): 3,
        ("modality", "CT"): 1,
        ("modality", "MRI"): 1,
        ("level", "mild"): 1,
    }
    assert (result.flat["Overall|modality=CT"], result.flat["Overall|modality=MRI"]) == (8.0, 0.0)


def test_rows_of_one_image_are_one_cluster(tmp_path: Path) -> None:
    data = table(tmp_path, 3, changes={i: {"case": "same"} for i in (1, 2, 3)})
    path = predict(tmp_path, {i: text(i) for i in (1, 2, 3)})
    with JudgeServer(judge_script({1: (0, 0, 0, 0)})) as server:
        result = judged(path, data, server)
    assert overall(result, "Overall").low is None


def test_only_the_rows_a_model_was_given_are_expected(tmp_path: Path) -> None:
    data = table(tmp_path, 3)
    path = predict(tmp_path, {2: text(2)})
    with JudgeServer(judge_script({})) as server:
        result = judged(path, data, server, expected=[2])
        assert (result.flat["n_expected"], result.warnings) == (1, ())
        with pytest.raises(ValueError, match=r"expected indices of MedQ_test, got \[9\]"):
            judged(path, data, server, expected=[9])


def test_data_and_templates_must_be_of_one_kind(tmp_path: Path) -> None:
    path = predict(tmp_path, {1: text(1)})
    with pytest.raises(ValueError, match="of one kind"):
        evaluate_medq_reasoning(path, table(tmp_path), templates=host_like("paired"))


def test_data_without_rows_is_refused(tmp_path: Path) -> None:
    path = predict(tmp_path, {})
    with pytest.raises(ValueError, match="expected samples in MedQ_test, got none"):
        evaluate_medq_reasoning(path, table(tmp_path, 0), templates=host_like())


def test_every_number_is_traced_to_its_replies(tmp_path: Path) -> None:
    data = table(tmp_path, 2, changes={2: {"level": "mild"}})
    path = predict(tmp_path, {1: text(1, "good"), 2: None})
    with JudgeServer(judge_script({1: (1, 2, 0, 1)})) as server:
        result = judged(path, data, server)
    first, second = read_jsonl(result.files.scores)[0]
    replies = {reply["call_id"]: reply for reply in read_jsonl(result.files.judge_replies)[0]}
    assert (first["index"], first["key"], first["modality"]) == (1, "k1", "CT")
    assert (first["conclusion"], first["reference_conclusion"]) == ("good", "usable")
    for dimension, points in zip(DIMENSIONS, (1, 2, 0, 1), strict=True):
        of_judge = first["judge"][dimension]
        assert of_judge["reading"] == {"Score": points}
        assert (of_judge["status"], of_judge["cached"]) == ("answer", False)
        assert of_judge["model_returned"] == "judge-2026-01-01"
        assert replies[of_judge["call_id"]]["reply"] == f"Score: {points}"
        assert first["scores"][dimension]["value"] == points
    assert (second["reply_status"], second["judge"], second["level"]) == ("missing", {}, "mild")
    assert second["scores"]["completeness_strict"]["model_fault"] is True


def test_the_manifest_says_what_was_asked_and_by_whom(tmp_path: Path) -> None:
    data = table(tmp_path, 1)
    path = predict(tmp_path, {1: text(1)})
    with JudgeServer(judge_script({})) as server:
        result = judged(path, data, server, templates=own_templates("caption"), api_key="sk-canary")
    facts = manifest(result)
    assert facts["prompts"]["medq_judge"] == own_templates("caption").record()
    assert facts["data"]["fingerprint"] == data.fingerprint
    assert facts["judge"]["models_returned"] == ["judge-2026-01-01"]
    assert facts["judgements"] == {"answer": 4, "not_reached": 0}
    assert facts["agreement"] == {"quality_accuracy_read": {"n": 1, "equal": 1.0, "kappa": None}}
    assert facts["complete"] is True
    assert [metric["name"] for metric in facts["metrics"]] == [metric.name for metric in METRICS]
    assert "not comparable" in result.judge_note
    assert all(b"sk-canary" not in file.read_bytes() for file in path.parent.iterdir())


@pytest.mark.parametrize("model", ["gpt-4o-2024-05-13", "gpt-4o"])
def test_another_judge_than_the_published_one_is_named(tmp_path: Path, model: str) -> None:
    path = predict(tmp_path, {1: text(1)})
    with JudgeServer(judge_script({})) as server:
        result = judged(path, table(tmp_path), server, model=model)
    named = [note for note in result.notes if "published scores" in note]
    assert len(named) == (model == "gpt-4o")
    assert manifest(result)["published_judge"]["model"] == "gpt-4o-2024-05-13"


def test_a_failed_call_of_the_model_is_not_a_reply(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    path = predict(tmp_path, {1: text(1), 2: f"{FAILED} RetCode 500"})
    with JudgeServer(judge_script({})) as server:
        result = judged(path, data, server)
    assert result.flat["n_api_fail"] == 1
    assert result.rows[1].scores["Overall"].value == 0.0
    assert result.rows[1].scores["Overall_strict"].model_fault
    assert FAILED not in result.files.scores.read_text(encoding="utf-8")
