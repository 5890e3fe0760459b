from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.data import MedQData
from medbench_vlmeval.evaluation.medq_perception import (
    MedQPerceptionResult,
    evaluate_medq_perception,
)
from medbench_vlmeval.evaluation.medq_trials import vote_confidence
from medbench_vlmeval.evaluation.options import EvaluationOptions
from medbench_vlmeval.files import read_jsonl
from medbench_vlmeval.judging import Judge, JudgeSettings, JudgeStopped
from medbench_vlmeval.types import Status

from ..judging.server import Answer, JudgeServer, Request
from ..shared import shared_path
from .medq_questions import benchmark, question

PERCEPTION = json.loads(shared_path("data/medq_tables.json").read_text())["perception_test"]
RESOLVABLE = [row for row in PERCEPTION["rows"] if (row.get("derived") or {}).get("hits_total")]
N_OF = {"yes_or_no": ("Yes-or-No", 558), "what": ("What", 258), "how": ("How", 489)}


def write(folder: Path, replies: Mapping[int, Any], name: str = "M_MedQ_MCQ_test") -> Path:
    path = folder / f"{name}.jsonl"
    rows = [{"index": str(index), "prediction": reply} for index, reply in replies.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def evaluate(
    folder: Path, data: MedQData, replies: Mapping[int, Any], **arguments: Any
) -> MedQPerceptionResult:
    return evaluate_medq_perception(write(folder, replies), data, **arguments)


def test_the_published_rule_and_the_strict_reader_stand_side_by_side(tmp_path: Path) -> None:
    data = benchmark(tmp_path, question(1), question(2), question(3, answer="C"))
    replies = {1: "B", 2: "A mild blur is visible, so the answer is B", 3: "C. Metal"}
    result = evaluate(tmp_path, data, replies)
    assert result.flat["accuracy_strict"] == 1.0
    # "A mild" begins with an isolated letter, and "answer is B" is tried before it.
    assert [row.official_letter for row in result.rows][0::2] == ["B", "C"]
    assert result.flat["Overall"] == result.flat["accuracy"]


@pytest.mark.parametrize("row", RESOLVABLE, ids=lambda row: row["model"])
def test_published_rows_are_recomputed_from_their_hits(tmp_path: Path, row: dict[str, Any]) -> None:
    samples, replies = [], {}
    for column, (question_type, n) in N_OF.items():
        for number in range(n):
            index = len(samples)
            samples.append(question(index, question_type=question_type))
            replies[index] = "B" if number < row["derived"]["hits"][column] else "A"
    result = evaluate(tmp_path, benchmark(tmp_path, *samples), replies)
    for column, (question_type, _) in N_OF.items():
        assert 100 * result.flat[question_type] == pytest.approx(row[column], abs=0.00501)
    published = row["overall"] or row["derived"]["overall_from_counts"]
    assert 100 * result.flat["Overall"] == pytest.approx(published, abs=0.00501)


def test_ten_published_rows_can_be_recomputed() -> None:
    assert len(RESOLVABLE) >= 10


@pytest.mark.parametrize("kind", ["mcq", "deg"])
def test_a_missing_answer_is_nobodys_fault_and_never_a_hit(tmp_path: Path, kind: str) -> None:
    data = benchmark(tmp_path, question(1, kind=kind, answer=None), question(2, kind=kind))
    result = evaluate(tmp_path, data, {1: None, 2: "B"})
    assert result.rows[0].scores["accuracy"].status is Status.DATA_ERROR
    assert (result.flat["accuracy"], result.flat["accuracy_n"]) == (1.0, 1)
    assert result.flat["n_expected"] == 2


def test_replies_that_are_none_are_wrong_counted_and_told_apart(tmp_path: Path) -> None:
    data = benchmark(tmp_path, *(question(index) for index in range(1, 6)))
    replies = {
        1: "B",
        2: None,
        3: "Failed to obtain answer via API. : RetCode B 500",
        4: "I cannot help with medical images.",
    }
    result = evaluate(tmp_path, data, replies)
    # The published script sees four rows, the strict column knows of the fifth.
    assert (result.flat["accuracy"], result.flat["accuracy_strict"]) == (0.25, 0.2)
    counts = {name: result.flat.get(name) for name in ("n_answered", "n_missing", "n_api_fail")}
    assert counts == {"n_answered": 1, "n_missing": 2, "n_api_fail": 1}
    assert any("no prediction for 1 of 5" in warning for warning in result.warnings)


def test_an_empty_prediction_file_is_no_division_by_zero(tmp_path: Path) -> None:
    result = evaluate(tmp_path, benchmark(tmp_path, question(1)), {})
    assert (result.flat["accuracy_strict"], result.flat["n_missing"]) == (0.0, 1)
    assert "accuracy" not in result.flat
    assert (
        evaluate(tmp_path, benchmark(tmp_path, question(1)), {}, with_host_numbers=True).flat.get(
            "total"
        )
        is None
    )


def test_an_option_called_none_can_be_answered(tmp_path: Path) -> None:
    result = evaluate(tmp_path, benchmark(tmp_path, question(1, answer="D")), {1: "None"})
    assert result.flat["accuracy_strict"] == 1.0


def test_a_fifth_option_can_be_right(tmp_path: Path) -> None:
    options = {"A": "a", "B": "b", "C": "c", "D": "d", "E": "Ringing"}
    data = benchmark(tmp_path, question(1, options=options, answer="E"))
    result = evaluate(tmp_path, data, {1: "E. Ringing"})
    assert result.flat["accuracy_strict"] == 1.0
    assert result.flat["accuracy"] == 0.0  # as published: letters A to D only


def test_groups_and_intervals_by_image(tmp_path: Path) -> None:
    data = benchmark(
        tmp_path,
        question(1, case="x"),
        question(2, case="x", modality="MRI", level="mild"),
        question(3, case="y", question_type="How"),
    )
    result = evaluate(tmp_path, data, {1: "B", 2: "B", 3: "A"})
    assert result.flat["accuracy|modality=CT"] == 0.5
    assert (result.flat["What"], result.flat["How"]) == (1.0, 0.0)
    assert "Yes-or-No" not in result.flat
    groups = (result.files.groups).read_text()
    assert "level,mild,accuracy" in groups


def test_the_hosts_numbers_are_hits_over_all_rows(tmp_path: Path) -> None:
    data = benchmark(tmp_path, question(1), question(2, modality="MRI"))
    result = evaluate(tmp_path, data, {1: "B", 2: "A"}, with_host_numbers=True)
    names = ("overall_accuracy", "correct", "total", "CT_accuracy", "MRI_accuracy")
    assert [result.flat[name] for name in names] == [0.5, 1, 2, 1.0, 0.0]
    assert json.loads(result.files.summary.read_text())["correct"] == 1


def test_only_what_was_asked_is_expected(tmp_path: Path) -> None:
    data = benchmark(tmp_path, question(1), question(2))
    result = evaluate(tmp_path, data, {1: "B"}, expected=[1])
    assert result.flat["n_expected"] == 1
    with pytest.raises(ValueError, match="expected indices"):
        evaluate(tmp_path, data, {1: "B"}, expected=[7])


def test_every_row_can_be_traced(tmp_path: Path) -> None:
    result = evaluate(tmp_path, benchmark(tmp_path, question(1)), {1: "(B)"})
    (line,) = read_jsonl(result.files.scores)[0]
    assert (line["answer"], line["strict_letter"], line["official_letter"]) == ("B", "B", "B")
    assert line["image_sha256"] == [f"{1:064d}"]


def judged(server: JudgeServer, tmp_path: Path) -> Judge:
    return Judge(
        JudgeSettings(
            base_url=server.base_url, api_key="k", cache_path=tmp_path / "cache.sqlite", retries=0
        )
    )


def test_a_judge_may_read_what_no_rule_can_read(tmp_path: Path) -> None:
    data = benchmark(tmp_path, *(question(index) for index in range(1, 5)))
    replies = {
        1: "It is the second of those that were offered.",
        2: "I see streaks of some kind, hard to say.",
        3: "B",
        4: None,
    }

    def answers(request: Request) -> Answer:
        assert "main degradation" not in request.text, "the judge must not see the question"
        return Answer.says("Option: 2" if "second of those" in request.text else "Option: 0")

    options = EvaluationOptions(extract_choices=True)
    with JudgeServer(answers) as server:
        result = evaluate(tmp_path, data, replies, judge=judged(server, tmp_path), options=options)
        assert server.calls == 2
        again = evaluate(tmp_path, data, replies, judge=judged(server, tmp_path), options=options)
        assert server.calls == 2
    assert result.flat["accuracy_strict"] == 0.25
    assert result.flat["accuracy_extracted"] == again.flat["accuracy_extracted"] == 0.5
    assert [row.letter_by for row in result.rows] == ["judge", "none", "letter", "none"]


def test_a_dead_judge_is_an_error_and_the_letters_are_on_disk(tmp_path: Path) -> None:
    data = benchmark(tmp_path, question(1), question(2))
    options = EvaluationOptions(extract_choices=True)
    settings = JudgeSettings(
        base_url="http://127.0.0.1:9/v1", api_key="k", cache_path=tmp_path / "c", retries=0
    )
    with pytest.raises(JudgeStopped):
        evaluate(tmp_path, data, {1: "hard to say", 2: "B"}, judge=Judge(settings), options=options)
    flat = json.loads((tmp_path / "M_MedQ_MCQ_test_score.json").read_text())
    assert flat["accuracy"] == 0.5
    assert json.loads((tmp_path / "M_MedQ_MCQ_test_manifest.json").read_text())["complete"] is False


def test_without_a_judge_nothing_is_extracted(tmp_path: Path) -> None:
    options = EvaluationOptions(extract_choices=True)
    result = evaluate(tmp_path, benchmark(tmp_path, question(1)), {1: "hm"}, options=options)
    assert "accuracy_extracted" not in result.flat
    assert any("no judge is configured" in note for note in result.notes)


def deg(index: int, level: str, **changes: Any) -> Any:
    return question(index, kind="deg", level=level, **changes)


def test_levels_are_compared_with_clean_images(tmp_path: Path) -> None:
    data = benchmark(tmp_path, deg(1, "L0"), deg(2, "L0"), deg(3, "L1"), deg(4, "L1"), deg(5, "L2"))
    result = evaluate(tmp_path, data, {1: "B", 2: "B", 3: "B", 4: "A", 5: "A"})
    assert result.flat["accuracy|level=L1"] == 0.5
    assert (result.flat["drop_L1"], result.flat["drop_L2"]) == (-0.5, -1.0)


def test_the_robustness_rule_knows_a_fifth_letter(tmp_path: Path) -> None:
    options = {letter: letter.lower() for letter in "ABCDE"}
    data = benchmark(tmp_path, deg(1, "L0", options=options, answer="E"))
    assert evaluate(tmp_path, data, {1: "E. e"}).flat["accuracy"] == 1.0


def test_trials_give_agreement_and_calibration(tmp_path: Path) -> None:
    data = benchmark(tmp_path, deg(1, "L0"), deg(2, "L0"))
    second = write(tmp_path, {1: "B", 2: "A"}, "second")
    third = write(tmp_path, {1: "B", 2: "C"}, "third")
    options = EvaluationOptions(trials=(str(second), str(third)))
    result = evaluate(tmp_path, data, {1: "B", 2: "B"}, options=options)
    # row 1: always B; row 2: B, A, C of four options
    second_row = 1 - math.log(3) / math.log(4)
    assert result.flat["n_trials"] == 3
    assert result.flat["accuracy_trials"] == pytest.approx((1 + 0.5 + 0.5) / 3)
    assert result.flat["confidence"] == pytest.approx((1 + second_row) / 2)
    assert result.flat["calibration_shift"] == pytest.approx((1 + second_row) / 2 - 2 / 3)


@pytest.mark.parametrize(
    ("letters", "n_options", "expected"),
    [("AAAA", 4, 1.0), ("ABCD", 4, 0.0), ("AB", 2, 0.0), ("A", 5, 1.0), ("AABB", 4, 0.5)],
)
def test_confidence_by_hand(letters: str, n_options: int, expected: float) -> None:
    assert vote_confidence(list(letters), n_options) == pytest.approx(expected)


def test_confidence_needs_answers_and_options() -> None:
    with pytest.raises(ValueError, match="expected answers"):
        vote_confidence([], 4)
    with pytest.raises(ValueError, match="expected answers"):
        vote_confidence(["A"], 1)
