"""What is asked to find out whether a judge is reliable, and what is expected of its answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import numpy as np

from ..judging import JudgeCall

CHECKS = ("retest", "sanity", "order", "format")
"""What may be checked; a second judge comes on top, by being there."""

AS_SCORED, RETEST = "as_scored", "retest"
OTHER_ORDER, AS_PNG, AS_JPEG = "other_order", "as_png", "as_jpeg"
REFERENCE, INPUT, BLANK, UNRELATED = "reference", "input", "blank", "unrelated"

Sample = TypeVar("Sample")


@dataclass(frozen=True)
class Probe:
    """One question of a check: a sample, what is done with it, and the call."""

    kind: str
    sample: str
    cluster: str
    """Samples of one source image belong together."""
    call: JudgeCall
    columns: Mapping[str, str]
    """Names in the reply to columns of the check, such as ``Editing Accuracy`` to ``EA``."""
    shown: str = ""
    """What stands in the place of the model's work, in words."""


@dataclass(frozen=True)
class Column:
    """A score that the judge gives, on a scale that begins at 0."""

    name: str
    top: float


@dataclass(frozen=True)
class Expectation:
    """What anybody who looks would score: at least, or at most, so much of the scale."""

    kind: str
    column: str
    limit: float
    """In points."""
    at_least: bool
    text: str
    """What is judged, such as ``the ground truth as edited image``."""

    def holds(self, points: float) -> bool:
        return points >= self.limit if self.at_least else points <= self.limit


@dataclass(frozen=True)
class Contrast:
    """Two kinds of work of which one is plainly better in a column."""

    column: str
    better: str
    worse: str
    text: str


@dataclass(frozen=True)
class Change:
    """The same work shown in two ways, which should not move a score."""

    name: str
    before: str
    after: str
    text: str


@dataclass(frozen=True)
class Limits:
    """From where on a finding is a warning; shares of the scale, of the calls, or a kappa."""

    high: float = 0.7
    """What a perfect piece of work must get at least."""
    low: float = 0.3
    """What a plainly bad one may get at most."""
    pass_rate: float = 0.9
    kappa: float = 0.6
    shift: float = 0.05
    failed: float = 0.05

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if not 0 <= value <= 1:
                raise ValueError(f"expected a share from 0 to 1 for {name}, got {value!r}")
        if self.low >= self.high:
            raise ValueError(f"expected low below high, got {self.low} and {self.high}")


@dataclass(frozen=True)
class CheckOptions:
    """How much is asked, and what counts as bad."""

    samples: int = 30
    seed: int = 0
    """Of the choice of samples; more samples of one seed hold the fewer ones."""
    checks: tuple[str, ...] = CHECKS
    max_calls: int | None = None
    """Questions the first and the second judge may be asked together, those that are asked again in
    a stricter form included; what the cache answers is none."""
    limits: Limits = field(default_factory=Limits)

    def __post_init__(self) -> None:
        unknown = sorted(set(self.checks) - set(CHECKS))
        if unknown:
            raise ValueError(f"expected checks among {', '.join(CHECKS)}, got {unknown}")
        if self.samples < 1:
            raise ValueError(f"expected at least 1 sample, got {self.samples}")
        if self.max_calls is not None and self.max_calls < 1:
            raise ValueError(f"expected at least 1 call for max_calls, got {self.max_calls}")


@dataclass(frozen=True)
class CheckPlan:
    """All questions to the first judge, sample by sample, and how the answers are read."""

    benchmark: str
    groups: tuple[tuple[Probe, ...], ...]
    """Probes of one sample belong together; the first judge gets them in this order."""
    columns: tuple[Column, ...]
    expectations: tuple[Expectation, ...] = ()
    contrasts: tuple[Contrast, ...] = ()
    changes: tuple[Change, ...] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)
    """Data, work and prompts, for the record."""
    notes: tuple[str, ...] = ()
    """What a reader should know about the choice."""

    def top(self, column: str) -> float:
        """Points at the upper end of the column's scale."""
        return next(it.top for it in self.columns if it.name == column)


def stratified_order(
    samples: Sequence[Sample], group_of: Callable[[Sample], str], seed: int
) -> list[Sample]:
    """All samples, so that every beginning of the list holds each group about equally often.

    Args:
        samples: in any order that is the same each time.
        group_of: the group of a sample.
        seed: the same seed and samples give the same order.
    """
    generator = np.random.default_rng(seed)
    shuffled = [samples[position] for position in generator.permutation(len(samples))]
    seen: Counter[str] = Counter()
    turns = []
    for sample in shuffled:
        group = group_of(sample)
        turns.append(seen[group])
        seen[group] += 1
    return [shuffled[position] for position in np.argsort(turns, kind="stable")]
