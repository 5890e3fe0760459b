"""Judging edited images, and turning a judge's verdicts into MedEBench's judged columns."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace

from ..data import MedEBenchSample
from ..judging import Judge, JudgeCall, JudgeStopped, Verdict
from ..judging.medebench import medebench_call
from ..official.medebench import judge_scores
from ..types import Score, Status
from .asking import asked_verdicts
from .edited_rows import EditedSample
from .medebench_metrics import NO_EDIT, PRAISED_NO_EDIT
from .options import EvaluationOptions
from .run_files import RunFiles

logger = logging.getLogger(__name__)

ACCURACY, CONTEXT, QUALITY = "Editing Accuracy", "Contextual Preservation", "Visual Quality"
COLUMNS = ("EA", "VQ", "EA_strict", "VQ_strict", "CP_judged")
LEAST_PRAISE = 0.7
"""From this VQ_strict on an image without an edit counts as praised."""
NO_JUDGE = (
    "EA and VQ were not judged: no judge is configured "
    "(set OPENAI_API_KEY, or give --judge and --judge-base-url)"
)

_TOP = 10.0
_ASKED = {"EA": ACCURACY, "VQ": QUALITY}


@dataclass(frozen=True)
class Judgement:
    """Rows with their judged columns, a note for the reader, and why the judge stopped, if so."""

    rows: list[EditedSample]
    note: str = ""
    stopped: JudgeStopped | None = None


def judge_rows(
    rows: Sequence[EditedSample], files: RunFiles, judge: Judge | None, options: EvaluationOptions
) -> Judgement:
    """Judge every edited image that can be judged; without a judge the columns stay blank."""
    if judge is None:
        return Judgement(_all_with(rows, _blank()), NO_JUDGE)
    calls = [_call(row, options) for row in rows if _can_be_judged(row.sample) and row.is_readable]
    estimate = judge.estimate(calls)
    logger.info("judge: %s", estimate)
    if options.estimate:
        return Judgement(
            _all_with(rows, _blank()), f"EA and VQ were not judged, only estimated: {estimate}"
        )
    verdicts, stopped = asked_verdicts(judge, calls, files, progress="Judging edits")
    return Judgement([_judged(row, verdicts.get(str(row.sample.id))) for row in rows], "", stopped)


def _blank() -> Score:
    return Score.unscored(Status.MISSING, "not judged")


def _all_with(rows: Sequence[EditedSample], score: Score) -> list[EditedSample]:
    return [_with_all(row, score) for row in rows]


def _with_all(row: EditedSample, score: Score) -> EditedSample:
    return row.with_scores(dict.fromkeys((*COLUMNS, PRAISED_NO_EDIT.name), score))


def _can_be_judged(sample: MedEBenchSample) -> bool:
    return None not in (sample.previous, sample.reference) and bool(sample.description.strip())


def _call(row: EditedSample, options: EvaluationOptions) -> JudgeCall:
    sample = row.sample
    if sample.previous is None or sample.reference is None or row.edited.path is None:
        raise TypeError(f"expected a sample with all its images, got {sample.id}")
    return medebench_call(
        str(sample.id),
        sample.description,
        sample.previous,
        sample.reference,
        row.edited.path,
        {"organ": sample.organ, "task": sample.task},
        layout=options.judge_layout,
    )


def _judged(row: EditedSample, verdict: Verdict | None) -> EditedSample:
    if not _can_be_judged(row.sample):
        failed = Score.unscored(Status.DATA_ERROR, "input, reference or description missing")
        return _with_all(row, failed)
    if not row.is_readable:
        return _with_all(row, row.absence)
    scores = judged_scores(verdict)
    praised = _praised(row.scores[NO_EDIT.name], scores["VQ_strict"])
    return replace(row.with_scores({**scores, PRAISED_NO_EDIT.name: praised}), verdict=verdict)


def _praised(no_edit: Score, quality: Score) -> Score:
    for needed in (no_edit, quality):
        if needed.value is None:
            return Score.unscored(needed.status, needed.note)
    return Score(float(bool(no_edit.value) and (quality.value or 0.0) >= LEAST_PRAISE))


def judged_scores(verdict: Verdict | None) -> dict[str, Score]:
    """Official, strict and extra columns of one judged edit, each in [0, 1], higher is better.

    Official: the first reply under the published parser, whose -1 means "no value". Strict: the
    strict reading, which may come from a second, stricter question. A judge that failed leaves the
    sample unscored; it never becomes a number.
    """
    if verdict is None:
        stopped = Score.unscored(Status.API_FAIL, "the judge stopped before this sample")
        return dict.fromkeys(COLUMNS, stopped)
    published = judge_scores(verdict.first_reply)
    scores = {column: _official(published[name], verdict) for column, name in _ASKED.items()}
    scores |= {f"{column}_strict": _strict(verdict, name) for column, name in _ASKED.items()}
    return scores | {"CP_judged": _strict(verdict, CONTEXT)}


def _official(value: float, verdict: Verdict) -> Score:
    if value < 0:
        status = Status.UNPARSED if verdict.status.has_value else verdict.status
        return Score.unscored(status, "the published parser finds no score (-1)")
    note = "" if value <= _TOP else "above the scale, kept as the published parser does"
    return Score(value / _TOP, note=note)


def _strict(verdict: Verdict, name: str) -> Score:
    value = verdict.reading.values.get(name) if verdict.reading else None
    if value is None:
        status = Status.UNPARSED if verdict.status.has_value else verdict.status
        return Score.unscored(status, verdict.note)
    return Score(value / _TOP)
