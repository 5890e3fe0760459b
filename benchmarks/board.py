"""All statistics of a board of 50 models, beside a loop over pairs and scipy.stats.

    python benchmarks/board.py            50 models, 1,182 samples, 6 metrics, 100,000 permutations
    python benchmarks/board.py --quick    a tenth of resamples and permutations, for a look

One thread unless --threads says otherwise. Wall time and processor time are both printed: on a
machine with other load the first says little. Ratios are taken in the same run, pair for pair.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from one_thread import restart_with_threads

if __name__ == "__main__":
    restart_with_threads()

import numpy as np
from numpy.typing import NDArray
from scipy import stats as scipy_stats

from medbench_vlmeval.stats import (
    PERMUTATIONS,
    RESAMPLES,
    PairedDifference,
    board_intervals,
    holm,
    paired_differences,
    rank_stability,
)

N_MODELS, N_SAMPLES, N_CLUSTERS, N_METRICS = 50, 1182, 1000, 6
TARGET_S, TARGET_GB = 20.0, 2.0
FEW_PAIRS = 3
T = TypeVar("T")


class Took(NamedTuple):
    wall: float
    processor: float


def timed(work: Callable[[], T]) -> tuple[Took, T]:
    wall, processor = time.perf_counter(), time.process_time()
    outcome = work()
    return Took(time.perf_counter() - wall, time.process_time() - processor), outcome


def made_boards() -> tuple[list[NDArray[np.float64]], list[int]]:
    """Graded scores for three metrics, hits for three; models lie close together, as on boards."""
    generator = np.random.default_rng(0)
    extra = generator.integers(N_CLUSTERS, size=N_SAMPLES - N_CLUSTERS)
    positions = np.concatenate([np.arange(N_CLUSTERS), extra])
    boards = []
    for metric in range(N_METRICS):
        difficulty = generator.normal(0.5, 0.2, (N_CLUSTERS, 1))[positions]
        own = generator.normal(0, 0.2, (N_SAMPLES, N_MODELS)) + np.linspace(0, 0.2, N_MODELS)
        graded = np.clip(difficulty + own, 0, 1)
        boards.append(graded if metric % 2 else (graded > 0.5).astype(np.float64))
    return boards, positions.tolist()


def sums_of(board: NDArray[np.float64], clusters: list[int], pair: PairedDifference) -> NDArray:
    return np.bincount(clusters, board[:, pair.first] - board[:, pair.second])


def pair_in_a_loop(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], n_resamples: int, n_permutations: int
) -> tuple[float, float, float]:
    """One pair with plain numpy: a draw, a flip at a time."""
    generator = np.random.default_rng(0)
    means = np.empty(n_resamples)
    for number in range(n_resamples):
        drawn = generator.integers(len(sums), size=len(sums))
        means[number] = sums[drawn].sum() / sizes[drawn].sum()
    low, high = np.percentile(means, [2.5, 97.5])
    limit, as_large = abs(sums.sum()) - 1e-9, 0
    for _ in range(n_permutations):
        as_large += abs(np.dot(generator.integers(0, 2, len(sums)) * 2 - 1, sums)) >= limit
    return float(low), float(high), (1 + as_large) / (1 + n_permutations)


def pair_by_scipy(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], n_resamples: int, n_permutations: int
) -> tuple[float, float, float]:
    generator = np.random.default_rng(0)
    interval = scipy_stats.bootstrap(
        (sums, sizes), lambda a, b, axis: a.sum(axis=axis) / b.sum(axis=axis), paired=True,
        vectorized=True, batch=100, n_resamples=n_resamples, method="percentile", random_state=0,
    ).confidence_interval  # fmt: skip
    p_value = scipy_stats.permutation_test(
        (sums,), np.sum, permutation_type="samples", vectorized=True, batch=500,
        n_resamples=n_permutations, random_state=generator,
    ).pvalue  # fmt: skip
    return float(interval.low), float(interval.high), float(p_value)


def pair_by_pair(
    sums: NDArray[np.float64], sizes: NDArray[np.float64], n_resamples: int, n_permutations: int
) -> tuple[float, float, float]:
    """The package's own function, asked for one pair: what sharing draws among pairs saves."""
    values = np.stack([sums / sizes, np.zeros_like(sums)], axis=1).repeat(sizes.astype(int), axis=0)
    clusters = np.arange(len(sums)).repeat(sizes.astype(int)).tolist()
    (pair,) = paired_differences(
        values, clusters, n_resamples=n_resamples, n_permutations=n_permutations
    )
    return pair.low, pair.high, pair.p_value


def furthest(ours: list[PairedDifference], theirs: list[tuple[float, float, float]]) -> str:
    ends, p_values = [], []
    for pair, (low, high, p_value) in zip(ours, theirs, strict=True):
        width = max(pair.high - pair.low, 1e-12)
        ends.append(max(abs(pair.low - low), abs(pair.high - high)) / width)
        p_values.append(abs(pair.p_value - p_value))
    return f"ends differ by up to {max(ends):.1%} of the width, p by up to {max(p_values):.4f}"


def beside_slower_ways(
    board: NDArray[np.float64],
    clusters: list[int],
    found: list[PairedDifference],
    draws: tuple[int, int],
    ours: float,
) -> None:
    """Print what a few pairs cost otherwise; `ours` is the time of a pair of the board."""
    sizes = np.bincount(clusters).astype(np.float64)
    chosen = found[:: len(found) // FEW_PAIRS][:FEW_PAIRS]
    sums = [sums_of(board, clusters, pair) for pair in chosen]
    slower = {
        "one pair a call": pair_by_pair,
        "plain loop": pair_in_a_loop,
        "scipy.stats": pair_by_scipy,
    }
    for name, one_pair in slower.items():
        took, theirs = timed(lambda one_pair=one_pair: [one_pair(it, sizes, *draws) for it in sums])
        each = took.processor / FEW_PAIRS
        ratio = each / ours
        print(f"{name:16} {each:6.2f} s processor time a pair, {ratio:.0f}x as long; "
              f"{furthest(chosen, theirs)}")  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the draws")
    parser.add_argument("--threads", type=int, default=1, help="threads of numpy's matrix products")
    options = parser.parse_args()
    share = 10 if options.quick else 1
    draws = {"n_resamples": RESAMPLES // share, "n_permutations": PERMUTATIONS // share}
    n_resamples = draws["n_resamples"]
    boards, clusters = made_boards()

    intervals, _ = timed(
        lambda: [board_intervals(it, clusters, n_resamples=n_resamples) for it in boards]
    )
    pairs, compared = timed(lambda: [paired_differences(it, clusters, **draws) for it in boards])
    adjusting, adjusted = timed(lambda: [holm([it.p_value for it in found]) for found in compared])
    ranking, ranks = timed(
        lambda: [rank_stability(it, clusters, n_resamples=n_resamples) for it in boards]
    )
    peak_gb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    parts = {"intervals": intervals, "pairs": pairs, "Holm": adjusting, "ranks": ranking}
    total = Took(*map(sum, zip(*parts.values(), strict=True)))

    n_pairs = sum(map(len, compared))
    print(f"{N_MODELS} models, {N_SAMPLES} samples of {N_CLUSTERS} images, {N_METRICS} metrics, "
          f"{n_pairs} pairs; {draws['n_resamples']} resamples, {draws['n_permutations']} "
          f"permutations; {options.threads} thread(s)")  # fmt: skip
    for name, took in (*parts.items(), ("all", total)):
        print(f"{name:10} {took.wall:7.2f} s   processor {took.processor:7.2f} s")
    print(f"peak memory {peak_gb:.2f} GB (targets: {TARGET_S:.0f} s wall, {TARGET_GB:.0f} GB)")
    n_different = sum(int((it <= 0.05).sum()) for it in adjusted)
    print(f"different after Holm: {n_different} of {n_pairs}; mean tau of the first metric "
          f"{ranks[0].kendall_tau:.2f}")  # fmt: skip

    beside_slower_ways(
        boards[1], clusters, compared[1], tuple(draws.values()), pairs.processor / n_pairs
    )
    in_time = options.quick or total.wall < TARGET_S
    return 0 if in_time and peak_gb < TARGET_GB else 1


if __name__ == "__main__":
    sys.exit(main())
