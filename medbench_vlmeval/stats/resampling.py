"""Whole clusters drawn again and again: the counts behind every bootstrap interval."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

RESAMPLES = 2000
"""Bootstrap resamples behind every published interval."""

_DRAWS_AT_ONCE = 1 << 20


def cluster_positions(clusters: Sequence[Hashable] | None, n_samples: int) -> NDArray[np.intp]:
    """The number of each sample's cluster, in order of first appearance.

    Raises:
        ValueError: labels of another length.
    """
    if clusters is None:
        return np.arange(n_samples)
    if len(clusters) != n_samples:
        raise ValueError(
            f"expected {n_samples} cluster labels, got {len(clusters)}; give one label a sample"
        )
    number: dict[Hashable, int] = {}
    positions = [number.setdefault(label, len(number)) for label in clusters]
    return np.array(positions, dtype=np.intp)


def resample_weights(n_clusters: int, n_resamples: int, seed: int) -> Iterator[Floats]:
    """How often each resample holds each cluster, in blocks of shape (resamples, n_clusters).

    The same seed and sizes give the same draws, so that models whose columns are multiplied with
    these blocks share their resamples. A block holds about a million counts.
    """
    generator = np.random.default_rng(seed)
    block = max(1, _DRAWS_AT_ONCE // n_clusters)
    for start in range(0, n_resamples, block):
        yield _block_of_weights(n_clusters, min(block, n_resamples - start), generator)


def _block_of_weights(n_clusters: int, n_resamples: int, generator: np.random.Generator) -> Floats:
    drawn = generator.integers(n_clusters, size=(n_resamples, n_clusters), dtype=np.int32)
    # One count for all resamples of the block: each has a range of numbers of its own.
    own_range = np.arange(n_resamples, dtype=np.int32)[:, None] * np.int32(n_clusters)
    counts = np.bincount((drawn + own_range).ravel(), minlength=n_resamples * n_clusters)
    return counts.reshape(n_resamples, n_clusters).astype(np.float64)


def tail_percents(level: float) -> tuple[float, float]:
    """The two percentiles between which the share `level` lies.

    Raises:
        ValueError: a level outside (0, 1).
    """
    if not 0 < level < 1:
        raise ValueError(f"expected a level between 0 and 1, got {level!r}; 0.95 is usual")
    tail = 100 * (1 - level) / 2
    return tail, 100 - tail
