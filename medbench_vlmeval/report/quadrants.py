"""Attention against accuracy: the two failure patterns of MedEBench, per model and task.

An editor that looks elsewhere (low IoU) and one that looks at the right place and changes too
little there (high IoU, low EA) need different remedies. Where high begins is not published.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..stats import share_interval
from .lines import read_whole
from .runs import Run, RunUnreadable, read_score

HIGH_IOU = 0.35
"""Halfway between the examples that the paper's Figure 6 shows as low (up to 0.17) and as high
(0.53 and more); our choice."""
HIGH_EA = 0.5
"""The middle of the judge's scale; our choice."""
ACCURACY = "EA"
ATTENTION_SUFFIX = "_attention.jsonl"

GROUNDED, CONSERVATIVE, ACCURATE_ELSEWHERE, MISLOCALISED = (
    "high IoU, high EA",
    "high IoU, low EA",
    "low IoU, high EA",
    "low IoU, low EA",
)
QUADRANTS = (GROUNDED, CONSERVATIVE, ACCURATE_ELSEWHERE, MISLOCALISED)
PATTERNS: Mapping[str, tuple[str, ...]] = {
    "conservative edit": (CONSERVATIVE,),
    "mislocalised": (ACCURATE_ELSEWHERE, MISLOCALISED),
}
"""The paper's two patterns: high IoU with low EA, and low IoU whatever EA."""


@dataclass(frozen=True)
class CutOffs:
    """Where high begins; a value at the cut-off is high."""

    iou: float = HIGH_IOU
    accuracy: float = HIGH_EA

    def __post_init__(self) -> None:
        for name, value in (("iou", self.iou), ("accuracy", self.accuracy)):
            if not 0.0 < value <= 1.0:
                raise ValueError(f"expected a cut-off of {name} in (0, 1], got {value}")

    def quadrant(self, iou: float, accuracy: float) -> str:
        """Which of `QUADRANTS` a sample is in."""
        high = iou >= self.iou, accuracy >= self.accuracy
        return QUADRANTS[(not high[0]) * 2 + (not high[1])]


@dataclass(frozen=True)
class GroundedEdit:
    """One sample with both numbers."""

    index: int
    iou: float
    accuracy: float
    roi_share: float | None
    cluster: str
    groups: Mapping[str, str]


@dataclass(frozen=True)
class GroundedRun:
    """The samples of one judged run that have both numbers, and why the others have not."""

    model: str
    edits: tuple[GroundedEdit, ...]
    left_out: Mapping[str, int]
    """Reason to number of samples."""

    @property
    def n_expected(self) -> int:
        return len(self.edits) + sum(self.left_out.values())


@dataclass(frozen=True)
class QuadrantCount:
    """How many samples of one group are in each quadrant."""

    model: str
    group_by: str
    group: str
    counts: Mapping[str, int]
    shares: Mapping[str, tuple[float, float | None, float | None]]
    """Of each of `PATTERNS`: the fraction of samples, and its 95 % interval where there is one."""

    @property
    def n(self) -> int:
        return sum(self.counts.values())


def grounded_run(run: Run, *, accuracy: str = ACCURACY, other_edits: bool = False) -> GroundedRun:
    """A judged run joined with its ``_attention.jsonl``.

    Args:
        run: with the column `accuracy`.
        accuracy: ``EA`` or ``EA_strict``.
        other_edits: take samples in, too, whose map was recorded for another image than the judged
            one.

    Raises:
        RunUnreadable: there are no attention rows beside the run, or it was not judged.
    """
    attention = _attention_rows(run)
    if not any(metric.name == accuracy for metric in run.metrics):
        raise RunUnreadable(f"{run.stem}: expected the column {accuracy}, the run has none")
    edits: list[GroundedEdit] = []
    left_out: Counter[str] = Counter()
    for row in run.rows:
        found = _edit(row, attention.get(row["index"]), accuracy, other_edits=other_edits)
        if isinstance(found, str):
            left_out[found] += 1
        else:
            edits.append(found)
    if not edits and not any(_value(row, accuracy) is not None for row in run.rows):
        raise RunUnreadable(f"{run.stem}: expected judged samples, none has {accuracy}; judge it")
    return GroundedRun(run.model, tuple(edits), dict(left_out))


def quadrant_counts(
    runs: Iterable[GroundedRun], cut_offs: CutOffs | None = None
) -> Iterator[QuadrantCount]:
    """The quadrants of each run: overall, then by organ and by task; groups without samples never.

    Intervals are bootstrapped over source images.
    """
    cuts = cut_offs or CutOffs()
    for run in runs:
        groups: dict[tuple[str, str], list[GroundedEdit]] = {("overall", "Overall"): []}
        for edit in run.edits:
            groups["overall", "Overall"].append(edit)
            for group_by, group in edit.groups.items():
                groups.setdefault((group_by, group), []).append(edit)
        for (group_by, group), edits in sorted(groups.items(), key=_order):
            if edits:
                yield _counted(run.model, group_by, group, edits, cuts)


def quadrants_csv(counts: Sequence[QuadrantCount]) -> str:
    """The counts as a table, a line each."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    bounds = [f"{name}{end}" for name in PATTERNS for end in ("", " low", " high")]
    writer.writerow(["model", "group_by", "group", "n", *QUADRANTS, *bounds])
    for it in counts:
        shares = ["" if end is None else repr(end) for name in PATTERNS for end in it.shares[name]]
        numbers = [it.counts.get(name, 0) for name in QUADRANTS]
        writer.writerow([it.model, it.group_by, it.group, it.n, *numbers, *shares])
    return stream.getvalue()


def _order(item: tuple[tuple[str, str], Any]) -> tuple[bool, str, str]:
    (group_by, group), _ = item
    return group_by != "overall", group_by, group


def _counted(
    model: str, group_by: str, group: str, edits: Sequence[GroundedEdit], cuts: CutOffs
) -> QuadrantCount:
    places = [cuts.quadrant(edit.iou, edit.accuracy) for edit in edits]
    clusters = [edit.cluster for edit in edits]
    shares = {}
    for name, quadrants in PATTERNS.items():
        interval = share_interval([place in quadrants for place in places], clusters)
        shares[name] = (interval.value, interval.low, interval.high)
    return QuadrantCount(model, group_by, group, Counter(places), shares)


def _attention_rows(run: Run) -> dict[Any, Mapping[str, Any]]:
    path = run.beside(ATTENTION_SUFFIX)
    if not path.is_file():
        raise RunUnreadable(
            f"{path}: expected attention rows beside the run; write them with `medbench "
            f"attention-score MAPS --data {run.dataset} --run {run.manifest_path}`"
        )
    return {row["index"]: row for row in read_whole(path)}


def _edit(
    row: Mapping[str, Any],
    attention: Mapping[str, Any] | None,
    accuracy: str,
    *,
    other_edits: bool,
) -> GroundedEdit | str:
    """The sample with both numbers, or why it has not."""
    if attention is None:
        return "no attention row"
    iou, judged = _value(attention, "attention_iou"), _value(row, accuracy)
    if iou is None:
        return f"no IoU: {_reason(attention, 'attention_iou')}"
    if judged is None:
        return f"no {accuracy}: {_reason(row, accuracy)}"
    if "other_edit" in attention.get("flags", ()) and not other_edits:
        return "the map belongs to another image than the judged one"
    return GroundedEdit(
        index=row["index"],
        iou=iou,
        accuracy=judged,
        roi_share=_value(attention, "roi_share"),
        cluster=str(row["cluster"]),
        groups=row.get("groups", {}),
    )


def _value(row: Mapping[str, Any], metric: str) -> float | None:
    score = read_score(row.get("scores", {}).get(metric))
    return None if score is None else score.value


def _reason(row: Mapping[str, Any], metric: str) -> str:
    score = read_score(row.get("scores", {}).get(metric))
    return "no such column" if score is None else score.note or str(score.status)
