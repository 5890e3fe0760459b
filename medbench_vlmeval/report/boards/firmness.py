"""What is known about the order of a board: places, neighbours, pairs."""

from __future__ import annotations

from dataclasses import dataclass
from statistics import median

from ...stats import PERMUTATIONS, RESAMPLES, DiscordantPairs
from ...types import MetricInfo

ALPHA = 0.05
"""Adjusted p-values up to this are called a difference."""


@dataclass(frozen=True)
class RankedModel:
    """The place of one model; 1 is best."""

    name: str
    rank: float
    low: float
    high: float
    """Ends of the rank interval, included."""
    first: float
    """Share of the resamples in which it is first."""


@dataclass(frozen=True)
class Neighbours:
    """Two models next to each other, and whether the samples can tell them apart."""

    upper: str
    lower: str
    flipped: float
    """Share of the resamples in which the lower one is ahead."""
    tied: float
    detectable: float | None
    """Smallest true difference that the common samples show with a power of 0.8."""


@dataclass(frozen=True)
class ComparedPair:
    """Two rows compared on the samples that both have scores for."""

    first: str
    second: str
    difference: float | None
    """First less second."""
    low: float | None
    high: float | None
    p_value: float | None
    p_adjusted: float | None
    """Holm's, over all pairs of the board in this metric."""
    test: str
    """``flips`` of whole clusters, or ``McNemar`` for hits on samples of their own."""
    better: str
    """The one with the better mean; empty when equal or unknown."""
    n_samples: int
    n_clusters: int
    discordant: DiscordantPairs | None = None

    @property
    def is_different(self) -> bool:
        return self.p_adjusted is not None and self.p_adjusted <= ALPHA


@dataclass(frozen=True)
class MetricStatistics:
    """What one column of the board can bear."""

    metric: MetricInfo
    n_samples: int
    n_clusters: int
    ranked: tuple[RankedModel, ...]
    """Best first; models, not baselines. Empty when nothing can be drawn again."""
    neighbours: tuple[Neighbours, ...]
    kendall_tau: float | None
    pairs: tuple[ComparedPair, ...]
    """All pairs of models and baselines that were run."""
    not_ranked: tuple[str, ...] = ()
    """Models with a judge that answered as another snapshot."""
    n_resamples: int = RESAMPLES
    n_permutations: int = PERMUTATIONS

    @property
    def detectable(self) -> float | None:
        """The median of what neighbours must differ by to be told apart; None where it is unknown.

        Neighbours whose scores differ by the same in every sample say nothing about chance.
        """
        known = [it.detectable for it in self.neighbours if it.detectable]
        return median(known) if known else None
