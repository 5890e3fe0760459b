"""Kernel distance between two sets of image features: KID, when the features are Inception's.

Binkowski et al., "Demystifying MMD GANs", ICLR 2018, arXiv 1801.01401.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ._feature_sets import feature_pair, finite

SUBSET_SIZE, N_SUBSETS = 1000, 100
_ROWS_AT_ONCE = 1024


@dataclass(frozen=True)
class KernelSpread:
    """Kernel distances of random subsets, as KID is published: their mean and their deviation."""

    mean: float
    """Lower is more alike; around 0, and often below it, for sets of one source."""
    deviation: float
    """Of the subsets' distances (divisor n). Subsets of one set share images, so this is no
    standard error of the mean."""
    subset_size: int
    n_subsets: int


def kernel_distance(a: ArrayLike, b: ArrayLike) -> float:
    """The unbiased estimate of the squared MMD with the cubic kernel ``(x·y / D + 1)³``.

    Args:
        a: shape (N, D), one row an image; any real dtype, used in float64.
        b: shape (M, D). The order of the sets does not matter.

    Returns:
        Lower is more alike. Its mean over many draws is the distance of the distributions however
        few images there are, so it may be below 0, and is for a set and itself.

    Raises:
        ValueError: a set of fewer than 2 images, other shapes or dimensions, NaN or infinity.

    Notes:
        Unbiased for sets drawn apart. Where image i of one set belongs to image i of the other, as
        an edit belongs to its reference, use `paired_kernel_distance`.
    """
    first, second = feature_pair(a, b)
    across = _kernel_sum(first, second) / (len(first) * len(second))
    return finite(_mean_within(first) + _mean_within(second) - 2 * across)


def paired_kernel_distance(a: ArrayLike, b: ArrayLike) -> float:
    """`kernel_distance` for sets in pairs: no image is compared with its own partner.

    Args:
        a: shape (N, D).
        b: shape (N, D), row i of the same case as row i of `a`.

    Returns:
        As `kernel_distance`, but 0.0 for a set and itself, up to rounding; unbiased when the pairs,
        not the images, are drawn independently.

    Raises:
        ValueError: as `kernel_distance`, or sets of different size.
    """
    first, second = feature_pair(a, b)
    if len(first) != len(second):
        raise ValueError(f"expected pairs, got {len(first)} and {len(second)} images")
    n = len(first)
    across = (_kernel_sum(first, second) - _kernel_pairs(first, second)) / (n * (n - 1))
    return finite(_mean_within(first) + _mean_within(second) - 2 * across)


def kernel_distance_spread(
    a: ArrayLike,
    b: ArrayLike,
    *,
    subset_size: int = SUBSET_SIZE,
    n_subsets: int = N_SUBSETS,
    seed: int = 0,
) -> KernelSpread:
    """Mean and deviation of `kernel_distance` over random subsets, the published form of KID.

    Args:
        a: shape (N, D).
        b: shape (M, D).
        subset_size: images drawn from each set, without repetition, for each subset.
        n_subsets: at least 1.
        seed: of the draws.

    Raises:
        ValueError: as `kernel_distance`, or subsets of fewer than 2 images or more than a set has.
    """
    first, second = feature_pair(a, b)
    smaller = min(len(first), len(second))
    if not 2 <= subset_size <= smaller or n_subsets < 1:
        raise ValueError(
            f"expected at least 1 subset of 2 to {smaller} images, the smaller set, got "
            f"{n_subsets} of {subset_size}; pass a smaller subset_size"
        )
    generator = np.random.default_rng(seed)
    found = [
        kernel_distance(
            first[generator.choice(len(first), subset_size, replace=False)],
            second[generator.choice(len(second), subset_size, replace=False)],
        )
        for _ in range(n_subsets)
    ]
    return KernelSpread(float(np.mean(found)), float(np.std(found)), subset_size, n_subsets)


def _mean_within(x: NDArray[np.float64]) -> float:
    """Mean of the kernel over all pairs of different images of one set."""
    n = len(x)
    return (_kernel_sum(x, x) - _kernel_pairs(x, x)) / (n * (n - 1))


def _kernel_sum(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    # In strips: the whole matrix of 50,000 images would take 20 GB.
    starts = range(0, len(x), _ROWS_AT_ONCE)
    return sum(float(_cubic(x[at : at + _ROWS_AT_ONCE] @ y.T, x.shape[1]).sum()) for at in starts)


def _kernel_pairs(x: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    return float(_cubic(np.einsum("ij,ij->i", x, y), x.shape[1]).sum())


def _cubic(products: NDArray[np.float64], dim: int) -> NDArray[np.float64]:
    with np.errstate(over="ignore", invalid="ignore"):
        shifted = products / dim + 1
        # Multiplied out: numpy's ** 3 calls pow() for every element.
        return shifted * shifted * shifted
