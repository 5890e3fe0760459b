"""What differs between two runs: what made them, and in which samples the scores moved."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from .runs import Run, read_score

_NOT_COMPARED = ("created", "files", "predictions", "warnings", "notes", "metrics")
"""Different in any two runs, or shown by the scores themselves."""


@dataclass(frozen=True)
class Fact:
    """One thing that the manifests say differently; None where one does not say it."""

    name: str
    a: Any
    b: Any


@dataclass(frozen=True)
class Moved:
    """One score of one sample that is not the same in both runs; None where there is none."""

    index: int | str
    metric: str
    a: float | None
    b: float | None


@dataclass(frozen=True)
class RunDifference:
    """Two runs side by side."""

    a: Run
    b: Run
    facts: tuple[Fact, ...]
    moved: tuple[Moved, ...]
    only_a: tuple[int | str, ...]
    """Samples of the first run that the second lacks."""
    only_b: tuple[int | str, ...]

    def lines(self, *, most: int = 20) -> list[str]:
        """What a user should know, a line each; of many moved scores the largest moves."""
        lines = [f"a: {self.a.manifest_path}", f"b: {self.b.manifest_path}", "made with:"]
        lines += [f"  {fact.name}: {_shown(fact.a)} / {_shown(fact.b)}" for fact in self.facts]
        lines += [] if self.facts else ["  the same"]
        lines += [f"samples in a only: {len(self.only_a)}, in b only: {len(self.only_b)}"]
        by_metric: dict[str, list[Moved]] = {}
        for moved in self.moved:
            by_metric.setdefault(moved.metric, []).append(moved)
        lines += [] if by_metric else ["scores: all the same"]
        for metric, found in by_metric.items():
            lines.append(f"{metric}: moved in {len(found)} samples")
            largest = sorted(found, key=_size, reverse=True)[:most]
            lines += [f"  {it.index}: {_shown(it.a)} / {_shown(it.b)}" for it in largest]
        return lines


def run_difference(a: Run, b: Run) -> RunDifference:
    """Compare two runs by their manifests and, sample by sample, by their scores.

    Raises:
        RunUnreadable: files that cannot be read.
    """
    rows_a, rows_b = ({row["index"]: row for row in run.rows} for run in (a, b))
    return RunDifference(
        a,
        b,
        tuple(_facts({"model": a.model, **a.manifest}, {"model": b.model, **b.manifest})),
        tuple(
            moved
            for index in rows_a
            if index in rows_b
            for moved in _moved(index, rows_a[index], rows_b[index])
        ),
        tuple(index for index in rows_a if index not in rows_b),
        tuple(index for index in rows_b if index not in rows_a),
    )


def _facts(a: Mapping[str, Any], b: Mapping[str, Any], prefix: str = "") -> Iterator[Fact]:
    for name in dict.fromkeys((*a, *b)):
        if not prefix and name in _NOT_COMPARED:
            continue
        one, other = a.get(name), b.get(name)
        if isinstance(one, dict) and isinstance(other, dict):
            yield from _facts(one, other, f"{prefix}{name}.")
        elif one != other:
            yield Fact(prefix + name, one, other)


def _moved(index: int | str, a: Mapping[str, Any], b: Mapping[str, Any]) -> Iterator[Moved]:
    for metric in dict.fromkeys((*a["scores"], *b["scores"])):
        one, other = (read_score(row["scores"].get(metric)) for row in (a, b))
        values = one.value if one else None, other.value if other else None
        if values[0] != values[1]:
            yield Moved(index, metric, *values)


def _size(moved: Moved) -> float:
    # A value that came or went is more than any change.
    if moved.a is None or moved.b is None:
        return float("inf")
    return abs(moved.a - moved.b)


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "–" if value is None else str(value)
    return text if len(text) <= 120 else text[:119] + "…"
