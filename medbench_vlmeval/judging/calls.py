"""What goes into the judge and what comes out: rubric, call, verdict, and counts over verdicts."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from statistics import stdev, variance

from ..parsing import ScoreReading
from ..types import Status

ROLES = ("system", "developer", "user", "assistant")


@dataclass(frozen=True)
class Rubric:
    """Which numbers the judge is asked for, and on which scale.

    Raises:
        ValueError: no name, or a scale without extent.
    """

    name: str
    names: tuple[str, ...]
    """What is scored, as the reply must call it, in the order asked for."""
    low: float
    high: float
    allowed: tuple[float, ...] | None = None
    """The only values permitted; `None` permits every number from `low` to `high`."""

    def __post_init__(self) -> None:
        if isinstance(self.names, str) or not self.names:
            raise ValueError(f"expected a tuple of at least one name, got {self.names!r}")
        if not self.low < self.high:
            raise ValueError(f"expected low < high, got {self.low} and {self.high}")


@dataclass(frozen=True)
class Message:
    """One chat message: text parts are `str`, image parts are the `Path` of the file.

    Raises:
        ValueError: an unknown role, or no parts.
        TypeError: a part that is neither text nor path.
    """

    role: str
    parts: tuple[str | Path, ...]

    def __post_init__(self) -> None:
        if self.role not in ROLES:
            raise ValueError(f"expected a role of {', '.join(ROLES)}, got {self.role!r}")
        if isinstance(self.parts, (str, Path)) or not self.parts:
            raise ValueError(f"expected a tuple of at least one part, got {self.parts!r}")
        for part in self.parts:
            if not isinstance(part, (str, Path)):
                raise TypeError(f"expected text or a path as part, got {type(part).__name__}")


@dataclass(frozen=True)
class JudgeCall:
    """One question to the judge. `key` traces it to its sample and must be unique within a run.

    Neither `key` nor `labels` is part of the cache key: the same question is asked once, unless it
    has another `repeat`.
    """

    key: str
    messages: tuple[Message, ...]
    rubric: Rubric
    labels: Mapping[str, str] = field(default_factory=dict)
    """Groups the sample belongs to, e.g. organ or modality, for counts of refusals."""
    repeat: int = 0
    """Number of the repeat that this call is, or begins with when the judge is to repeat calls."""

    def __post_init__(self) -> None:
        if not self.messages:
            raise ValueError(f"expected at least one message in call {self.key!r}, got none")
        if self.repeat < 0:
            raise ValueError(
                f"expected a repeat of at least 0 in call {self.key!r}, got {self.repeat}"
            )


@dataclass(frozen=True)
class Verdict:
    """What the judge made of one call; `reading` is there exactly when the status has a value."""

    key: str
    reading: ScoreReading | None
    status: Status
    note: str
    reply: str
    """The reply that was read, whole."""
    first_reply: str
    """The reply to the first, unaltered question: what a published one-shot rule would read."""
    call_id: str
    """SHA-256 of the first request, images by their hash; finds the replies in log and cache."""
    model_requested: str
    model_returned: str
    finish_reason: str
    prompt_tokens: int | None
    """Over all questions of this verdict; `None` when the endpoint does not count."""
    completion_tokens: int | None
    cost: float | None
    """US dollars over all questions of this verdict; `None` when the price is unknown."""
    cached: bool
    attempts: int
    """Questions asked for this verdict, 1 or 2; a transmission that is repeated counts once."""
    labels: Mapping[str, str] = field(default_factory=dict)
    repeats: tuple[Verdict, ...] = ()
    """All verdicts of this call when it was judged several times, the first one included."""

    @property
    def retest_sd(self) -> dict[str, float]:
        """Standard deviation of each score over the repeats; empty with fewer than two values."""
        spread = {}
        for name, values in _values_by_name(self.repeats).items():
            if len(values) >= 2:
                spread[name] = stdev(values)
        return spread


@dataclass(frozen=True)
class Estimate:
    """What a run would ask, from a dry run that calls nobody."""

    n_calls: int
    """Questions that would be sent; those the cache answers are not among them."""
    n_cached: int
    prompt_tokens: int
    cost: float | None
    """US dollars if every reply uses all its tokens and none is asked twice; `None`: no price."""

    def __str__(self) -> str:
        cost = "of unknown cost" if self.cost is None else f"at most {self.cost:.2f} US dollars"
        return (
            f"{self.n_calls} calls ({self.n_cached} more are answered from the cache), "
            f"about {self.prompt_tokens} tokens of questions, {cost}"
        )


class JudgeStopped(RuntimeError):
    """The judge cannot go on. What was finished is in the cache, in the log and in `verdicts`.

    Args:
        reason: what happened and what to do about it, for the user; also the exception's text.
        verdicts: by key.
        kind: the same for programs: ``bad_key``, ``unknown_model``, ``quota``, ``rate_limit``,
            ``unreachable``, ``unavailable`` (reachable, but failing), ``budget``, or ``stopped``.
    """

    def __init__(self, reason: str, verdicts: Mapping[str, Verdict], kind: str = "stopped") -> None:
        super().__init__(reason)
        self.reason = reason
        self.verdicts = dict(verdicts)
        self.kind = kind


def status_counts(verdicts: Iterable[Verdict]) -> dict[Status, int]:
    """How many verdicts ended in each status."""
    return dict(Counter(verdict.status for verdict in verdicts))


def refusal_counts(verdicts: Iterable[Verdict], label: str) -> dict[str, int]:
    """Refusals of the judge by the value of one label, e.g. ``{"CT": 3}`` for ``modality``."""
    refused = (verdict for verdict in verdicts if verdict.status is Status.REFUSAL)
    return dict(Counter(verdict.labels.get(label, "") for verdict in refused))


def retest_sd(verdicts: Iterable[Verdict]) -> dict[str, float]:
    """Test-retest standard deviation of each score, pooled over samples.

    The square root of the mean variance within a sample, over samples with at least two values of
    that score; names without such a sample are absent. Lower is a steadier judge.
    """
    within: dict[str, list[float]] = {}
    for verdict in verdicts:
        for name, values in _values_by_name(verdict.repeats).items():
            if len(values) >= 2:
                within.setdefault(name, []).append(variance(values))
    return {name: math.sqrt(sum(parts) / len(parts)) for name, parts in within.items()}


def _values_by_name(verdicts: Iterable[Verdict]) -> dict[str, list[float]]:
    values: dict[str, list[float]] = {}
    for verdict in verdicts:
        if verdict.reading is None:
            continue
        for name, value in verdict.reading.values.items():
            if value is not None:
                values.setdefault(name, []).append(value)
    return values
