"""From a judge's verdict on an edit to MedEBench's judged columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from ..data import MedEBenchSample
from ..judging import Verdict
from ..official.medebench import judge_scores
from ..types import Score, Status

ACCURACY, CONTEXT, QUALITY = "Editing Accuracy", "Contextual Preservation", "Visual Quality"
_TOP = 10.0
_COLUMNS = {"EA": ACCURACY, "VQ": QUALITY}


@dataclass(frozen=True)
class JudgedEdit:
    """An edited image and the sample a judge compares it with."""

    sample: MedEBenchSample
    path: Path | None

    @property
    def can_be_judged(self) -> bool:
        """Input, reference and description are all there."""
        sample = self.sample
        return None not in (sample.previous, sample.reference) and bool(sample.description.strip())


def unjudged_scores() -> dict[str, Score]:
    """The judged columns of a run without a judge: blank."""
    blank = Score.unscored(Status.MISSING, "not judged")
    return dict.fromkeys(("EA", "VQ", "EA_strict", "VQ_strict", "CP_judged"), blank)


def judged_scores(edit: JudgedEdit, verdict: Verdict | None) -> dict[str, Score]:
    """Official, strict and extra columns of one judged edit, each in [0, 1].

    Official: the first reply under the published parser, whose -1 means "no value". Strict: the
    strict reading, which may come from a second, stricter question. A judge that failed leaves the
    sample unscored; it never becomes a number.
    """
    if not edit.can_be_judged:
        failed = Score.unscored(Status.DATA_ERROR, "reference, input or description missing")
        return dict.fromkeys(("EA", "VQ", "EA_strict", "VQ_strict", "CP_judged"), failed)
    if verdict is None:
        failed = Score.unscored(Status.API_FAIL, "the judge stopped before this sample")
        return dict.fromkeys(("EA", "VQ", "EA_strict", "VQ_strict", "CP_judged"), failed)
    published = judge_scores(verdict.first_reply)
    scores = {
        column: _official(published[name], verdict) for column, name in _COLUMNS.items()
    }
    for column, name in _COLUMNS.items():
        scores[f"{column}_strict"] = _strict(verdict, name)
    scores["CP_judged"] = _strict(verdict, CONTEXT)
    return scores


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
