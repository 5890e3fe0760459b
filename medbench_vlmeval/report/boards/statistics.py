"""How firm a board is: ranks with intervals, paired differences, what could be told apart.

All of it rests on scores per sample, so published rows have no part in it.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...stats import (
    PERMUTATIONS,
    RESAMPLES,
    DiscordantPairs,
    PairedDifference,
    RankStability,
    holm,
    mcnemar,
    paired_differences,
    rank_stability,
    smallest_detectable_difference,
    value_in_mean,
)
from ...types import MetricInfo
from ..runs import Run
from .board import Board, Row
from .firmness import ComparedPair, MetricStatistics, Neighbours, RankedModel

Scores = NDArray[np.float64]


def board_statistics(
    board: Board,
    *,
    n_resamples: int = RESAMPLES,
    n_permutations: int = PERMUTATIONS,
    seed: int = 0,
) -> tuple[MetricStatistics, ...]:
    """The statistics of every headline column that a run has scores in.

    Args:
        board: as built.
        n_resamples: behind intervals and ranks.
        n_permutations: behind p-values; see `stats.PERMUTATIONS` before lowering it.
        seed: the same seed and runs give the same results.

    Raises:
        RunUnreadable: rows that cannot be read.
    """
    unranked = {
        it.run.model for it in board.comparison.standing if not it.has_board_snapshot
    }  # by name: of every model one run stands
    found = []
    for metric in board.headline:
        rows = [row for row in board.rows if _has_scores(row, metric)]
        others = {row.name for row in rows if metric.judged and row.name in unranked}
        rows = [row for row in rows if row.name not in others]
        if rows:
            draws = _Draws(n_resamples, n_permutations, seed)
            found.append(_of_metric(metric, rows, tuple(sorted(others)), draws))
    return tuple(found)


@dataclass(frozen=True)
class _Draws:
    n_resamples: int
    n_permutations: int
    seed: int


def _has_scores(row: Row, metric: MetricInfo) -> bool:
    cell = row.cell(metric.name)
    return row.run is not None and cell is not None and cell.value is not None


def _of_metric(
    metric: MetricInfo, rows: Sequence[Row], not_ranked: tuple[str, ...], draws: _Draws
) -> MetricStatistics:
    runs = [row.run for row in rows if row.run is not None]
    values, clusters = score_columns(runs, metric)
    names = [row.name for row in rows]
    models = [column for column, row in enumerate(rows) if row.kind == "measured"]
    ranks = _ranks(values[:, models], clusters, metric, draws) if models else None
    of_models = [names[column] for column in models]
    return MetricStatistics(
        metric=metric,
        n_samples=len(values),
        n_clusters=len(set(clusters)),
        ranked=tuple(
            RankedModel(of_models[it.model], it.rank, it.low, it.high, it.first)
            for it in (ranks.spreads if ranks else ())
        ),
        neighbours=_neighbours(ranks, values[:, models], clusters, of_models) if ranks else (),
        kendall_tau=ranks.kendall_tau if ranks else None,
        pairs=_pairs(values, clusters, metric, names, draws),
        not_ranked=not_ranked,
        n_resamples=draws.n_resamples,
        n_permutations=draws.n_permutations,
    )


def score_columns(runs: Sequence[Run], metric: MetricInfo) -> tuple[Scores, list[Hashable]]:
    """The scores of several runs of the same samples, and the cluster of every sample.

    Returns:
        Shape (n_samples, n_runs), by the rule of `stats.summarise`: NaN for a sample that stays out
        of the mean; labels in the order of the rows.

    Raises:
        RunUnreadable: rows that cannot be read.
    """
    order = {row["index"]: place for place, row in enumerate(runs[0].rows)}
    values = np.full((len(order), len(runs)), np.nan)
    for column, run in enumerate(runs):
        for row, score in zip(run.rows, run.scores_of(metric.name), strict=True):
            value = value_in_mean(score, metric) if score is not None else None
            if value is not None:
                values[order[row["index"]], column] = value
    return values, [row["cluster"] for row in runs[0].rows]


def _ranks(
    values: Scores, clusters: Sequence[Hashable], metric: MetricInfo, draws: _Draws
) -> RankStability:
    return rank_stability(
        values,
        clusters,
        n_resamples=draws.n_resamples,
        seed=draws.seed,
        higher_is_better=metric.higher_is_better,
    )


def _neighbours(
    ranks: RankStability, values: Scores, clusters: Sequence[Hashable], names: Sequence[str]
) -> tuple[Neighbours, ...]:
    return tuple(
        Neighbours(
            names[it.upper],
            names[it.lower],
            it.flipped,
            it.tied,
            smallest_detectable_difference(values[:, it.upper], values[:, it.lower], clusters),
        )
        for it in ranks.neighbours
    )


def _pairs(
    values: Scores,
    clusters: Sequence[Hashable],
    metric: MetricInfo,
    names: Sequence[str],
    draws: _Draws,
) -> tuple[ComparedPair, ...]:
    compared = paired_differences(
        values,
        clusters,
        n_resamples=draws.n_resamples,
        n_permutations=draws.n_permutations,
        seed=draws.seed,
        higher_is_better=metric.higher_is_better,
    )
    is_hit = bool(np.isin(values[~np.isnan(values)], (0.0, 1.0)).all())
    use_mcnemar = is_hit and len(set(clusters)) == len(clusters)
    tables = [
        mcnemar(values[:, it.first], values[:, it.second]) if use_mcnemar else None
        for it in compared
    ]
    p_values = [
        it.p_value if table is None else table.p_value
        for it, table in zip(compared, tables, strict=True)
    ]
    adjusted = holm(p_values).tolist() if p_values else []
    return tuple(
        _pair(it, table, p_value, corrected, names)
        for it, table, p_value, corrected in zip(compared, tables, p_values, adjusted, strict=True)
    )


def _pair(
    compared: PairedDifference,
    table: DiscordantPairs | None,
    p_value: float | None,
    p_adjusted: float,
    names: Sequence[str],
) -> ComparedPair:
    return ComparedPair(
        first=names[compared.first],
        second=names[compared.second],
        difference=compared.difference,
        low=compared.low,
        high=compared.high,
        p_value=p_value,
        p_adjusted=None if np.isnan(p_adjusted) else p_adjusted,
        test="flips" if table is None else "McNemar",
        better="" if compared.better is None else names[compared.better],
        n_samples=compared.n_samples,
        n_clusters=compared.n_clusters,
        discordant=table,
    )
