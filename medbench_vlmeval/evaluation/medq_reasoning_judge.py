"""Judging descriptions, and turning a judge's verdicts into MedQ-Bench's judged columns."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from math import fsum
from statistics import fmean

from ..judging import Judge, JudgeCall, JudgeStopped, Verdict
from ..judging.medq import DIMENSIONS, SCORE, MedQTemplates, medq_calls
from ..official.medq import score as official_points
from ..types import MetricInfo, Score, Status
from .asking import any_answered, asked_verdicts
from .medq_reasoning_metrics import JUDGED, OFFICIAL, OVERALL, OVERALL_STRICT, STRICT, TOP
from .medq_reasoning_rows import ReasoningRow
from .options import EvaluationOptions
from .run_files import RunFiles

logger = logging.getLogger(__name__)

NO_JUDGE = (
    "completeness, preciseness, consistency, quality accuracy and Overall were not judged: no "
    "judge is configured (set OPENAI_API_KEY, or give --judge and --judge-base-url)"
)


@dataclass(frozen=True)
class Judgement:
    """Rows with their judged columns, a note for the reader, and why the judge stopped, if so."""

    rows: list[ReasoningRow]
    note: str = ""
    stopped: JudgeStopped | None = None
    n_asked: int = 0
    """Questions put to the judge: four a description that can be judged."""

    @property
    def n_failed(self) -> int:
        """Questions that ended without a score that can be read."""
        verdicts = (verdict for row in self.rows for verdict in row.verdicts.values())
        return self.n_asked - sum(verdict.status.has_value for verdict in verdicts)


def judge_rows(
    rows: Sequence[ReasoningRow],
    files: RunFiles,
    judge: Judge | None,
    options: EvaluationOptions,
    templates: MedQTemplates,
) -> Judgement:
    """Judge every description that can be judged; without a judge the columns stay blank."""
    if judge is None:
        return Judgement(_blank(rows), NO_JUDGE)
    calls = [call for row in rows if row.can_be_judged for call in _calls(row, templates)]
    estimate = judge.estimate(calls)
    logger.info("judge: %s", estimate)
    if options.estimate:
        return Judgement(_blank(rows), f"nothing was judged, only estimated: {estimate}")
    verdicts, stopped = asked_verdicts(judge, calls, files, progress="Judging descriptions")
    if stopped is not None and not any_answered(verdicts):
        # Not even the rows without a reply get their 0: it would be the run's only number.
        silent = Score.unscored(Status.API_FAIL, "the judge answered nothing")
        return Judgement(_all_with(rows, silent, verdicts), "", stopped, len(calls))
    judged = [_judged(row, _of_row(row, verdicts)) for row in rows]
    return Judgement(judged, templates.note, stopped, len(calls))


def _calls(row: ReasoningRow, templates: MedQTemplates) -> tuple[JudgeCall, ...]:
    sample = row.sample
    labels = {"modality": sample.modality, "level": sample.level}
    return medq_calls(
        str(sample.index),
        templates.kind,
        row.reply or "",
        sample.description or "",
        labels,
        templates,
    )


def _blank(rows: Sequence[ReasoningRow]) -> list[ReasoningRow]:
    return _all_with(rows, Score.unscored(Status.MISSING, "not judged"), {})


def _all_with(
    rows: Sequence[ReasoningRow], score: Score, verdicts: Mapping[str, Verdict]
) -> list[ReasoningRow]:
    scores = dict.fromkeys(JUDGED, score)
    return [replace(row.with_scores(scores), verdicts=_of_row(row, verdicts)) for row in rows]


def _of_row(row: ReasoningRow, verdicts: Mapping[str, Verdict]) -> dict[str, Verdict]:
    keys = {dimension: f"{row.sample.index}/{dimension}" for dimension in DIMENSIONS}
    return {dimension: verdicts[key] for dimension, key in keys.items() if key in verdicts}


def _judged(row: ReasoningRow, verdicts: Mapping[str, Verdict]) -> ReasoningRow:
    if row.data_problem:
        failed = Score.unscored(Status.DATA_ERROR, row.data_problem)
        return row.with_scores(dict.fromkeys(JUDGED, failed))
    if not row.can_be_judged:
        return row.with_scores(_without_reply(row))
    return replace(row.with_scores(judged_scores(verdicts)), verdicts=verdicts)


def _without_reply(row: ReasoningRow) -> dict[str, Score]:
    """Nothing is asked about these.

    The published script judges an empty cell as the word "nan" and a failed call as its error text,
    which describe nothing; it never sees a row that is not in the file.
    """
    strict = dict.fromkeys([*_names(STRICT), OVERALL_STRICT.name], Score.unanswered(row.status))
    official = Score.unanswered(row.status, "no row in the prediction file")
    if row.in_file:
        official = Score(0.0, note="no reply, 0 points without asking the judge")
    return {**dict.fromkeys([*_names(OFFICIAL), OVERALL.name], official), **strict}


def judged_scores(verdicts: Mapping[str, Verdict]) -> dict[str, Score]:
    """Official and strict columns of one judged description, higher is better.

    Args:
        verdicts: by dimension; a dimension is absent when the judge stopped before it.

    Returns:
        Official: the first reply to each question under the published rule. Strict: the strict
        reading, which may come from a second, stricter question. Both are means over the rounds
        when the judge was asked several times. A judge that failed leaves the dimension unscored;
        it never becomes a number. ``Overall`` and ``Overall_strict`` are sums, where all four are
        there.
    """
    official = {d: _official(verdicts.get(d)) for d in DIMENSIONS}
    strict = {d: _strict(verdicts.get(d)) for d in DIMENSIONS}
    scores = {OFFICIAL[d].name: score for d, score in official.items()}
    scores |= {STRICT[d].name: score for d, score in strict.items()}
    scores[OVERALL.name] = _sum(list(official.values()))
    scores[OVERALL_STRICT.name] = _sum(list(strict.values()))
    return scores


def _names(metrics: Mapping[str, MetricInfo]) -> list[str]:
    return [metric.name for metric in metrics.values()]


def _official(verdict: Verdict | None) -> Score:
    score = _mean_of_rounds(verdict, lambda round_: official_points(round_.first_reply))
    if score.value is not None and score.value > TOP:
        return replace(score, note="above the scale, kept as the published rule does")
    return score


def _strict(verdict: Verdict | None) -> Score:
    return _mean_of_rounds(
        verdict, lambda round_: round_.reading.values.get(SCORE) if round_.reading else None
    )


def _mean_of_rounds(verdict: Verdict | None, points_of: Callable[[Verdict], float | None]) -> Score:
    if verdict is None:
        return Score.unscored(Status.API_FAIL, "the judge stopped before this question")
    found = [points_of(round_) for round_ in verdict.repeats or (verdict,)]
    points = [value for value in found if value is not None]
    if points:
        return Score(fmean(points))
    if verdict.status.has_value:
        return Score.unscored(Status.UNPARSED, "the published rule finds no score")
    return Score.unscored(verdict.status, verdict.note or "the judge's reply holds no score")


def _sum(parts: Sequence[Score]) -> Score:
    values = [part.value for part in parts if part.value is not None]
    if len(values) == len(parts):
        return Score(fsum(values))
    absent = next(part for part in parts if part.value is None)
    return Score.unscored(absent.status, "not all four were scored")
