from __future__ import annotations

import math
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbench_vlmeval.metrics import agreement_rate, quadratic_weighted_kappa

GRADES = st.lists(
    st.tuples(st.sampled_from([0, 1, 2]), st.sampled_from([0, 1, 2])), min_size=1, max_size=60
)


def from_table(a: Sequence[int], b: Sequence[int], top: int = 2) -> float | None:
    """The definition, as a sum over the table of grades."""
    n = len(a)
    cells = [(i, j) for i in range(top + 1) for j in range(top + 1)]
    observed = sum(
        (i - j) ** 2 * sum(pair == (i, j) for pair in zip(a, b, strict=True)) / n for i, j in cells
    )
    chance = sum((i - j) ** 2 * a.count(i) / n * b.count(j) / n for i, j in cells)
    return 1 - observed / chance if chance else None


@pytest.mark.parametrize("grades", [[0, 1, 2], [0, 2], [0, 0, 0, 5]])
def test_equal_grades_agree_wholly(grades: list[int]) -> None:
    assert quadratic_weighted_kappa(grades, grades) == 1.0
    assert agreement_rate(grades, grades) == 1.0


def test_opposite_grades_are_minus_one() -> None:
    assert quadratic_weighted_kappa([0, 2], [2, 0]) == -1.0
    assert agreement_rate([0, 2], [2, 0]) == 0.0


def test_a_table_worked_by_hand() -> None:
    # Counts by (a, b): (0,0) 2, (1,1) 3, (2,2) 2, (0,1) 1, (2,1) 1, (0,2) 1. Observed weights
    # 1 + 1 + 4 = 6 of 10. Margins a 4, 3, 3 and b 2, 5, 3; by chance
    # (4*5 + 3*2 + 3*3 + 3*5 + 4*(4*3 + 3*2)) / 100 = 122 / 100.
    a = [0] * 2 + [1] * 3 + [2] * 2 + [0, 2, 0]
    b = [0] * 2 + [1] * 3 + [2] * 2 + [1, 1, 2]
    assert quadratic_weighted_kappa(a, b) == pytest.approx(1 - 0.6 / 1.22)
    assert agreement_rate(a, b) == pytest.approx(0.7)


def test_independent_raters_agree_by_chance_only() -> None:
    a = [grade for grade in (0, 1, 2) for _ in range(3)]
    assert quadratic_weighted_kappa(a, [0, 1, 2] * 3) == pytest.approx(0.0, abs=1e-12)


@given(GRADES)
def test_it_is_the_sum_over_the_table(pairs: list[tuple[int, int]]) -> None:
    a, b = [first for first, _ in pairs], [second for _, second in pairs]
    expected = from_table(a, b)
    found = quadratic_weighted_kappa(a, b)
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-12)


@given(GRADES)
def test_the_order_of_the_raters_does_not_matter(pairs: list[tuple[int, int]]) -> None:
    a, b = [first for first, _ in pairs], [second for _, second in pairs]
    one_way, other_way = quadratic_weighted_kappa(a, b), quadratic_weighted_kappa(b, a)
    if one_way is None:
        assert other_way is None
    else:
        assert one_way == pytest.approx(other_way, abs=1e-12)
    assert agreement_rate(a, b) == agreement_rate(b, a)


def test_distances_are_those_of_the_grades() -> None:
    near = quadratic_weighted_kappa([0, 1, 9, 9], [1, 0, 9, 9])
    far = quadratic_weighted_kappa([0, 1, 2, 2], [1, 0, 2, 2])
    assert near is not None
    assert far is not None
    assert near > far


def test_without_cases_nothing_is_defined() -> None:
    assert quadratic_weighted_kappa([], []) is None
    assert agreement_rate([], []) is None


@pytest.mark.parametrize("grade", [2.0, 0.1])
def test_one_grade_throughout_leaves_kappa_undefined(grade: float) -> None:
    assert quadratic_weighted_kappa([grade] * 3, [grade] * 3) is None
    assert agreement_rate([grade] * 3, [grade] * 3) == 1.0


@pytest.mark.parametrize("other", [[0, 1, 2], [0, 0, 0]], ids=["varying", "constant"])
def test_a_constant_rater_agrees_by_chance_only(other: list[int]) -> None:
    assert quadratic_weighted_kappa([2, 2, 2], other) == 0.0
    assert quadratic_weighted_kappa(other, [0.7, 0.7, 0.7]) == 0.0


@pytest.mark.parametrize(
    ("a", "b"), [([0, 1], [0]), ([[0, 1]], [[0, 1]]), ([0, math.nan], [0, 1]), ([math.inf], [0])]
)
def test_what_is_no_pair_of_raters_is_refused(a: list[float], b: list[float]) -> None:
    for measure in (quadratic_weighted_kappa, agreement_rate):
        with pytest.raises(ValueError, match="expected"):
            measure(a, b)
