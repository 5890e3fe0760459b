"""The vocabulary of the package: read this first.

Every reply of a model or a judge ends in exactly one `Status`; every number a reader sees is a
`Summary` of `Score`s, described by one `MetricInfo`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Literal, NamedTuple

Protocol = Literal["official", "strict", "extra"]


class Status(str, Enum):
    """What happened to one reply. Only `ANSWER` and `PARTIAL` carry a value."""

    ANSWER = "answer"
    """Read completely."""
    PARTIAL = "partial"
    """Some of the values asked for could be read, others not."""
    UNPARSED = "unparsed"
    """A reply came, but nothing in it could be read."""
    REFUSAL = "refusal"
    """The model declined."""
    TRUNCATED = "truncated"
    """The reply was cut before the answer."""
    MISSING = "missing"
    """There is no reply: empty cell, no image, no file."""
    API_FAIL = "api_fail"
    """The call itself failed."""
    DATA_ERROR = "data_error"
    """The benchmark's own data is absent or unusable, so nobody could be scored."""

    def __str__(self) -> str:
        return self.value

    @property
    def has_value(self) -> bool:
        return self in (Status.ANSWER, Status.PARTIAL)


@dataclass(frozen=True)
class Score:
    """One metric of one sample: a value, or the reason why there is none.

    `value` is a finite float exactly when `status.has_value`; a failure is never a number. The two
    kinds of "no value" are kept apart by `model_fault`: make them with `unanswered` (the model gave
    nothing usable) and `unscored` (we could not score it).

    Raises:
        ValueError: the value and the status contradict each other.
    """

    value: float | None
    status: Status = Status.ANSWER
    note: str = ""
    model_fault: bool = False
    """No value because the model under test gave nothing usable."""

    def __post_init__(self) -> None:
        if self.status.has_value != (self.value is not None):
            raise ValueError(
                f"expected a value exactly with status answer or partial, "
                f"got {self.value!r} with {self.status}"
            )
        if self.value is not None and not math.isfinite(self.value):
            raise ValueError(f"expected a finite value, got {self.value!r}; give a status instead")

    @classmethod
    def unanswered(cls, status: Status, note: str = "") -> Score:
        """The model gave nothing usable: the worst value in a strict column."""
        return cls(None, status, note, model_fault=True)

    @classmethod
    def unscored(cls, status: Status, note: str = "") -> Score:
        """We could not score it (judge, reference): it leaves every mean and is counted."""
        return cls(None, status, note)


@dataclass(frozen=True)
class MetricInfo:
    """How a metric is called, read and compared; reports take direction and label from here."""

    name: str
    """Key in result files, e.g. ``CP`` or ``CP_strict``."""
    label: str
    """What a table's header says."""
    unit: str = ""
    """Empty for plain fractions."""
    higher_is_better: bool = True
    bounds: tuple[float, float] = (0.0, 1.0)
    """Smallest and largest value; a missing answer gets the worse end in a strict column."""
    protocol: Protocol = "official"
    judged: bool = False
    """Needs a judge; blank without one."""
    source: str = ""
    """Paper table, file of the official code, or why we added it."""
    sum_of: tuple[str, ...] = ()
    """Names of metrics whose means add up to this one's; its interval is over rows with all."""

    @property
    def worst(self) -> float:
        return self.bounds[0] if self.higher_is_better else self.bounds[1]

    @property
    def best(self) -> float:
        return self.bounds[1] if self.higher_is_better else self.bounds[0]


@dataclass(frozen=True)
class Summary:
    """The mean of one metric over a group of samples, with its interval and its coverage.

    `low` and `high` are the ends of the 95 % interval (cluster bootstrap), `None` when fewer than
    two clusters were scored. `floor` and `ceiling` are the mean if every sample that *we* could not
    score had got the worst or the best value; they equal `value` when nothing is missing.
    """

    metric: str
    value: float | None
    low: float | None
    high: float | None
    n_expected: int
    """Samples of the benchmark in this group."""
    n_answered: int
    """Samples for which the model gave something usable."""
    n_scored: int
    """Samples in the mean; a strict mean holds the unanswered ones too, at the worst value."""
    floor: float | None = None
    ceiling: float | None = None
    group: str = "Overall"
    group_by: str = "overall"
    status_counts: Mapping[str, int] = field(default_factory=dict)


class Box(NamedTuple):
    """A box in pixels, origin top-left: upper left corner, then lower right."""

    x1: float
    y1: float
    x2: float
    y2: float
