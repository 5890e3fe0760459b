"""Numbers of a check: agreement, sanity, shifts and failures, each with what it rests on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from ..metrics.agreement import cohen_kappa, quadratic_weighted_kappa
from ..metrics.reliability import intraclass_correlation, krippendorff_alpha, undefined_because
from ..stats import Interval, mean_interval, share_interval, statistic_interval
from ..types import Status
from .judge_check_asking import Judgement
from .judge_check_plan import Change, Contrast, Expectation

Pairs = NDArray[np.float64]

NOTHING = "no sample has both scores"


@dataclass(frozen=True)
class Measured:
    """A number with its 95 % interval, or the reason why there is none.

    Shares of samples have Wilson's interval, because the bootstrap of a share of 1 has no width; it
    counts source images. All else has the cluster bootstrap over these.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int = 0
    """Samples behind it."""
    reason: str = ""


@dataclass(frozen=True)
class Agreement:
    """How far two series of points over the same samples agree, in one column."""

    column: str
    n: int
    equal: Measured
    """Share of samples with equal points."""
    mean_difference: Measured
    """Second less first, in points."""
    mean_distance: Measured
    """Without the sign, in points."""
    weighted_kappa: Measured
    kappa: Measured
    icc_agreement: Measured
    """ICC(2,1)."""
    icc_consistency: Measured
    """ICC(3,1)."""
    alpha: Measured
    """Krippendorff's, for interval data."""


@dataclass(frozen=True)
class Sanity:
    """How often the judge meets an expectation that anybody would."""

    expectation: Expectation
    passed: Measured
    """Share of samples."""
    mean: Measured
    """Points."""


@dataclass(frozen=True)
class Separation:
    """How far the judge tells plainly better work from plainly worse."""

    contrast: Contrast
    difference: Measured
    """Better less worse, in points."""
    told_apart: Measured
    """Share of samples in which the better one has more points."""


@dataclass(frozen=True)
class Shift:
    """What another way of showing the same work does to a column."""

    change: Change
    column: str
    difference: Measured
    """After less before, in points."""
    equal: Measured


@dataclass(frozen=True)
class Replies:
    """What became of the questions to one judge."""

    judge: str
    n: int
    statuses: dict[str, int] = field(default_factory=dict)
    """Final ones, by name."""
    asked_twice: int = 0
    """Verdicts whose first reply could not be used."""

    def share(self, *statuses: Status) -> float | None:
        """Of the verdicts that ended so; None without any."""
        hits = sum(self.statuses.get(str(status), 0) for status in statuses)
        return hits / self.n if self.n else None


class Scores:
    """Points of all judgements, by judge, kind and column."""

    def __init__(self, judgements: Iterable[Judgement]) -> None:
        self._points: dict[tuple[str, str, str], dict[str, float]] = {}
        self._clusters: dict[str, str] = {}
        for it in judgements:
            self._clusters[it.probe.sample] = it.probe.cluster
            for column, value in it.values.items():
                self._points.setdefault((it.judge, it.probe.kind, column), {})[it.probe.sample] = (
                    value
                )

    def of(self, judge: str, kind: str, column: str) -> dict[str, float]:
        """Points by sample."""
        return self._points.get((judge, kind, column), {})

    def every(self, judge: str, column: str) -> list[float]:
        """All points that a judge gave in a column."""
        return [
            value
            for (who, _, named), by_sample in self._points.items()
            if (who, named) == (judge, column)
            for value in by_sample.values()
        ]

    def clusters(self, samples: Iterable[str]) -> list[Hashable]:
        return [self._clusters[sample] for sample in samples]

    def paired(
        self, first: tuple[str, str, str], second: tuple[str, str, str]
    ) -> tuple[Pairs, list[Hashable]]:
        """Shape (n, 2), samples that have both, and their clusters."""
        one, other = self.of(*first), self.of(*second)
        both = [sample for sample in one if sample in other]
        pairs = np.array([[one[sample], other[sample]] for sample in both], dtype=np.float64)
        return pairs.reshape(-1, 2), self.clusters(both)


def agreement(column: str, pairs: Pairs, clusters: Sequence[Hashable]) -> Agreement:
    """All measures of agreement of two raters; each without a number has a reason."""
    distance = pairs[:, 1] - pairs[:, 0]

    def measured(statistic: Callable[[Pairs], float | None]) -> Measured:
        return _statistic(statistic, pairs, clusters)

    return Agreement(
        column,
        len(pairs),
        equal=_share(distance == 0, clusters),
        mean_difference=_mean(distance, clusters),
        mean_distance=_mean(np.abs(distance), clusters),
        weighted_kappa=measured(lambda rows: quadratic_weighted_kappa(rows[:, 0], rows[:, 1])),
        kappa=measured(lambda rows: cohen_kappa(rows[:, 0], rows[:, 1])),
        icc_agreement=measured(lambda rows: intraclass_correlation(rows.T).agreement),
        icc_consistency=measured(lambda rows: intraclass_correlation(rows.T).consistency),
        alpha=measured(lambda rows: krippendorff_alpha(rows.T)),
    )


def sanity(expectation: Expectation, points: dict[str, float], scores: Scores) -> Sanity:
    """The share of samples that meet an expectation."""
    values = np.array(list(points.values()))
    held = np.array([expectation.holds(value) for value in values], dtype=bool)
    clusters = scores.clusters(points)
    return Sanity(expectation, _share(held, clusters), _mean(values, clusters))


def separation(contrast: Contrast, judge: str, scores: Scores) -> Separation:
    """How far better and worse work lie apart, sample by sample."""
    column = contrast.column
    pairs, clusters = scores.paired(
        (judge, contrast.worse, column), (judge, contrast.better, column)
    )
    distance = pairs[:, 1] - pairs[:, 0]
    return Separation(contrast, _mean(distance, clusters), _share(distance > 0, clusters))


def shift(change: Change, column: str, judge: str, scores: Scores) -> Shift:
    """What a change of form does to the points, sample by sample."""
    pairs, clusters = scores.paired((judge, change.before, column), (judge, change.after, column))
    distance = pairs[:, 1] - pairs[:, 0]
    return Shift(change, column, _mean(distance, clusters), _share(distance == 0, clusters))


def replies(judge: str, judgements: Iterable[Judgement]) -> Replies:
    """Counts over all verdicts of a judge; questions that could not be sent are not among them."""
    verdicts = [it.verdict for it in judgements if it.judge == judge]
    sent = [verdict for verdict in verdicts if verdict.status is not Status.DATA_ERROR]
    return Replies(
        judge,
        len(sent),
        dict(Counter(str(verdict.status) for verdict in sent)),
        sum(verdict.attempts > 1 for verdict in sent),
    )


def _share(hits: NDArray[np.bool_], clusters: Sequence[Hashable]) -> Measured:
    if not len(hits):
        return Measured(None, reason=NOTHING)
    return _of(share_interval(hits, clusters), len(hits))


def _mean(values: NDArray[np.float64], clusters: Sequence[Hashable]) -> Measured:
    if not len(values):
        return Measured(None, reason=NOTHING)
    return _of(mean_interval(values, clusters), len(values))


def _statistic(
    statistic: Callable[[Pairs], float | None], pairs: Pairs, clusters: Sequence[Hashable]
) -> Measured:
    if not len(pairs):
        return Measured(None, reason=NOTHING)
    found = statistic_interval(statistic, pairs, clusters)
    if found is None:
        reason = undefined_because(pairs.T) or "it needs two samples at least"
        return Measured(None, n=len(pairs), reason=reason)
    return _of(found, len(pairs))


def _of(interval: Interval, n: int) -> Measured:
    reason = ""
    if interval.low is None:
        reason = (
            "no interval from one source image"
            if interval.n_clusters < 2
            else "no interval: undefined in too many resamples"
        )
    return Measured(interval.value, interval.low, interval.high, n, reason)
