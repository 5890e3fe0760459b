"""What is plotted of which run: headline metrics, groups, and how fine each metric's steps are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from ...types import MetricInfo, Score, Status
from ..runs import Run, RunUnreadable, read_score

Index = int | str
"""What a sample is called in ``_scores.jsonl``."""
Row = Mapping[str, Any]


@dataclass(frozen=True)
class PlotKind:
    """The plots that the runs of one benchmark call for."""

    name: str
    headline: tuple[str, ...]
    """Names of the metrics shown first, the official ones; a run without the first is none."""
    group_by: tuple[str, ...]
    steps: Mapping[str, int] = field(default_factory=dict)
    """Of metrics whose samples take few values: into how many steps these divide the bounds."""


_POINTS = ("completeness", "preciseness", "consistency", "quality_accuracy")

KINDS = (
    PlotKind("edit", ("CP", "EA", "VQ"), ("organ",), {"EA": 10, "VQ": 10}),
    PlotKind("boxes", ("IoU", "ACC@0.5"), ("task",), {"ACC@0.5": 1}),
    PlotKind(
        "choice",
        ("accuracy",),
        ("question_type", "modality", "level", "degradation"),
        {"accuracy": 1},
    ),
    PlotKind(
        "description",
        ("quality_accuracy_read", "Overall", *_POINTS),
        ("modality",),
        {"Overall": 8, **dict.fromkeys((*_POINTS, "quality_accuracy_read"), 2)},
    ),
)


def kind_of(run: Run) -> PlotKind:
    """The kind of a run by the metrics that it has; one of its own where none is known."""
    names = {metric.name for metric in run.metrics}
    for kind in KINDS:
        if kind.headline[0] in names:
            return kind
    official = tuple(metric.name for metric in run.metrics if metric.protocol == "official")
    groups = dict.fromkeys(line["group_by"] for line in run.table)
    return PlotKind(run.dataset, official, tuple(name for name in groups if name != "overall"))


def strict_twin(run: Run, metric: MetricInfo) -> MetricInfo | None:
    """The strict column that stands beside an official one."""
    twins = (it for it in run.metrics if it.name == f"{metric.name}_strict")
    return next(twins, None)


def labels_of(runs: Sequence[Run]) -> tuple[str, ...]:
    """The models' names; numbered where several runs are of one model."""
    times = Counter(run.model for run in runs)
    seen: Counter[str] = Counter()
    labels = []
    for run in runs:
        seen[run.model] += 1
        many = times[run.model] > 1
        labels.append(f"{run.model} ({seen[run.model]})" if many else run.model)
    return tuple(labels)


_WORDS = {Status.API_FAIL: "call failed", Status.DATA_ERROR: "data error"}
_UNREAD = "no answer by the published rule"


def failure_of(row: Row, metric: MetricInfo) -> str | None:
    """Why a row has no score of its own to draw, in a few words; None where it has one.

    A number that the published rule writes for a reply in which it found nothing is a failure
    here, not a score: 0 for no box, wrong for no letter.

    Raises:
        RunUnreadable: value and status of the score contradict each other, or the row's own status
            is none that is known.
    """
    score = read_score(row.get("scores", {}).get(metric.name))
    if score is None:
        return "not in the file"
    if score.value is None:
        return _failed(score, metric)
    if metric.protocol == "strict" or score.value != metric.worst or _was_read(row, score):
        return None
    return _read_status(row)


def _read_status(row: Row) -> str:
    try:
        status = Status(row["status"])
    except (KeyError, ValueError) as error:
        raise RunUnreadable(
            f"row {row.get('index')!r}: expected a status, got {row.get('status')!r}; "
            "evaluate the run again"
        ) from error
    return _UNREAD if status.has_value else _WORDS.get(status, status.value)


def _failed(score: Score, metric: MetricInfo) -> str:
    word = _WORDS.get(score.status, score.status.value)
    if score.model_fault or score.status is Status.DATA_ERROR or not metric.judged:
        return word
    return score.note if score.note == "not judged" else f"judge: {word}"


def _was_read(row: Row, score: Score) -> bool:
    """Whether the published rule found something: a box, or one letter in an actual reply."""
    if "official_boxes" in row:
        return bool(row["official_boxes"])
    if "official_letter" in row:
        return len(str(row["official_letter"])) == 1 and not score.note
    return True


def sample_link(samples: Sequence[Index]) -> str:
    """The fragment of one sample, or of exactly these several; empty for none."""
    shown = ",".join(quote(str(index), safe="", errors="surrogatepass") for index in samples)
    if not samples:
        return ""
    return f"#sample={shown}" if len(samples) == 1 else f"#samples={shown}"


def group_link(group_by: str, group: str) -> str:
    """The fragment of a group; empty for all samples."""
    if group_by == "overall":
        return ""
    parts = (quote(part, safe="", errors="surrogatepass") for part in (group_by, group))
    return "#" + "=".join(parts)


def counted(names: Iterable[str]) -> str:
    """Names with how often each comes, as a sentence holds them."""
    return ", ".join(f"{n} {name}" for name, n in Counter(names).most_common())
