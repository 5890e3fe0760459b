"""Quality accuracy without a judge, and how well the judge agrees with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.evaluation.medq_reasoning import evaluate_medq_reasoning
from medbench_vlmeval.judging.medq import ReasoningKind
from medbench_vlmeval.types import Status

from ..judging.server import JudgeServer
from .medq_reasoning_cases import CLOSINGS, host_like, judge_script, judged, predict, table, text

FIRST = "Overall, the first image is of higher quality."
SECOND = "Overall, the second image provides higher visual quality."


@pytest.mark.parametrize(
    ("kind", "reference", "reply", "points"),
    [
        ("caption", CLOSINGS["good"], CLOSINGS["good"], 2.0),
        ("caption", CLOSINGS["good"], CLOSINGS["usable"], 1.0),
        ("caption", CLOSINGS["good"], CLOSINGS["reject"], 0.0),
        ("caption", CLOSINGS["usable"], CLOSINGS["reject"], 1.0),
        ("paired", FIRST, FIRST, 2.0),
        ("paired", FIRST, SECOND, 0.0),
    ],
)
def test_points_fall_with_the_distance_of_the_verdicts(
    tmp_path: Path, kind: ReasoningKind, reference: str, reply: str, points: float
) -> None:
    data = table(tmp_path, 1, kind, {1: {"description": reference}})
    path = predict(tmp_path, {1: reply})
    result = evaluate_medq_reasoning(path, data, templates=host_like(kind))
    assert result.flat["quality_accuracy_read"] == points


def test_a_reply_without_a_verdict_is_worst_and_a_reference_without_one_is_left_out(
    tmp_path: Path,
) -> None:
    data = table(tmp_path, 4, changes={3: {"description": "Blurred."}})
    cut = f"<think>It may be that {CLOSINGS['usable']}"
    path = predict(tmp_path, {1: text(1), 2: "Blurred.", 3: text(3), 4: cut})
    result = evaluate_medq_reasoning(path, data, templates=host_like())
    found = [row.scores["quality_accuracy_read"] for row in result.rows]
    assert [(score.status, score.model_fault) for score in found] == [
        (Status.ANSWER, False),
        (Status.UNPARSED, True),
        (Status.DATA_ERROR, False),
        (Status.TRUNCATED, True),
    ]
    assert result.flat["quality_accuracy_read"] == pytest.approx(2 / 3)
    assert result.flat["quality_accuracy_read_n"] == 3


def test_the_judge_is_held_against_it(tmp_path: Path) -> None:
    data = table(tmp_path, 5, changes={5: {"description": "Blurred."}})
    grades = {1: "usable", 2: "good", 3: "reject", 4: "usable", 5: "good"}
    path = predict(tmp_path, {index: text(index, grade) for index, grade in grades.items()})
    # Read: 2, 1, 1, 2, and nothing for the last. The judge differs once.
    points = {1: (2, 2, 2, 2), 2: (2, 2, 2, 1), 3: (2, 2, 2, 2), 4: (2, 2, 2, 2)}
    with JudgeServer(judge_script(points)) as server:
        result = judged(path, data, server)
    assert result.flat["quality_agreement"] == 0.75
    assert result.flat["quality_agreement_n"] == 4
    # Chance: variances 1/4 and 3/16, means 1.5 and 1.75; observed 1/4.
    assert result.flat["quality_kappa"] == pytest.approx(1 - 0.25 / (0.25 + 3 / 16 + 1 / 16))
    assert "75.0% of 4 descriptions" in result.notes[0]


def test_without_judged_rows_there_is_nothing_to_hold_against(tmp_path: Path) -> None:
    path = predict(tmp_path, {1: text(1)})
    result = evaluate_medq_reasoning(path, table(tmp_path), templates=host_like())
    assert not {"quality_agreement", "quality_kappa"} & set(result.flat)
    assert result.notes == ()
