from __future__ import annotations

import math
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbench_vlmeval.metrics.agreement import cohen_kappa, quadratic_weighted_kappa
from medbench_vlmeval.metrics.reliability import (
    intraclass_correlation,
    krippendorff_alpha,
    undefined_because,
)

# The table of Shrout and Fleiss (1979), four raters and six cases, and four of our own.
TABLES = {
    "shrout_fleiss": [
        [9, 6, 8, 7, 10, 6],
        [2, 1, 4, 1, 5, 2],
        [5, 3, 6, 2, 6, 4],
        [8, 2, 8, 6, 9, 7],
    ],
    "close": [[8, 7, 10, 3, 0, 5, 9, 9, 2, 6], [7, 7, 9, 4, 1, 5, 10, 8, 2, 4]],
    "always_ten": [[10] * 6, [3, 5, 8, 10, 9, 1]],
    "two_points_apart": [[1, 2, 3, 4], [3, 4, 5, 6]],
    "three_grades": [[0, 1, 2, 2, 1, 0, 0], [0, 1, 1, 2, 2, 0, 1], [0, 2, 2, 2, 1, 0, 0]],
}
# pingouin 0.7.0, intraclass_corr: ICC(A,1) and ICC(C,1)
PINGOUIN = {
    "shrout_fleiss": (0.28976377952755916, 0.7148407148407154),
    "close": (0.9501108647450109, 0.9469613259668507),
    "always_ten": (0.0, 0.0),
    "two_points_apart": (0.45454545454545453, 1.0),
    "three_grades": (0.7623762376237624, 0.7403846153846154),
}
# scikit-learn 1.9.1, cohen_kappa_score: plain, and weights="quadratic" with labels 0 to 10
SCIKIT_LEARN = {
    "close": (0.23913043478260876, 0.9448732083792724),
    "always_ten": (0.0, 0.0),
    "two_points_apart": (-0.1428571428571428, 0.3846153846153846),
}
RATINGS = st.lists(
    st.tuples(*[st.one_of(st.just(math.nan), st.integers(0, 4).map(float))] * 3),
    min_size=1,
    max_size=12,
).map(lambda cases: np.array(cases).T)


def alpha_by_definition(table: np.ndarray) -> float | None:
    """One less observed over expected disagreement, pair by pair."""
    cases = [column[~np.isnan(column)] for column in table.T]
    cases = [case for case in cases if len(case) >= 2]
    values = np.concatenate(cases) if cases else np.array([])
    if not len(values) or (values == values[0]).all():
        return None
    observed = sum(((case[:, None] - case) ** 2).sum() / (len(case) - 1) for case in cases) / len(
        values
    )
    expected = ((values[:, None] - values) ** 2).sum() / (len(values) * (len(values) - 1))
    return float(1 - observed / expected)


@pytest.mark.parametrize("name", TABLES)
def test_intraclass_correlations_are_those_of_pingouin(name: str) -> None:
    assert intraclass_correlation(TABLES[name]) == pytest.approx(PINGOUIN[name], abs=1e-12)


def test_the_published_table_gives_the_published_correlations() -> None:
    found = intraclass_correlation(TABLES["shrout_fleiss"])
    assert (round(found.agreement, 2), round(found.consistency, 2)) == (0.29, 0.71)


@pytest.mark.parametrize("name", SCIKIT_LEARN)
def test_kappas_are_those_of_scikit_learn(name: str) -> None:
    found = cohen_kappa(*TABLES[name]), quadratic_weighted_kappa(*TABLES[name])
    assert found == pytest.approx(SCIKIT_LEARN[name], abs=1e-12)


def test_alpha_of_the_table_that_the_literature_works_through() -> None:
    # Krippendorff, "Computing Krippendorff's alpha-reliability" (2011), four observers.
    gap = math.nan
    table = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, gap, gap, gap],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, gap, 3],
        [gap, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, gap],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, gap],
    ]
    found = {level: krippendorff_alpha(table, level=level) for level in ("nominal", "interval")}
    assert found == pytest.approx({"nominal": 0.743, "interval": 0.849}, abs=5e-4)


@given(RATINGS)
def test_alpha_is_what_its_definition_gives(table: np.ndarray) -> None:
    found, expected = krippendorff_alpha(table), alpha_by_definition(table)
    assert (found is None) == (expected is None) == bool(undefined_because(table))
    if expected is not None:
        assert found == pytest.approx(expected, abs=1e-9)


@given(RATINGS)
def test_the_order_of_the_raters_does_not_matter(table: np.ndarray) -> None:
    assert intraclass_correlation(table) == pytest.approx(
        intraclass_correlation(table[::-1]), abs=1e-9
    )


def test_equal_ratings_agree_wholly() -> None:
    table = [[1, 5, 9], [1, 5, 9]]
    assert intraclass_correlation(table) == (1.0, 1.0)
    assert krippendorff_alpha(table) == 1.0
    assert cohen_kappa(*table) == 1.0


def test_unweighted_kappa_does_not_care_how_far_grades_lie_apart() -> None:
    assert cohen_kappa([0, 1, 9, 9], [1, 0, 9, 9]) == cohen_kappa([0, 1, 2, 2], [1, 0, 2, 2])


def test_a_kappa_worked_by_hand() -> None:
    # 3 of 4 equal; by chance 1/2 * 1/4 + 1/2 * 3/4 = 1/2
    assert cohen_kappa([0, 0, 1, 1], [0, 1, 1, 1]) == pytest.approx(0.5)


@pytest.mark.parametrize(
    ("table", "reason"),
    [
        ([[10, 10, 10], [10, 10, 10]], "every rating is 10"),
        ([[1, 2, math.nan], [math.nan, math.nan, 3]], "no case was rated twice"),
        ([[1, 2, 3]], "no case was rated twice"),
        ([[], []], "no case was rated twice"),
    ],
    ids=["all_equal", "never_both", "one_rater", "no_cases"],
)
def test_what_cannot_be_told_has_no_number_but_a_reason(
    table: list[list[float]], reason: str
) -> None:
    assert reason in undefined_because(table)
    assert krippendorff_alpha(table) is None
    assert intraclass_correlation(table) == (None, None)


def test_one_case_gives_alpha_but_no_correlation() -> None:
    assert undefined_because([[1], [3]]) == ""
    assert krippendorff_alpha([[1], [3]]) == pytest.approx(0.0)
    assert intraclass_correlation([[1], [3]]) == (None, None)


def test_a_case_without_one_rating_is_left_out_of_the_correlation() -> None:
    whole, with_gap = [[1, 5, 9], [2, 5, 8]], [[1, 5, 9, 4], [2, 5, 8, math.nan]]
    assert intraclass_correlation(with_gap) == intraclass_correlation(whole)


@pytest.mark.parametrize("table", [[1, 2, 3], [[1, math.inf], [1, 2]]], ids=["flat", "infinite"])
def test_what_is_no_table_of_ratings_is_refused(table: list[object]) -> None:
    for measure in (krippendorff_alpha, intraclass_correlation, undefined_because):
        with pytest.raises(ValueError, match="expected"):
            measure(table)


@pytest.mark.parametrize(("a", "b"), [([0, 1], [0]), ([0, math.nan], [0, 1])])
def test_kappa_refuses_what_is_no_pair_of_raters(a: list[float], b: list[float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        cohen_kappa(a, b)


def test_without_the_library_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with pytest.raises(ImportError, match=r'pip install "medbench-vlmeval\[agreement\]"'):
        krippendorff_alpha([[1, 2], [2, 1]])
