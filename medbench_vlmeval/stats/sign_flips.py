"""The permutation test of paired differences: the two models change places in whole clusters."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .pair_columns import PairColumns
from .resampling import Floats

PERMUTATIONS = 100_000
"""Sign flips behind a p-value. Holm's correction multiplies the smallest p-value by the number of
pairs, so 1,225 pairs need far more than 1,225 / 0.05 flips to find any difference at all."""

_FLIPS_AT_ONCE = 512
_NUMBERS_AT_ONCE = 1 << 23


def flip_p_values(columns: PairColumns, n_permutations: int, seed: int) -> tuple[Floats, NDArray]:
    """Two-sided p-values of all pairs, and which of them are exact.

    A pair whose clusters differ in so few places that all flips of signs are at most
    `n_permutations` is enumerated; the others share one sequence of random flips, and the observed
    order counts as one more (so that p is never 0).
    """
    differences = columns.cluster_differences()
    limits = np.abs(differences.sum(axis=1)) - columns.noise
    n_places = (differences != 0).sum(axis=1)
    is_exact = n_places <= np.log2(n_permutations)
    p_values = np.empty(len(limits))
    for pair in np.flatnonzero(is_exact):
        places = differences[pair][differences[pair] != 0]
        p_values[pair] = _enumerated(places, limits[pair])
    rest = np.flatnonzero(~is_exact)
    if len(rest):
        as_large = _counted(columns, rest, limits[rest], n_permutations, seed)
        p_values[rest] = (1 + as_large) / (1 + n_permutations)
    return p_values, is_exact


def _enumerated(places: Floats, limit: float) -> float:
    totals = np.zeros(1)
    for place in places:
        totals = np.concatenate([totals + place, totals - place])
    return float(np.mean(np.abs(totals) >= limit))


def _counted(
    columns: PairColumns, rest: NDArray[np.intp], limits: Floats, n_permutations: int, seed: int
) -> NDArray[np.intp]:
    """How many random flips make a total difference as large as the observed one."""
    n_clusters = len(columns.sums)
    # Not the bootstrap's sequence, which starts from the seed itself.
    generator = np.random.default_rng([seed, 1])
    # The number of pairs has no part in it: a pair has the same p-value on every board.
    block = min(_FLIPS_AT_ONCE, max(8, _NUMBERS_AT_ONCE // n_clusters))
    as_large = np.zeros(len(rest), dtype=np.intp)
    left, right = columns.left[rest], columns.right[rest]
    totals = columns.sums.sum(axis=0)[:, None]
    doubled = np.ascontiguousarray(2 * columns.sums.T)
    for start in range(0, n_permutations, block):
        kept = _random_bits(n_clusters, min(block, n_permutations - start), generator)
        # Signs are 2 x bit - 1, and multiplying bits saves a pass over them.
        flipped = doubled @ kept - totals
        changed = flipped[left]
        changed -= flipped[right]
        np.abs(changed, out=changed)
        as_large += np.count_nonzero(changed >= limits[:, None], axis=1)
    return as_large


def _random_bits(n_rows: int, n_columns: int, generator: np.random.Generator) -> Floats:
    n_bytes = -(-n_columns // 8)
    packed = np.frombuffer(generator.bytes(n_rows * n_bytes), dtype=np.uint8)
    bits = np.unpackbits(packed.reshape(n_rows, n_bytes), axis=1, count=n_columns)
    return bits.astype(np.float64)
