"""All pairs of models as differences of a few columns.

Where two models have scores for the same samples, the sum of their differences over any choice of
clusters is the difference of their sums. So one matrix product with the columns of all models
serves all their pairs. Pairs whose common samples no larger group shares get a column of their own.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from .resampling import Floats
from .score_matrix import Bools, ScoreMatrix

Indexes = NDArray[np.intp]

_MOST_PAIRS_AT_ONCE = 1 << 12
_NUMBERS_AT_ONCE = 1 << 22


@dataclass(frozen=True)
class PairColumns:
    """Pairs of models; pair k is column `left[k]` less column `right[k]`, over `mask[k]` counts."""

    pairs: list[tuple[int, int]]
    """The models of each pair."""
    sums: Floats
    """Shape (n_clusters, n_columns): sums over clusters."""
    counts: Floats
    """Shape (n_clusters, n_masks): samples that a pair's models have in common."""
    left: Indexes
    right: Indexes
    mask: Indexes

    @property
    def noise(self) -> Floats:
        """What rounding can make of each pair's total difference; far above it, far below a score.

        Without it a resample that equals the observed total would count by chance.
        """
        size = np.abs(self.sums).sum(axis=0)
        return 1e-12 * (size[self.left] + size[self.right])

    def cluster_differences(self) -> Floats:
        """Differences summed over clusters, shape (n_pairs, n_clusters)."""
        columns = np.ascontiguousarray(self.sums.T)
        return columns[self.left] - columns[self.right]


def pair_columns(scores: ScoreMatrix) -> Iterator[PairColumns]:
    """All pairs of models, in order, a bounded number at once."""
    pairs = [*combinations(range(scores.n_models), 2)]
    at_once = min(_MOST_PAIRS_AT_ONCE, max(64, _NUMBERS_AT_ONCE // len(scores.values)))
    for start in range(0, len(pairs), at_once):
        yield _columns_of(scores, pairs[start : start + at_once])


def _columns_of(scores: ScoreMatrix, pairs: list[tuple[int, int]]) -> PairColumns:
    groups: dict[bytes, list[int]] = {}
    for number, (first, second) in enumerate(pairs):
        common = scores.scored[:, first] & scores.scored[:, second]
        groups.setdefault(common.tobytes(), []).append(number)
    masks = np.array([np.frombuffer(key, dtype=np.bool_) for key in groups]).T
    nothing = np.zeros((len(scores.values), 1))
    columns, n_columns = [nothing], 1
    left, right, mask = np.zeros((3, len(pairs)), dtype=np.intp)
    for number, members in enumerate(groups.values()):
        made, lefts, rights = _group(scores, [pairs[it] for it in members], masks[:, number])
        left[members] = np.array(lefts) + n_columns
        # A column of differences has nothing on its right side: column 0.
        right[members] = np.array(rights) + n_columns if rights else 0
        mask[members] = number
        columns.append(made)
        n_columns += made.shape[1]
    sums = scores.summed(np.concatenate(columns, axis=1))
    return PairColumns(pairs, sums, scores.summed(masks), left, right, mask)


def _group(
    scores: ScoreMatrix, pairs: list[tuple[int, int]], common: Bools
) -> tuple[Floats, list[int], list[int]]:
    """Columns of pairs with the same common samples, and each pair's left and right column."""
    models = sorted({model for pair in pairs for model in pair})
    kept = np.where(common[:, None], scores.values, 0.0)
    if len(models) < len(pairs):
        place = {model: number for number, model in enumerate(models)}
        return kept[:, models], [place[it] for it, _ in pairs], [place[it] for _, it in pairs]
    first, second = np.array(pairs).T
    return kept[:, first] - kept[:, second], [*range(len(pairs))], []
