from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from scipy.stats import spearmanr

from medbench_vlmeval.human.reliability import FEWEST_CLUSTERS, agreement, rank_correlation
from medbench_vlmeval.human.weighted import (
    Columns,
    weighted_kappa,
    weighted_means,
    weighted_spearman,
)
from medbench_vlmeval.metrics import quadratic_weighted_kappa

HAND_A = [0.0] * 2 + [1.0] * 3 + [2.0] * 2 + [0.0, 2.0, 0.0]
HAND_B = [0.0] * 2 + [1.0] * 3 + [2.0] * 2 + [1.0, 1.0, 2.0]
"""Counts by (a, b): (0,0) 2, (1,1) 3, (2,2) 2, (0,1) 1, (2,1) 1, (0,2) 1."""


def from_table(a: Sequence[float], b: Sequence[float], categories: Sequence[float]) -> float:
    """Cohen's kappa by its definition, over a table of all categories, used or not."""
    table = np.zeros((len(categories), len(categories)))
    for first, second in zip(a, b, strict=True):
        table[categories.index(first), categories.index(second)] += 1
    grades = np.asarray(categories)
    weights = (grades[:, None] - grades[None, :]) ** 2
    chance = np.outer(table.sum(axis=1), table.sum(axis=0)) / table.sum()
    return float(1 - (weights * table).sum() / (weights * chance).sum())


def ratings(seed: int, n: int = 60, top: int = 10) -> tuple[list[float], list[float]]:
    generator = np.random.default_rng(seed)
    first = generator.integers(0, top + 1, n)
    second = np.clip(first + generator.integers(-2, 3, n), 0, top)
    return first.astype(float).tolist(), second.astype(float).tolist()


def test_equal_ratings_agree_wholly_with_an_interval_of_one_point() -> None:
    first, _ = ratings(1)
    found = agreement(first, first, range(60))
    for measure in (found.kappa, found.spearman, found.exact, found.within_one):
        assert measure.value == pytest.approx(1.0)
        assert (measure.low, measure.high) == (pytest.approx(1.0), pytest.approx(1.0))
    assert found.mean_difference.value == 0.0
    assert (found.n, found.n_clusters) == (60, 60)


def test_a_table_worked_by_hand() -> None:
    found = agreement(HAND_A, HAND_B, range(10))
    assert found.kappa.value == pytest.approx(1 - 0.6 / 1.22)
    assert found.exact.value == pytest.approx(0.7)
    assert found.within_one.value == pytest.approx(0.9)
    assert found.mean_difference.value == pytest.approx(-0.2)
    # Ranks of a: 0 -> 2.5, 1 -> 6, 2 -> 9; of b: 0 -> 1.5, 1 -> 5, 2 -> 9; both about 5.5.
    products = 2 * 3 * 4 - 3 * 0.5 * 0.5 + 2 * 3.5 * 3.5 + 3 * 0.5 - 3.5 * 0.5 - 3 * 3.5
    spread_a = 4 * 9 + 3 * 0.25 + 3 * 12.25
    spread_b = 2 * 16 + 5 * 0.25 + 3 * 12.25
    assert found.spearman.value == pytest.approx(products / (spread_a * spread_b) ** 0.5)


@pytest.mark.parametrize("seed", range(5))
def test_kappa_is_the_sum_over_the_table_also_with_unused_categories(seed: int) -> None:
    first, second = ratings(seed, n=25, top=6)
    everything = [float(grade) for grade in range(11)]
    found = agreement(first, second, range(25)).kappa.value
    assert found == pytest.approx(from_table(first, second, everything))


def test_kappa_takes_grades_two_apart_as_two_apart() -> None:
    first, second = [0.0, 2.0, 2.0, 0.0, 2.0], [0.0, 2.0, 0.0, 0.0, 2.0]
    found = agreement(first, second, range(5), step=2)
    assert found.kappa.value == pytest.approx(from_table(first, second, [0.0, 2.0]))
    assert found.within_one.value is None
    assert "share of equal ones" in found.within_one.why


def test_symmetry() -> None:
    first, second = ratings(2)
    one, other = agreement(first, second, range(60)), agreement(second, first, range(60))
    assert one.kappa.value == pytest.approx(other.kappa.value)
    assert one.spearman.value == pytest.approx(other.spearman.value)
    assert one.mean_difference.value == pytest.approx(-(other.mean_difference.value or 0))


@pytest.mark.parametrize(
    ("first", "second", "why"),
    [
        ([7.0] * 12, list(map(float, range(12))), "A gave 7 to every item"),
        (list(map(float, range(12))), [3.5] * 12, "the judge gave 3.5 to every item"),
        ([7.0] * 12, [7.0] * 12, "A gave 7 to every item and the judge gave 7 to every item"),
        ([], [], "no items rated by both"),
        ([1.0], [2.0], "one item only"),
    ],
    ids=["constant rater", "constant judge", "both constant", "nothing", "one item"],
)
def test_what_depends_on_no_item_is_a_reason_and_no_number(
    first: list[float], second: list[float], why: str
) -> None:
    found = agreement(first, second, range(len(first)), names=("A", "the judge"))
    for measure in (found.kappa, found.spearman):
        assert (measure.value, measure.low, measure.high) == (None, None, None)
        assert measure.why == why
    assert (found.exact.value is None) == (not first)


def test_means_of_raters_have_no_share_of_equal_grades() -> None:
    found = agreement([1.5, 2.0, 0.5], [1.0, 2.0, 0.0], range(3), averaged=True)
    assert found.exact.value is None
    assert found.exact.why == "means of raters lie between the grades"
    assert found.within_one.value == 1.0


def test_few_source_images_have_values_and_no_interval() -> None:
    first, second = ratings(3, n=40)
    few = [position % (FEWEST_CLUSTERS - 1) for position in range(40)]
    found = agreement(first, second, few)
    assert found.kappa.value is not None
    assert (found.kappa.low, found.kappa.high) == (None, None)
    assert found.kappa.why == "no interval: 9 source images, fewer than 10"


def test_a_column_that_is_almost_constant_has_no_interval() -> None:
    first = [5.0] * 19 + [6.0]
    found = agreement(first, ratings(4, n=20)[0], range(20))
    assert found.spearman.value is not None
    assert "undefined in" in found.spearman.why
    assert found.mean_difference.why == ""


def test_items_of_one_image_are_drawn_together() -> None:
    first, second = ratings(5, n=20)
    alone = agreement(first, second, range(20)).mean_difference
    repeated = agreement(first * 4, second * 4, list(range(20)) * 4).mean_difference
    assert repeated.value == pytest.approx(alone.value)
    assert (repeated.low, repeated.high) == (pytest.approx(alone.low), pytest.approx(alone.high))


def test_the_interval_covers_the_value_and_is_the_same_again() -> None:
    first, second = ratings(6)
    one, again = (agreement(first, second, range(60)) for _ in range(2))
    for measure in (one.kappa, one.spearman, one.exact, one.mean_difference):
        assert measure.low is not None
        assert measure.high is not None
        assert measure.low <= measure.value <= measure.high
        assert measure.low < measure.high
    assert one == again


@pytest.mark.parametrize("seed", range(4))
def test_weights_are_repetitions(seed: int) -> None:
    first, second = ratings(seed, n=30, top=5)
    columns = Columns.of(first, second)
    weights = np.random.default_rng(seed).integers(0, 4, (6, 30)).astype(float)
    kappa, rho = weighted_kappa(columns, weights), weighted_spearman(columns, weights)
    means = weighted_means(columns, weights)
    for row, counts in enumerate(weights.astype(int)):
        a, b = np.repeat(first, counts), np.repeat(second, counts)
        assert kappa[row] == pytest.approx(quadratic_weighted_kappa(a, b))
        assert rho[row] == pytest.approx(spearmanr(a, b).statistic)
        assert means["exact"][row] == pytest.approx((a == b).mean())
        assert means["mean_difference"][row] == pytest.approx((a - b).mean())


def test_a_resample_without_variety_is_undefined() -> None:
    columns = Columns.of([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    weights = np.array([[1.0, 2.0, 0.0]])
    assert np.isnan(weighted_kappa(columns, weights)).all()
    assert np.isnan(weighted_spearman(columns, weights)).all()


def test_columns_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="flat columns of one length"):
        agreement([1.0], [1.0, 2.0], range(1))
    with pytest.raises(ValueError, match="finite grades"):
        agreement([1.0, float("nan")], [1.0, 2.0], range(2))
    with pytest.raises(ValueError, match="cluster labels"):
        agreement([1.0, 2.0], [1.0, 2.0], ["a"])


def test_rank_correlation_takes_scales_of_their_own() -> None:
    assert rank_correlation([1, 2, 3], [0.1, 0.5, 70], ("a", "b")).value == pytest.approx(1.0)
    assert rank_correlation([1, 2, 3], [5, 5, 5], ("a", "b")).why == "b gave 5 to every item"
