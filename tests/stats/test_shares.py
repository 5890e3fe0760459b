from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binomtest

from medbench_vlmeval.stats import share_interval


@pytest.mark.parametrize(("hits", "n"), [(0, 12), (12, 12), (5, 12), (1, 1), (29, 30)])
def test_without_clusters_it_is_the_interval_of_scipy(hits: int, n: int) -> None:
    found = share_interval([True] * hits + [False] * (n - hits))
    expected = binomtest(hits, n).proportion_ci(method="wilson")
    assert found.value == hits / n
    assert (found.low, found.high) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_a_known_interval() -> None:
    """Newcombe, Statistics in Medicine 17 (1998), table I: 81 of 263 and 15 of 148."""
    for hits, n, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605)):
        found = share_interval([True] * hits + [False] * (n - hits))
        assert (found.low, found.high) == pytest.approx((low, high), abs=5e-5)


def test_ten_samples_of_one_image_say_no_more_than_one() -> None:
    assert share_interval([True] * 10, ["image"] * 10) == share_interval([True])
    pairs = share_interval([True] * 6 + [False] * 4, list("aabbccddee"))
    alone = share_interval([True] * 3 + [False] * 2)
    assert (pairs.low, pairs.high, pairs.n_clusters) == (alone.low, alone.high, 5)


def test_it_covers_the_true_share_of_clustered_samples() -> None:
    generator = np.random.default_rng(0)
    clusters = list(np.repeat(range(15), 3))
    covered = []
    for _ in range(300):
        rates = generator.beta(2.4, 0.6, 15)  # samples of an image go alike; the mean rate is 0.8
        found = share_interval(generator.random(45) < np.repeat(rates, 3), clusters)
        covered.append(found.low is not None and found.low <= 0.8 <= (found.high or 0))
    assert np.mean(covered) >= 0.95


@pytest.mark.parametrize(
    ("hits", "clusters", "level"), [([], None, 0.95), ([True], ["a", "b"], 0.95), ([True], None, 1)]
)
def test_what_has_no_interval_is_refused(
    hits: list[bool], clusters: list[str] | None, level: float
) -> None:
    with pytest.raises(ValueError, match="expected"):
        share_interval(hits, clusters, level=level)
