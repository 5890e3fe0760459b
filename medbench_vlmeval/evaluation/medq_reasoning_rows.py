"""Descriptions of images and pairs beside their questions, and the verdicts they close with."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..data.medq import MedQQuestion
from ..judging import Verdict
from ..judging.medq import DIMENSIONS
from ..parsing import read_preferred_image, read_quality_grade
from ..predictions import classify_prediction
from ..types import Score, Status
from .medq_reasoning_metrics import QUALITY_READ
from .run_files import groups_of, score_fields
from .shown_samples import ShownSample, question_images

GRADES = ("reject", "usable", "good")
"""Of one image, worst first."""

GROUP_OF: Mapping[str, Callable[[MedQQuestion], str]] = {
    "modality": lambda sample: sample.modality,
    "level": lambda sample: sample.level,
    "difficulty": lambda sample: sample.difficulty,
}
"""What descriptions are grouped by, where their table says."""

_NO_REPLY = (Status.MISSING, Status.API_FAIL)


@dataclass(frozen=True)
class ReasoningRow:
    """One question, a model's description, what it concludes, its verdicts and its scores."""

    sample: MedQQuestion
    reply: str | None
    """As the prediction file holds it."""
    in_file: bool
    """Whether the prediction file has a row for the question, be it empty."""
    reply_status: Status
    conclusion: str | None = None
    """Grade or image that the reply closes with; `None` where it names none."""
    reference_conclusion: str | None = None
    scores: Mapping[str, Score] = field(default_factory=dict)
    verdicts: Mapping[str, Verdict] = field(default_factory=dict)
    """By dimension; those that were reached."""

    @property
    def data_problem(self) -> str:
        """Why nobody could be scored on this question; empty where all is well."""
        if not (self.sample.description or "").strip():
            return "the reference description is missing"
        return "" if self.sample.is_whole else "an image is missing"

    @property
    def can_be_judged(self) -> bool:
        """Whether there is a reply and something to hold it against."""
        return not self.data_problem and self.reply_status not in _NO_REPLY

    @property
    def status(self) -> Status:
        """What happened to this row, for counts."""
        return Status.DATA_ERROR if self.data_problem else self.reply_status

    def with_scores(self, scores: Mapping[str, Score]) -> ReasoningRow:
        """The row with further scores."""
        return replace(self, scores={**self.scores, **scores})


def reasoning_rows(
    samples: Sequence[MedQQuestion], replies: Mapping[int, str | None]
) -> list[ReasoningRow]:
    """The rows of a run, with the score that needs no judge."""
    return [_row(sample, replies.get(sample.index), sample.index in replies) for sample in samples]


def _row(sample: MedQQuestion, reply: str | None, in_file: bool) -> ReasoningRow:
    conclusion, status = _conclusion(sample.kind, reply)
    reference, _ = _conclusion(sample.kind, sample.description)
    row = ReasoningRow(sample, reply, in_file, classify_prediction(reply), conclusion, reference)
    return row.with_scores({QUALITY_READ.name: _read_quality(row, status)})


def _conclusion(kind: str, text: str | None) -> tuple[str | None, Status]:
    if kind == "paired":
        preference = read_preferred_image(text)
        return preference.image, preference.status
    grading = read_quality_grade(text)
    return grading.grade, grading.status


def _read_quality(row: ReasoningRow, status: Status) -> Score:
    if row.data_problem:
        return Score.unscored(Status.DATA_ERROR, row.data_problem)
    if row.reference_conclusion is None:
        return Score.unscored(Status.DATA_ERROR, "the reference closes with no verdict")
    if row.reply_status is not Status.ANSWER:
        return Score.unanswered(row.reply_status)
    if row.conclusion is None:
        return Score.unanswered(status, "the reply closes with no verdict")
    return Score(_points(row.sample.kind, row.conclusion, row.reference_conclusion))


def _points(kind: str, given: str, wanted: str) -> float:
    if kind == "paired":
        return 2.0 if given == wanted else 0.0
    return 2.0 - abs(GRADES.index(given) - GRADES.index(wanted))


def score_record(row: ReasoningRow) -> dict[str, Any]:
    """One line of ``_scores.jsonl``: everything needed to trace and recompute the row's numbers."""
    return {
        "index": row.sample.index,
        "key": row.sample.key,
        "modality": row.sample.modality,
        "level": row.sample.level,
        "difficulty": row.sample.difficulty,
        "cluster": row.sample.case,
        "groups": groups_of({name: of(row.sample) for name, of in GROUP_OF.items()}),
        "image_sha256": row.sample.sha256,
        "reply_status": row.reply_status,
        "problem": row.data_problem,
        "conclusion": row.conclusion,
        "reference_conclusion": row.reference_conclusion,
        "scores": score_fields(row.scores),
        "judge": {
            dimension: _verdict_fields(row.verdicts[dimension])
            for dimension in DIMENSIONS
            if dimension in row.verdicts
        },
    }


def shown_description(row: ReasoningRow) -> ShownSample:
    """The question behind a row, with the reference that the reply is held against."""
    sample = row.sample
    return ShownSample(
        index=sample.index,
        key=sample.key,
        kind="description",
        images=question_images(sample),
        reply=row.reply,
        about={
            "question": sample.question,
            "reference": sample.description,
            **groups_of({name: of(sample) for name, of in GROUP_OF.items()}),
        },
    )


def _verdict_fields(verdict: Verdict) -> dict[str, Any]:
    fields: dict[str, Any] = {
        "call_id": verdict.call_id,
        "status": verdict.status,
        "note": verdict.note,
        "reading": verdict.reading.values if verdict.reading else None,
        "model_returned": verdict.model_returned,
        "cached": verdict.cached,
    }
    if verdict.repeats:
        fields["rounds"] = [r.reading.values if r.reading else None for r in verdict.repeats]
    return fields
