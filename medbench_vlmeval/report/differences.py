"""What differs between two runs: what made them, and in which samples the scores moved."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .runs import Run, read_score
from .safe_text import visible
from .samples import SamplesAbsent, sample_lines

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
    shown: Mapping[str, tuple[int | str, ...]]
    """Prompts, images and replies: the samples of both runs in which they are not the same."""
    notes: tuple[str, ...] = ()
    """What a reader of the rest must know."""

    @property
    def share_no_sample(self) -> bool:
        return len(self.only_a) == len(self.a.rows)

    def lines(self, *, most: int = 20) -> list[str]:
        """What a user should know, a line each; of many moved scores the largest moves."""
        lines = [f"a: {self.a.manifest_path}", f"b: {self.b.manifest_path}", "made with:"]
        lines += [f"  {fact.name}: {_shown(fact.a)} / {_shown(fact.b)}" for fact in self.facts]
        lines += [] if self.facts else ["  the same"]
        lines += [f"samples in a only: {len(self.only_a)}, in b only: {len(self.only_b)}"]
        lines += [f"note: {note}" for note in self.notes]
        if self.share_no_sample:
            return [visible(line) for line in (*lines, "scores: no sample is in both")]
        for name, indices in self.shown.items():
            lines += [f"{name}: not the same in {_samples(len(indices))}"]
            lines += [f"  {_listed(indices, most)}"] if most else []
        return [visible(line) for line in (*lines, *self._score_lines(most))]

    def _score_lines(self, most: int) -> Iterator[str]:
        by_metric: dict[str, list[Moved]] = {}
        for moved in self.moved:
            by_metric.setdefault(moved.metric, []).append(moved)
        if not by_metric:
            yield "scores: all the same"
        for metric, found in by_metric.items():
            yield f"{metric}: moved in {_samples(len(found))}"
            for it in sorted(found, key=_size, reverse=True)[:most]:
                yield f"  {it.index}: {_shown(it.a)} / {_shown(it.b)}"


def run_difference(a: Run, b: Run) -> RunDifference:
    """Compare two runs by their manifests and, sample by sample, by their scores.

    Raises:
        RunUnreadable: files that cannot be read.
    """
    rows_a, rows_b = ({row["index"]: row for row in run.rows} for run in (a, b))
    shown, notes = _shown_differently(a, b)
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
        shown,
        (*_data_notes(a, b), *notes),
    )


def _data_notes(a: Run, b: Run) -> Iterator[str]:
    fingerprints = [run.manifest.get("data", {}).get("fingerprint") for run in (a, b)]
    if a.dataset != b.dataset:
        yield "these are different data sets; samples of one index have nothing in common"
    elif fingerprints[0] != fingerprints[1]:
        yield "the data is not the same; a score may have moved because its sample did"


def _shown_differently(a: Run, b: Run) -> tuple[dict[str, tuple[int | str, ...]], tuple[str, ...]]:
    """Where prompts, images and replies differ; or why that cannot be said."""
    try:
        lines_a, lines_b = ({it["index"]: it for it in sample_lines(run)} for run in (a, b))
    except SamplesAbsent as error:
        return {}, (f"prompts, images and replies are not compared: {error}",)
    both = [index for index in lines_a if index in lines_b]
    found = {
        name: tuple(index for index in both if part(lines_a[index]) != part(lines_b[index]))
        for name, part in _PARTS.items()
    }
    return {name: indices for name, indices in found.items() if indices}, ()


_PARTS: Mapping[str, Callable[[Mapping[str, Any]], Any]] = {
    "prompts": lambda line: line.get("prompt"),
    "images": lambda line: [(it.get("role"), it.get("sha256")) for it in line.get("images", ())],
    "replies": lambda line: line.get("reply"),
}


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


def _samples(number: int) -> str:
    return f"{number} {'sample' if number == 1 else 'samples'}"


def _listed(indices: Sequence[int | str], most: int) -> str:
    return ", ".join(map(str, indices[:most])) + (", …" if len(indices) > most else "")


def _shown(value: Any) -> str:
    if isinstance(value, float):
        return f"{value:.4g}"
    text = "–" if value is None else str(value)
    return text if len(text) <= 120 else text[:119] + "…"
