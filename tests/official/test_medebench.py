from __future__ import annotations

import json
import math
from typing import Any

import pytest

from medbench_vlmeval.official.medebench import (
    JUDGED,
    ORGAN_COUNTS,
    ORGANS,
    canonical_organ,
    judge_scores,
)
from tests.shared import shared_path

FAILED = dict.fromkeys(JUDGED, -1.0)


def published(name: str) -> dict[str, Any]:
    return json.loads(shared_path(f"data/{name}").read_text(encoding="utf-8"))


def three_lines(accuracy: str, context: str = ": 9/10", quality: str = ": 7/10") -> str:
    return "\n".join(
        f"- {name}{value}" for name, value in zip(JUDGED, (accuracy, context, quality), strict=True)
    )


@pytest.mark.parametrize(
    ("accuracy", "expected"),
    [
        pytest.param(": 8/10", 8, id="requested_format"),
        pytest.param(": 8", 8, id="no_denominator"),
        pytest.param(" : 7.5 / 10", 7.5, id="blanks"),
        pytest.param(": 8/100", 8, id="denominator_is_not_checked"),
        pytest.param(": 85", 85, id="range_is_not_checked"),
        pytest.param(": 8/10 and Visual Quality", 8, id="first_name_of_the_line_counts"),
        pytest.param(": 8:9", 8, id="up_to_the_second_colon"),
        pytest.param(": 1e1", 10, id="any_float"),
    ],
)
def test_line_is_read_from_colon_to_slash(accuracy: str, expected: float) -> None:
    scores = judge_scores(three_lines(accuracy))
    assert scores == dict(zip(JUDGED, (expected, 9, 7), strict=True))


@pytest.mark.parametrize(
    "accuracy",
    [":** 8/10", ": [8]/10", "：8/10", " 8/10", ": 8 out of 10", " (0-10):** 8", ": -1", ""],
)
def test_one_unreadable_score_fails_all_three(accuracy: str) -> None:
    assert judge_scores(three_lines(accuracy)) == FAILED


@pytest.mark.parametrize("reply", [None, 3, "", "I cannot evaluate this"])
def test_reply_without_scores_is_minus_one(reply: object) -> None:
    assert judge_scores(reply) == FAILED


def test_later_lines_overwrite_and_unreadable_ones_do_not() -> None:
    reply = three_lines(": 3/10") + "\nEditing Accuracy: 8/10\nEditing Accuracy: good"
    assert judge_scores(reply)["Editing Accuracy"] == 8


def test_not_a_number_is_kept_as_published() -> None:
    assert math.isnan(judge_scores(three_lines(": nan"))["Editing Accuracy"])


def test_organs_are_those_of_the_released_metadata() -> None:
    schema = published("medebench_schema.json")
    assert sorted(ORGANS) == sorted(schema["organs"])
    assert sum(ORGAN_COUNTS.values()) == schema["n_samples"]


def test_counts_are_the_published_ones() -> None:
    organs = published("medebench_organs.json")["organs"]
    assert {canonical_organ(name): row["count"] for name, row in organs.items()} == ORGAN_COUNTS


@pytest.mark.parametrize(
    ("label", "organ"),
    [
        ("Skin", "Skin"),
        (" skin ", "Skin"),
        ("Spine", "Spine and Bones"),
        ("Bones", "Spine and Bones"),
        ("Spine/Bones", "Spine and Bones"),
        ("spine_and_bones", "Spine and Bones"),
        ("GI Tract", "Gastrointestinal Tract"),
        ("GI tract", "Gastrointestinal Tract"),
        ("Gastrointestinal Tract", "Gastrointestinal Tract"),
        ("Ear", "Ears"),
        ("Foot", "Feet"),
        ("Brain", None),
        ("", None),
    ],
)
def test_organ_labels_are_recognised(label: str, organ: str | None) -> None:
    assert canonical_organ(label) == organ


def test_every_label_of_the_published_tables_is_known() -> None:
    table = published("medebench_table2_per_organ.json")
    labels = {label for rows in table["models"].values() for label in rows}
    labels |= set(table["organ_label_map"])
    assert None not in {canonical_organ(label) for label in labels}


def sample_weighted(rows: dict[str, dict[str, float]], metric: str) -> float:
    counts = {label: ORGAN_COUNTS[str(canonical_organ(label))] for label in rows}
    total = sum(counts[label] * row[metric] for label, row in rows.items())
    return total / sum(counts.values())


ROUNDING = 0.005
"""Half a unit of the last printed digit; organ rows err by as much, in either direction."""

EXCEPTIONS = {("icedit", "EA"): 0.04, ("instruct-diffusion", "EA"): 0.006}
"""Overall values that the organ rows do not reproduce: a probable misprint, and rounding."""


def test_published_overall_is_the_sample_weighted_mean_of_the_organs() -> None:
    overall = published("medebench_table2_overall.json")["models"]
    organs = published("medebench_table2_per_organ.json")["models"]
    assert set(overall) == set(organs)
    checked = 0
    for model, rows in organs.items():
        assert len(rows) == len(ORGANS)
        for metric in ("EA", "CP", "VQ"):
            difference = abs(sample_weighted(rows, metric) - overall[model][metric])
            assert difference <= EXCEPTIONS.get((model, metric), ROUNDING) + 1e-9, (model, metric)
            checked += 1
    assert checked == 21


def test_the_one_misprint_stays_a_misprint() -> None:
    overall = published("medebench_table2_overall.json")["models"]["icedit"]["EA"]
    organs = published("medebench_table2_per_organ.json")["models"]["icedit"]
    assert overall == 0.60
    assert sample_weighted(organs, "EA") == pytest.approx(0.639, abs=0.0005)


def test_published_overall_is_not_the_plain_mean_of_the_organs() -> None:
    overall = published("medebench_table2_overall.json")["models"]
    organs = published("medebench_table2_per_organ.json")["models"]
    plain = sum(row["EA"] for row in organs["instruct-pix2pix"].values()) / len(ORGANS)
    assert abs(plain - overall["instruct-pix2pix"]["EA"]) > 0.05
