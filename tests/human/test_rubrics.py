from __future__ import annotations

import pytest

from medbench_vlmeval.evaluation.medebench_metrics import METRICS as EDIT_METRICS
from medbench_vlmeval.evaluation.medq_reasoning_metrics import METRICS as TEXT_METRICS
from medbench_vlmeval.human.rubrics import CAPTIONS, EDITS, PAIRS, Dimension, Rubric
from medbench_vlmeval.judging.medebench import RUBRIC
from medbench_vlmeval.judging.medq import DIMENSIONS, rubric_of


def test_edits_are_rated_on_the_judges_scale() -> None:
    assert tuple(it.label.casefold() for it in EDITS.dimensions) == tuple(
        name.casefold() for name in RUBRIC.names
    )
    for dimension in EDITS.dimensions:
        assert (dimension.grades[0], dimension.grades[-1]) == (RUBRIC.low, RUBRIC.high)
        assert dimension.grade_per_unit == RUBRIC.high


@pytest.mark.parametrize(("rubric", "kind"), [(CAPTIONS, "caption"), (PAIRS, "paired")])
def test_descriptions_are_rated_on_the_judges_scale(rubric: Rubric, kind: str) -> None:
    assert rubric.names == DIMENSIONS
    for dimension in rubric.dimensions:
        assert dimension.grades == rubric_of(kind, dimension.name).allowed
        assert dimension.grade_per_unit == 1.0


@pytest.mark.parametrize(
    ("rubric", "metrics"),
    [(EDITS, EDIT_METRICS), (CAPTIONS, TEXT_METRICS), (PAIRS, TEXT_METRICS)],
    ids=["edits", "captions", "pairs"],
)
def test_columns_are_those_of_the_evaluation(rubric: Rubric, metrics: tuple[object, ...]) -> None:
    judged = {it.name: it.judged for it in metrics}  # type: ignore[attr-defined]
    for dimension in rubric.dimensions:
        assert judged[dimension.column]
        assert not any(judged[column] for column in dimension.computed)


@pytest.mark.parametrize(
    ("dimension", "allowed", "refused"),
    [
        (EDITS.dimensions[0], (0, 7.5, 10), (-0.5, 10.5)),
        (CAPTIONS.dimensions[3], (0, 1, 2), (0.5, 3)),
        (PAIRS.dimensions[3], (0, 2), (1, -2)),
    ],
    ids=["edits", "caption", "pair"],
)
def test_scales_take_what_the_judge_may_give(
    dimension: Dimension, allowed: tuple[float, ...], refused: tuple[float, ...]
) -> None:
    assert all(map(dimension.allows, allowed))
    assert not any(map(dimension.allows, refused))


def test_scales_are_told_in_words() -> None:
    assert EDITS.dimensions[0].scale == "a number from 0 to 10"
    assert CAPTIONS.dimensions[0].scale == "0, 1 or 2"
    assert PAIRS.dimensions[3].scale == "0 or 2"
