"""Fréchet distance between two sets of image features: FID, when the features are Inception's.

Heusel et al., "GANs Trained by a Two Time-Scale Update Rule Converge to a Local Nash Equilibrium",
NeurIPS 2017, arXiv 1706.08500.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._feature_sets import feature_pair, feature_set, finite

SPLITS = 10
"""Random halvings behind a noise floor."""

COVARIANCE_DIVISOR = "n-1"


@dataclass(frozen=True)
class NoiseFloor:
    """Fréchet distances between random halves of one set: what no difference at all looks like."""

    mean: float
    low: float
    """The smallest of the distances."""
    high: float
    """The largest of them."""
    n_half: int
    """Images in the smaller half."""
    n_splits: int


@dataclass(frozen=True)
class FrechetMeasurement:
    """A Fréchet distance with what one has to know to read it."""

    value: float
    """At least 0, lower is more alike; squared units of the features."""
    mean_part: float
    """The squared distance of the means."""
    covariance_part: float
    """The rest: what the spreads differ by."""
    n_a: int
    n_b: int
    dim: int
    rank_a: int
    """Of the covariance of a; at most ``n_a - 1``."""
    rank_b: int
    noise_floor: NoiseFloor | None
    """Of b, the reference; None when b has fewer than 4 images."""
    flags: frozenset[str]
    """``n<d``: no more images than dimensions in a set, so that its covariance is singular and the
    value is inflated; ``duplicates``: a set holds the same features twice; ``constant``: all
    features of a set are equal."""
    covariance_divisor: str = COVARIANCE_DIVISOR


def frechet_distance(a: ArrayLike, b: ArrayLike) -> float:
    """The Fréchet distance between the Gaussians that two sets of features have the moments of.

    Args:
        a: shape (N, D), one row an image; any real dtype, used in float64.
        b: shape (M, D). The order of the sets does not matter.

    Returns:
        At least 0, lower is more alike, in squared units of the features; 0.0 for sets with the
        same means and covariances. Sets of equal rows have no spread, and the value is what the
        other moments give. With few images it is far above the distance of the distributions they
        were drawn from: see `measured_frechet`.

    Raises:
        ValueError: a set of fewer than 2 images, other shapes or dimensions, NaN or infinity.

    Notes:
        ``|m_a - m_b|² + tr S_a + tr S_b - 2 tr sqrt(S_a S_b)`` with the sample covariances S
        (divisor n - 1). The last trace is the nuclear norm of ``A Bᵀ``, where ``AᵀA = S_a`` and
        ``BᵀB = S_b``: the centred features themselves, or the triangle of their QR decomposition
        when there are more images than dimensions. No D x D product is formed and no matrix root
        taken, so singular covariances, which fewer images than dimensions always give, lose no
        digits and need no term added to the diagonal.
    """
    return _distance(*feature_pair(a, b))


def measured_frechet(
    a: ArrayLike, b: ArrayLike, *, n_splits: int = SPLITS, seed: int = 0
) -> FrechetMeasurement:
    """`frechet_distance` with counts, ranks, flags, and the noise floor of the reference.

    Args:
        a: shape (N, D), the set to measure.
        b: shape (M, D), the reference, whose halves give the noise floor.
        n_splits: random halvings.
        seed: of the halvings.

    Raises:
        ValueError: as `frechet_distance`.
    """
    first, second = feature_pair(a, b)
    value = _distance(first, second)
    mean_part = min(value, _mean_part(first, second))
    dim = first.shape[1]
    rank_a, rank_b = (int(np.linalg.matrix_rank(_root(it))) for it in (first, second))
    flags = {
        "n<d": min(len(first), len(second)) <= dim,
        "duplicates": any(len(np.unique(it, axis=0)) < len(it) for it in (first, second)),
        "constant": not all(np.ptp(it, axis=0).any() for it in (first, second)),
    }
    enough = len(second) >= 4
    return FrechetMeasurement(
        value=value,
        mean_part=mean_part,
        covariance_part=value - mean_part,
        n_a=len(first),
        n_b=len(second),
        dim=dim,
        rank_a=rank_a,
        rank_b=rank_b,
        noise_floor=noise_floor(second, n_splits=n_splits, seed=seed) if enough else None,
        flags=frozenset(name for name, holds in flags.items() if holds),
    )


def noise_floor(features: ArrayLike, *, n_splits: int = SPLITS, seed: int = 0) -> NoiseFloor:
    """Fréchet distances between random halves of one set.

    Two sets of N/2 images from one source are as far apart as that although nothing differs. Sets
    of N images are nearer. So a distance above the floor shows a difference, though not of that
    size, and one below it shows nothing either way.

    Args:
        features: shape (N, D), N at least 4.
        n_splits: random halvings, at least 1.
        seed: of the halvings.

    Raises:
        ValueError: fewer than 4 images, no splits, or features as `frechet_distance` refuses them.
    """
    whole = feature_set("features", features)
    if len(whole) < 4 or n_splits < 1:
        raise ValueError(f"expected at least 4 images and 1 split, got {len(whole)} and {n_splits}")
    generator = np.random.default_rng(seed)
    half = len(whole) // 2
    orders = (generator.permutation(len(whole)) for _ in range(n_splits))
    found = [_distance(whole[order[:half]], whole[order[half:]]) for order in orders]
    return NoiseFloor(float(np.mean(found)), min(found), max(found), half, n_splits)


def _distance(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    with np.errstate(over="ignore", invalid="ignore"):
        root_a, root_b = _root(a), _root(b)
        traces = np.square(root_a).sum() + np.square(root_b).sum()
        means = _mean_part(a, b)
    finite(traces + means)
    shared = np.linalg.svd(root_a @ root_b.T, compute_uv=False).sum()
    # Rounding can leave the difference of equal sums a little below zero.
    return finite(means + max(float(traces - 2 * shared), 0.0))


def _mean_part(a: NDArray[np.float64], b: NDArray[np.float64]) -> float:
    return float(np.square(a.mean(axis=0) - b.mean(axis=0)).sum())


def _root(features: NDArray[np.float64]) -> NDArray[np.float64]:
    """A matrix R of at most D rows with ``RᵀR`` the sample covariance."""
    centred = (features - features.mean(axis=0)) / np.sqrt(len(features) - 1)
    if len(centred) <= centred.shape[1] or not np.isfinite(centred).all():
        return centred
    triangle: NDArray[np.float64] = np.linalg.qr(centred, mode="r")  # type: ignore[assignment]
    return triangle
