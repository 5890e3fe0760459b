"""Replies to multiple-choice questions of MedQ-Bench as letters and scores, row by row."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..data import MedQQuestion
from ..judging import Verdict
from ..judging.choice_extraction import extracted_letter
from ..official import medq as official
from ..parsing import ChoiceReading, read_choice
from ..types import Score, Status
from .medq_perception_metrics import ACCURACY, ACCURACY_EXTRACTED, ACCURACY_STRICT
from .run_files import groups_of, score_fields
from .shown_samples import ShownSample, question_images

GROUP_OF: Mapping[str, Callable[[MedQQuestion], str]] = {
    "question_type": lambda sample: sample.question_type,
    "modality": lambda sample: sample.modality,
    "level": lambda sample: sample.level,
    "degradation": lambda sample: sample.degradation,
    "scope": lambda sample: sample.scope,
    "origin": lambda sample: sample.origin,
}
"""What questions are grouped by, where their table says."""

_NO_REPLY = (Status.MISSING, Status.API_FAIL)


@dataclass(frozen=True)
class AnsweredQuestion:
    """One question, a model's reply to it, what both readers make of it, and the scores."""

    sample: MedQQuestion
    reply: str | None
    reading: ChoiceReading
    official_letter: str
    """What the published rule gives: a letter, or the whole reply."""
    scores: Mapping[str, Score]
    verdict: Verdict | None = None
    """Of the judge that was asked which option the reply states."""

    @property
    def letter_by(self) -> str:
        """What the strict letter was read from; ``judge``, or ``none``."""
        if self.reading.letter is not None:
            return self.reading.by
        return "judge" if self.extracted is not None else "none"

    @property
    def extracted(self) -> str | None:
        """The letter that the judge found stated in a reply without a readable one."""
        if self.verdict is None or self.verdict.reading is None:
            return None
        return extracted_letter(self.verdict.reading.values, self.sample.options)


def answered_questions(
    samples: Sequence[MedQQuestion], replies: Mapping[int, str | None]
) -> list[AnsweredQuestion]:
    """The rows of a run; `replies` holds the rows of the prediction file, empty ones as None."""
    return [
        _answered(sample, replies.get(sample.index), in_file=sample.index in replies)
        for sample in samples
    ]


def _answered(sample: MedQQuestion, reply: str | None, *, in_file: bool) -> AnsweredQuestion:
    reading = read_choice(reply, sample.options)
    rule = official.deg_choice if sample.kind == "deg" else official.choice
    letter = rule(reply)
    unusable = _unusable(sample)
    if unusable:
        failed = Score.unscored(Status.DATA_ERROR, unusable)
        scores = {ACCURACY.name: failed, ACCURACY_STRICT.name: failed}
    else:
        scores = {
            ACCURACY.name: _official_score(sample, letter, reading.status)
            if in_file
            else Score.unanswered(Status.MISSING, "not in the prediction file"),
            ACCURACY_STRICT.name: _strict_score(sample, reading),
        }
    return AnsweredQuestion(sample, reply, reading, letter, scores)


def _unusable(sample: MedQQuestion) -> str:
    if sample.answer is None:
        return "the release gives no usable answer"
    return "" if sample.is_whole else "the image is missing"


def _official_score(sample: MedQQuestion, letter: str, status: Status) -> Score:
    note = "no reply: wrong, as published" if status in _NO_REPLY else ""
    # A failed call's text may hold a stray letter, which the published rule would take.
    hit = not note and letter.upper() == str(sample.answer).upper()
    return Score(float(hit), note=note)


def _strict_score(sample: MedQQuestion, reading: ChoiceReading) -> Score:
    if reading.letter is None:
        return Score.unanswered(reading.status)
    return Score(float(reading.letter == sample.answer))


def with_extraction(
    row: AnsweredQuestion, verdict: Verdict | None, *, asked: bool
) -> AnsweredQuestion:
    """The row with its column of judge-read letters.

    Args:
        row: as `answered` gives it.
        verdict: of the judge; None where it was not asked, or stopped before this row.
        asked: whether the judge should have been asked about this row.
    """
    row = replace(row, verdict=verdict)
    score = _extracted_score(row, asked=asked)
    return replace(row, scores={**row.scores, ACCURACY_EXTRACTED.name: score})


def _extracted_score(row: AnsweredQuestion, *, asked: bool) -> Score:
    strict = row.scores[ACCURACY_STRICT.name]
    if strict.value is not None or not strict.model_fault:
        return strict
    if row.verdict is None and asked:
        return Score.unscored(Status.API_FAIL, "the judge stopped before this row")
    if row.verdict is None:
        return Score(0.0, note=f"no letter: {row.reading.status}")
    if not row.verdict.status.has_value:
        return Score.unscored(row.verdict.status, row.verdict.note)
    if row.extracted is None:
        return Score(0.0, note="the judge finds no option stated")
    return Score(float(row.extracted == row.sample.answer), note="letter read by the judge")


def score_record(row: AnsweredQuestion) -> dict[str, Any]:
    """One line of ``_scores.jsonl``: everything needed to trace and recompute the row's numbers."""
    sample = row.sample
    return {
        "index": sample.index,
        "key": sample.key,
        "question_type": sample.question_type,
        "modality": sample.modality,
        "degradation": sample.degradation,
        "level": sample.level,
        "cluster": sample.case,
        "groups": groups_of({name: of(sample) for name, of in GROUP_OF.items()}),
        "image_sha256": sample.sha256,
        "answer": sample.answer,
        "official_letter": row.official_letter,
        "strict_letter": row.reading.letter,
        "judge_letter": row.extracted,
        "letter_by": row.letter_by,
        "status": row.reading.status,
        "judge_call": row.verdict.call_id if row.verdict else None,
        "scores": score_fields(row.scores),
    }


def shown_question(row: AnsweredQuestion) -> ShownSample:
    """The question behind a row, with its options and the right one."""
    sample = row.sample
    return ShownSample(
        index=sample.index,
        key=sample.key,
        kind="choice",
        images=question_images(sample),
        reply=row.reply,
        about={
            "question": sample.question,
            "options": sample.options,
            "answer": sample.answer,
            **groups_of({name: of(sample) for name, of in GROUP_OF.items()}),
        },
    )
