"""What the plots of some runs have in common: their names, their metrics, their captions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from ...types import MetricInfo
from ..runs import Run
from .kinds import PlotKind, Row, kind_of, labels_of
from .sheet import COLOURS

SPREAD_CAPTION = (
    "Samples without a score are counted apart; where the published rule writes the worst value "
    "for them, they are not in its bar."
)


@dataclass(frozen=True)
class Shown:
    """Runs on one data set, and what their plots have in common."""

    every: tuple[Run, ...]
    start: str
    """What the names of their plots begin with."""

    @property
    def runs(self) -> tuple[Run, ...]:
        """Those that there are colours for."""
        return self.every[: len(COLOURS)]

    @cached_property
    def labels(self) -> tuple[str, ...]:
        return labels_of(self.every)

    @cached_property
    def kind(self) -> PlotKind:
        return kind_of(self.every[0])

    @cached_property
    def metrics(self) -> dict[str, MetricInfo]:
        """The columns of all runs by name, as the first run that has one describes it."""
        return {metric.name: metric for run in reversed(self.every) for metric in run.metrics}

    @cached_property
    def headline(self) -> tuple[MetricInfo, ...]:
        return tuple(self.metrics[name] for name in self.kind.headline if name in self.metrics)

    @property
    def is_single(self) -> bool:
        return len(self.every) == 1

    @property
    def rows(self) -> dict[str, Sequence[Row]]:
        """Rows by label of their run."""
        return {label: run.rows for label, run in zip(self.labels, self.runs, strict=False)}

    def caption(self, *sentences: str) -> str:
        """The sentences that say something, and how many runs are not drawn."""
        left = len(self.every) - len(self.runs)
        more = f"The first {len(self.runs)} of {len(self.every)} runs." if left else ""
        return " ".join(filter(None, (*sentences, more)))
