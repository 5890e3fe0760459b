"""Whether raters and judge put the models in the same order.

MedEBench reports two such numbers: Pearson's correlation over the models' means, and Spearman's
over the models within each sample, averaged over samples (human_eval.ipynb of the released code,
which breaks ties by the order of a dict; here they get mean ranks).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from scipy.stats import pearsonr

from ..stats import mean_interval
from .key import SheetKey
from .reliability import FEWEST_CLUSTERS, Measure, rank_correlation

_FEWEST_MODELS = 3


@dataclass(frozen=True)
class ModelMean:
    """One model's means over the same samples as the others'."""

    model: str
    human: float
    judge: float


@dataclass(frozen=True)
class ModelOrder:
    """How raters and judge order the models in one dimension."""

    dimension: str
    n_samples: int
    """Samples in which every model has a rating and a verdict."""
    means: tuple[ModelMean, ...]
    """The raters' best first; empty without such samples."""
    swapped: tuple[tuple[str, str], ...]
    """Pairs of models of which the raters prefer the first and the judge the second."""
    tied: tuple[tuple[str, str], ...]
    """Pairs that one of the two cannot tell apart."""
    pearson: Measure
    """Over the models' means; n counts models."""
    within_samples: Measure
    """Mean over samples of Spearman's correlation over models; n counts samples."""

    @property
    def verdict(self) -> str:
        """Whether the order agrees, in words."""
        if not self.means:
            return "no sample in which every model has both"
        if len(self.means) == 1:
            return "one model has no order"
        undecided = self._undecided()
        if undecided:
            return f"all models tied by {' and '.join(undecided)}"
        if not self.swapped and not self.tied:
            return "same order"
        parts = [f"{a} and {b} swapped" for a, b in self.swapped]
        parts += [f"{a} and {b} tied" for a, b in self.tied]
        return "; ".join(parts)

    def _undecided(self) -> list[str]:
        """Whose means are all the same."""
        sides = {
            "the raters": {it.human for it in self.means},
            "the judge": {it.judge for it in self.means},
        }
        return [who for who, means in sides.items() if len(means) == 1]


def model_order(dimension: str, rated: Mapping[int, float], key: SheetKey) -> ModelOrder:
    """How raters and judge order the models.

    Args:
        dimension: of the key's rubric.
        rated: ratings by position of the answer.
        key: with the judge's verdicts. Only samples in which every model has both count, so that
            all means are over the same samples.
    """
    by_sample = _whole_samples(dimension, rated, key)
    n_models = len(key.models)
    means = [
        ModelMean(
            key.models[run],
            fmean(sample[run][0] for sample in by_sample.values()),
            fmean(sample[run][1] for sample in by_sample.values()),
        )
        for run in range(n_models if by_sample else 0)
    ]
    means.sort(key=lambda it: (-it.human, it.model))
    swapped, tied = _compared(means)
    return ModelOrder(
        dimension,
        len(by_sample),
        tuple(means),
        swapped,
        tied,
        _pearson(means),
        _within(by_sample, key),
    )


def _whole_samples(
    dimension: str, rated: Mapping[int, float], key: SheetKey
) -> dict[int, dict[int, tuple[float, float]]]:
    """Sample to run to rating and verdict."""
    found: dict[int, dict[int, tuple[float, float]]] = {}
    for position, answer in enumerate(key.answers):
        verdict = answer.verdicts[dimension]
        if position in rated and verdict is not None:
            found.setdefault(answer.index, {})[answer.run] = (rated[position], verdict)
    return {index: runs for index, runs in found.items() if len(runs) == len(key.models)}


def _compared(
    means: Sequence[ModelMean],
) -> tuple[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]]:
    swapped, tied = [], []
    for a, b in combinations(means, 2):
        by_raters, by_judge = a.human - b.human, a.judge - b.judge
        if by_raters == 0 or by_judge == 0:
            tied.append((a.model, b.model))
        elif (by_raters > 0) != (by_judge > 0):
            swapped.append((a.model, b.model))
    return tuple(swapped), tuple(tied)


def _pearson(means: Sequence[ModelMean]) -> Measure:
    human, judge = [it.human for it in means], [it.judge for it in means]
    if len(means) < _FEWEST_MODELS:
        why = f"needs {_FEWEST_MODELS} models"
    elif len(set(human)) == 1 or len(set(judge)) == 1:
        why = "all models have the same mean"
    else:
        value = float(pearsonr(human, judge).statistic)
        return Measure(value, n=len(means), why="no interval over models")
    return Measure(None, n=len(means), why=why)


def _within(by_sample: Mapping[int, Mapping[int, tuple[float, float]]], key: SheetKey) -> Measure:
    if len(key.models) < _FEWEST_MODELS:
        return Measure(None, why=f"needs {_FEWEST_MODELS} models")
    values, clusters = [], []
    for index, runs in by_sample.items():
        pairs = list(runs.values())
        found = rank_correlation([a for a, _ in pairs], [b for _, b in pairs], ("", ""))
        if found.value is not None:
            values.append(found.value)
            clusters.append(key.clusters[index])
    if not values:
        return Measure(None, why="in no sample do both tell the models apart")
    n_tied = len(by_sample) - len(values)
    why = f"{n_tied} samples in which one of the two ties all models are left out" if n_tied else ""
    interval = mean_interval(values, clusters)
    if interval.n_clusters < FEWEST_CLUSTERS:
        return Measure(interval.value, n=len(values), why=why)
    return Measure(interval.value, interval.low, interval.high, len(values), why)
