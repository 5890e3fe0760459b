from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.linalg
import torch
from torch_fidelity.metric_fid import fid_features_to_statistics, fid_statistics_to_metric

from medbench_vlmeval.metrics import frechet_distance, measured_frechet, noise_floor

from ..shared import shared_cases
from .feature_sets import normal, rotation, with_moments


def by_matrix_root(a: np.ndarray, b: np.ndarray) -> float:
    """The definition, with the root of the product of covariances."""
    covariances = np.cov(a, rowvar=False), np.cov(b, rowvar=False)
    root = scipy.linalg.sqrtm(covariances[0] @ covariances[1])
    shift = a.mean(axis=0) - b.mean(axis=0)
    return float(shift @ shift + np.trace(covariances[0] + covariances[1] - 2 * np.real(root)))


@pytest.mark.parametrize(("n", "m", "d"), [(300, 300, 16), (200, 500, 64), (90, 70, 8)])
def test_it_is_the_definition_where_that_is_well_conditioned(n: int, m: int, d: int) -> None:
    a, b = normal(n, d, 1), 0.3 + normal(m, d, 2) @ (np.eye(d) + 0.1 * normal(d, d, 3))
    assert frechet_distance(a, b) == pytest.approx(by_matrix_root(a, b), rel=1e-6)


def test_it_agrees_with_torch_fidelity() -> None:
    a, b = normal(400, 32, 1), 1.2 * normal(300, 32, 2) + 0.1
    theirs = fid_statistics_to_metric(
        *(fid_features_to_statistics(torch.from_numpy(it)) for it in (a, b)), verbose=False
    )
    assert frechet_distance(a, b) == pytest.approx(theirs["frechet_inception_distance"], rel=1e-6)


@pytest.mark.parametrize(("n", "m", "d"), [(50, 60, 12), (500, 40, 5)])
def test_gaussians_of_known_distance(n: int, m: int, d: int) -> None:
    # Covariances with the same eigenvectors: the roots of the eigenvalues differ, squared.
    first, second = np.linspace(0.5, 3, d), np.linspace(2, 0.1, d)
    axes = rotation(d)
    a = with_moments(np.zeros(d), first[:, None] * axes, n, seed=1)
    b = with_moments(np.full(d, 0.7), second[:, None] * axes, m, seed=2)
    expected = d * 0.49 + np.square(first - second).sum()
    assert frechet_distance(a, b) == pytest.approx(expected, rel=1e-12)


def test_fewer_images_than_dimensions_lose_no_digits() -> None:
    # Both sets lie in the same 9 of 200 dimensions, where their distance is known.
    first, second = np.linspace(1, 3, 9), np.linspace(2, 0.5, 9)
    axes = rotation(200)[:9]
    a = with_moments(np.zeros(200), first[:, None] * axes, 10, seed=1)
    b = with_moments(np.zeros(200), second[:, None] * axes, 10, seed=2)
    assert frechet_distance(a, b) == pytest.approx(np.square(first - second).sum(), rel=1e-12)


def test_sets_without_a_direction_in_common() -> None:
    # Nothing to share: the distance is the sum of both spreads.
    a = np.array([[1.0, 0, 0], [-1, 0, 0]])
    b = np.array([[0, 2.0, 0], [0, -2, 0]])
    assert frechet_distance(a, b) == pytest.approx(2 + 8)


@pytest.mark.parametrize(("n", "d"), [(40, 7), (7, 40), (2, 3)])
def test_a_set_has_no_distance_from_itself_in_any_order(n: int, d: int) -> None:
    a = normal(n, d) * 1000 + 5000
    assert 0 <= frechet_distance(a, a[::-1]) < 1e-6
    assert measured_frechet(a, a).value >= 0


@pytest.mark.parametrize(("n", "d"), [(40, 7), (7, 40)])
def test_it_does_not_change_with(n: int, d: int) -> None:
    a, b = normal(n, d, 1), normal(n + 3, d, 2) * 2 + 1
    whole = frechet_distance(a, b)
    assert frechet_distance(b, a) == pytest.approx(whole, rel=1e-12)
    assert frechet_distance(a + 7, b + 7) == pytest.approx(whole, rel=1e-9)
    turn = rotation(d)
    assert frechet_distance(a @ turn, b @ turn) == pytest.approx(whole, rel=1e-9)
    assert frechet_distance(3 * a, 3 * b) == pytest.approx(9 * whole, rel=1e-9)


def test_a_shift_adds_its_square() -> None:
    a = normal(30, 6)
    assert frechet_distance(a, a + 2) == pytest.approx(24, rel=1e-12)


def test_sets_of_equal_rows_differ_by_their_means_only() -> None:
    a, b = np.full((5, 4), 0.1), np.full((7, 4), 0.3)
    assert frechet_distance(a, b) == pytest.approx(4 * 0.04)
    assert measured_frechet(a, b).flags == {"duplicates", "constant"}


def test_a_set_of_equal_rows_against_a_spread_one() -> None:
    b = normal(50, 4)
    expected = np.square(b.mean(axis=0)).sum() + np.cov(b, rowvar=False).trace()
    assert frechet_distance(np.zeros((3, 4)), b) == pytest.approx(expected)


def test_repeating_every_image_is_flagged_and_does_not_hide_the_count() -> None:
    a = normal(30, 4)
    twice = measured_frechet(np.concatenate([a, a]), normal(60, 4, 1))
    assert "duplicates" in twice.flags
    assert (twice.n_a, twice.rank_a) == (60, 4)


def test_half_precision_features_are_summed_in_double() -> None:
    a, b = normal(50, 8, 1).astype(np.float16), normal(50, 8, 2).astype(np.float16)
    wide = frechet_distance(a.astype(np.float64), b.astype(np.float64))
    assert frechet_distance(a, b) == wide


def test_parts_ranks_and_floor_of_a_measurement() -> None:
    a, b = normal(30, 100, 1) + 1, normal(40, 100, 2)
    found = measured_frechet(a, b, n_splits=3)
    assert found.value == frechet_distance(a, b)
    assert found.mean_part + found.covariance_part == pytest.approx(found.value)
    assert (found.n_a, found.n_b, found.dim, found.rank_a, found.rank_b) == (30, 40, 100, 29, 39)
    assert found.flags == {"n<d"}
    floor = found.noise_floor
    assert floor is not None
    assert (floor.n_half, floor.n_splits) == (20, 3)
    assert floor == noise_floor(b, n_splits=3)
    assert 0 < floor.low <= floor.mean <= floor.high


def test_the_floor_falls_with_the_number_of_images() -> None:
    floors = [noise_floor(normal(n, 32)).mean for n in (40, 160, 640)]
    assert floors[0] > 2 * floors[1] > 4 * floors[2] > 0


def test_sets_of_one_source_lie_below_the_floor() -> None:
    found = measured_frechet(normal(400, 16, 1), normal(400, 16, 2))
    assert found.noise_floor is not None
    assert found.value < found.noise_floor.low


def test_three_images_have_no_floor() -> None:
    assert measured_frechet(normal(3, 2), normal(3, 2, 1)).noise_floor is None
    with pytest.raises(ValueError, match="at least 4 images"):
        noise_floor(normal(3, 2))


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        (normal(1, 4), normal(5, 4), "n=1 in a"),
        (normal(5, 4), normal(0, 4), "n=0 in b"),
        (normal(5, 4), normal(5, 3), "got 4 in a and 3 in b"),
        (np.zeros(5), normal(5, 3), r"a of shape \(N, D\), got \(5,\)"),
        (normal(5, 0), normal(5, 0), r"shape \(N, D\)"),
        (normal(5, 3), np.array([[0, 1, 2], [0, np.nan, 2]]), "1 rows of b, first row 1"),
        (np.array([[np.inf, 1], [0, 1]]), normal(5, 2), "NaN or infinity in 1 rows of a"),
        (np.full((3, 2), 1e200) * [[1], [2], [3]], normal(5, 2), "scale them down"),
        (np.ones((3, 2)) * 1j, normal(5, 2), "real numbers, got complex128"),
        (np.array([["x"], ["y"]]), normal(5, 1), "real numbers"),
    ],
    ids=["one", "none", "dims", "flat", "no columns", "nan", "inf", "huge", "complex", "text"],
)
def test_what_has_no_distance_is_refused(a: np.ndarray, b: np.ndarray, message: str) -> None:
    for measure in (frechet_distance, measured_frechet):
        with pytest.raises(ValueError, match=message):
            measure(a, b)


def sets_of(features: dict[str, Any]) -> list[tuple[np.ndarray, np.ndarray]]:
    """The pairs of sets that a case describes."""
    if "a" in features:
        return [(np.array(features["a"], float), np.array(features["b"], float))]
    counts = features["n"] if isinstance(features["n"], list) else [features["n"]]
    d, offset = features["d"], features.get("offset", 0.0)
    if counts == [1, 50]:
        return [(normal(1, d), normal(50, d, 1))]
    return [(normal(n, d) + offset, normal(n, d, 1) + offset) for n in counts]


@pytest.mark.parametrize("case", shared_cases("fid.jsonl"))
def test_shared_cases(case: dict[str, Any]) -> None:
    required = case["required"]
    for a, b in sets_of(case["features"]):
        if required.get("refused"):
            named = required["message_names"]
            with pytest.raises(ValueError, match="expected") as caught:
                frechet_distance(a, b)
            for word in [named] if isinstance(named, str) else named:
                assert word in str(caught.value)
            continue
        found = measured_frechet(a, b)
        assert isinstance(found.value, float)
        assert np.isfinite(found.value)
        assert found.value >= 0
        assert (found.n_a, found.n_b) == (len(a), len(b))
        if "value" in required:
            assert found.value == pytest.approx(required["value"], abs=required["tolerance"])
        if "covariance_divisor" in required:
            assert found.covariance_divisor == required["covariance_divisor"]
        if "flag" in required:
            assert required["flag"] in found.flags
        if "same_as_single_batch" in required:
            near = frechet_distance(a - 10000, b - 10000)
            assert found.value == pytest.approx(near, rel=required["same_as_single_batch"])
