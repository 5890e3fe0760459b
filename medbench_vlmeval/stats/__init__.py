"""Means with intervals, comparisons of models, ranks, and what a number of samples can show.

Pure functions over arrays. `values` of a board has one row a sample and one column a model, with
NaN where a sample has no score; `clusters` names what samples have in common (the source image).
"""

from __future__ import annotations

from .board import board_intervals
from .bootstrap import statistic_interval
from .detectable import (
    detectable_between_models,
    detectable_from_fixed,
    smallest_detectable_difference,
)
from .intervals import Interval, mean_interval, sum_of_means, summarise, value_in_mean
from .pairs import PairedDifference, paired_differences
from .ranks import NeighbourOrder, RankSpread, RankStability, rank_stability
from .resampling import RESAMPLES
from .shares import share_interval
from .sign_flips import PERMUTATIONS
from .significance import DiscordantPairs, holm, mcnemar

__all__ = [
    "PERMUTATIONS",
    "RESAMPLES",
    "DiscordantPairs",
    "Interval",
    "NeighbourOrder",
    "PairedDifference",
    "RankSpread",
    "RankStability",
    "board_intervals",
    "detectable_between_models",
    "detectable_from_fixed",
    "holm",
    "mcnemar",
    "mean_interval",
    "paired_differences",
    "rank_stability",
    "share_interval",
    "smallest_detectable_difference",
    "statistic_interval",
    "sum_of_means",
    "summarise",
    "value_in_mean",
]
