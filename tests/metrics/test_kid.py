from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch
from torch_fidelity.metric_kid import kernel_poly, kid_features_to_metric, mmd2

from medbench_vlmeval.metrics import (
    kernel_distance,
    kernel_distance_spread,
    paired_kernel_distance,
)

from .feature_sets import normal

DEFAULTS = {"kid_kernel_poly_degree": 3, "kid_kernel_poly_gamma": None, "kid_kernel_poly_coef0": 1}


def by_loops(a: np.ndarray, b: np.ndarray, *, paired: bool = False) -> float:
    def kernel(x: np.ndarray, y: np.ndarray) -> float:
        return (float(x @ y) / len(x) + 1) ** 3

    def mean(pairs: list[float]) -> float:
        return sum(pairs) / len(pairs)

    within = [
        mean([kernel(x, y) for i, x in enumerate(it) for j, y in enumerate(it) if i != j])
        for it in (a, b)
    ]
    across = [
        kernel(x, y) for i, x in enumerate(a) for j, y in enumerate(b) if not paired or i != j
    ]
    return sum(within) - 2 * mean(across)


@pytest.mark.parametrize(("n", "m", "d"), [(6, 9, 4), (2, 2, 1), (12, 5, 30)])
def test_it_is_the_double_sum(n: int, m: int, d: int) -> None:
    a, b = normal(n, d, 1), normal(m, d, 2) + 0.5
    assert kernel_distance(a, b) == pytest.approx(by_loops(a, b), rel=1e-12)


def test_a_case_worked_by_hand() -> None:
    # D = 1. Within a: (0·1 + 1)³ = 1; within b: (2·3 + 1)³ = 343; across: 1, 1, 27, 64.
    assert kernel_distance([[0], [1]], [[2], [3]]) == pytest.approx(1 + 343 - 2 * 93 / 4)
    # Without partners (0 with 2, 1 with 3): 1 and 27.
    assert paired_kernel_distance([[0], [1]], [[2], [3]]) == pytest.approx(1 + 343 - 2 * 14)


def test_many_rows_are_summed_in_strips_to_the_same_value() -> None:
    a, b = normal(1500, 3, 1), normal(1100, 3, 2)
    across = ((a @ b.T) / 3 + 1) ** 3
    within = [((it @ it.T) / 3 + 1) ** 3 for it in (a, b)]
    means = [(k.sum() - k.trace()) / (len(k) * (len(k) - 1)) for k in within]
    assert kernel_distance(a, b) == pytest.approx(sum(means) - 2 * across.mean(), rel=1e-9)


@pytest.mark.parametrize("estimate", ["unbiased", "u-statistic"])
def test_it_agrees_with_torch_fidelity(estimate: str) -> None:
    a, b = normal(40, 16, 1), normal(40, 16, 2) + 0.3
    kernels = (kernel_poly(x, y, **DEFAULTS) for x, y in ((a, a), (a, b), (b, b)))
    ours = kernel_distance if estimate == "unbiased" else paired_kernel_distance
    assert ours(a, b) == pytest.approx(mmd2(*kernels, mmd_est=estimate), rel=1e-10)


def test_subsets_agree_with_torch_fidelity_within_their_spread() -> None:
    a, b = normal(300, 8, 1), normal(300, 8, 2) + 0.2
    theirs = kid_features_to_metric(
        torch.from_numpy(a), torch.from_numpy(b),
        kid_subsets=200, kid_subset_size=100, rng_seed=1, verbose=False, kid_kernel="poly",
    )  # fmt: skip
    ours = kernel_distance_spread(a, b, subset_size=100, n_subsets=200)
    mean, deviation = (theirs[f"kernel_inception_distance_{what}"] for what in ("mean", "std"))
    assert ours.mean == pytest.approx(mean, abs=4 * deviation / np.sqrt(200))
    assert ours.deviation == pytest.approx(deviation, rel=0.2)


def test_whole_sets_as_subsets_are_the_plain_value_without_spread() -> None:
    a, b = normal(20, 5, 1), normal(20, 5, 2)
    found = kernel_distance_spread(a, b, subset_size=20, n_subsets=5)
    assert found.mean == pytest.approx(kernel_distance(a, b), rel=1e-9)
    assert found.deviation == pytest.approx(0, abs=1e-12)


def test_few_images_leave_it_unbiased() -> None:
    draws = [
        kernel_distance(normal(8, 4, 2 * seed), normal(8, 4, 2 * seed + 1)) for seed in range(400)
    ]
    error = np.std(draws) / np.sqrt(len(draws))
    assert abs(np.mean(draws)) < 4 * error
    assert min(draws) < 0


def test_a_set_and_itself() -> None:
    a = normal(50, 8)
    assert kernel_distance(a, a) < 0
    assert paired_kernel_distance(a, a) == pytest.approx(0, abs=1e-14)


def test_pairs_bias_the_plain_value_and_not_the_paired_one() -> None:
    # Edits that are their references but for noise.
    plain, paired = [], []
    for seed in range(200):
        references, noise = normal(12, 6, 2 * seed), 0.1 * normal(12, 6, 2 * seed + 1)
        plain.append(kernel_distance(references + noise, references))
        paired.append(paired_kernel_distance(references + noise, references))
    assert np.mean(plain) < -4 * np.std(plain) / np.sqrt(200)
    assert abs(np.mean(paired)) < 4 * np.std(paired) / np.sqrt(200) + 0.02


def test_the_order_of_sets_and_rows_does_not_matter() -> None:
    a, b = normal(15, 4, 1), normal(11, 4, 2)
    assert kernel_distance(a, b) == pytest.approx(kernel_distance(b[::-1], a), rel=1e-12)


def test_equal_rows_are_the_kernel_of_the_two_values() -> None:
    a, b = np.full((4, 2), 1.0), np.full((3, 2), 2.0)
    assert kernel_distance(a, b) == pytest.approx(2**3 + 5**3 - 2 * 3**3)
    assert kernel_distance(a, a) == pytest.approx(0)


@pytest.mark.parametrize("measure", [kernel_distance, paired_kernel_distance])
@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (normal(1, 4), normal(1, 4), "n=1"),
        (normal(5, 4), normal(5, 3), "one dimension"),
        (normal(5, 3), np.full((5, 3), np.nan), "NaN or infinity in 5 rows of b"),
        (np.full((5, 3), 1e150), np.full((5, 3), 1e150), "scale them down"),
    ],
    ids=["one", "dims", "nan", "huge"],
)
def test_what_has_no_distance_is_refused(
    measure: Callable[..., float], a: np.ndarray, b: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        measure(a, b)


def test_pairs_need_sets_of_one_size() -> None:
    with pytest.raises(ValueError, match="expected pairs, got 5 and 6"):
        paired_kernel_distance(normal(5, 2), normal(6, 2))


@pytest.mark.parametrize(("size", "n_subsets"), [(1, 5), (11, 5), (5, 0)])
def test_subsets_that_cannot_be_drawn_are_refused(size: int, n_subsets: int) -> None:
    with pytest.raises(ValueError, match="2 to 10 images"):
        kernel_distance_spread(normal(10, 2), normal(20, 2), subset_size=size, n_subsets=n_subsets)
