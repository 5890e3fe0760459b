"""MedQ-Bench perception and MedQ-Deg from predictions to numbers: read, score, summarise, write.

Source of the official columns: VLMEvalKit's classes of the two benchmarks (medqbench_mcq.py,
medq_deg_bench.py) and the perception board of arXiv 2510.01691, whose overall figure is the
accuracy over all questions.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..data import QUESTION_TYPES, MedQData
from ..judging import Judge
from ..predictions import read_predictions
from ..stats import RESAMPLES, summarise
from ..types import MetricInfo, Status, Summary
from .answered_questions import (
    GROUP_OF,
    AnsweredQuestion,
    answered_questions,
    score_record,
    shown_question,
)
from .medq_extraction import Extraction, extract_choices
from .medq_perception_metrics import ACCURACY, ACCURACY_EXTRACTED, METRICS
from .medq_trials import Trials, trials_of
from .options import EvaluationOptions
from .prepared_rows import data_facts, expected_samples, predictions_by_index
from .run_files import RunFiles, base_manifest, flat_summary
from .shown_samples import AskedPrompts, sample_records

logger = logging.getLogger(__name__)

_CLEAN = "L0"


@dataclass(frozen=True)
class MedQPerceptionResult:
    """What an evaluation gives: rows, summaries, and the flat numbers for the host."""

    rows: tuple[AnsweredQuestion, ...]
    summaries: tuple[Summary, ...]
    flat: dict[str, float | int]
    files: RunFiles
    metrics: tuple[MetricInfo, ...]
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = field(default=())


def evaluate_medq_perception(
    prediction_file: Path,
    data: MedQData,
    *,
    expected: Sequence[int] | None = None,
    judge: Judge | None = None,
    options: EvaluationOptions | None = None,
    environment: Mapping[str, Any] | None = None,
    with_host_numbers: bool = False,
    asked: AskedPrompts | None = None,
) -> MedQPerceptionResult:
    """Evaluate the replies of one model to multiple-choice questions.

    Args:
        prediction_file: read only.
        data: the prepared benchmark; of kind ``mcq`` or ``deg``.
        expected: indices the model was given; all of `data` by default.
        judge: asked only with ``options.extract_choices``, and only about replies without a
            readable letter.
        options: scoring choices.
        environment: what the manifest should say about the host.
        with_host_numbers: add `published_numbers` to the flat numbers.
        asked: what the host was handed for each question; None when nobody knows.

    Raises:
        ValueError: a prediction file that cannot be used, or no samples at all.
        JudgeStopped: the judge could not go on; everything finished is written.
    """
    options = options or EvaluationOptions()
    samples = expected_samples(data.name, data.samples, expected)
    files = RunFiles(prediction_file)
    replies, warnings = predictions_by_index(
        read_predictions(prediction_file), [sample.index for sample in samples]
    )
    rows = answered_questions(samples, replies)
    extraction = extract_choices(rows, files, judge if options.extract_choices else None, options)
    trials = trials_of(rows, [Path(path) for path in options.trials])
    for warning in (*warnings, *trials.warnings):
        logger.warning("%s", warning)
    facts = {
        "data": data_facts(data, len(rows)),
        "judge": judge.manifest() if judge is not None and options.extract_choices else None,
        **extraction.manifest,
        **(environment or {}),
    }
    added = published_numbers(extraction.rows) if with_host_numbers else {}
    files.write_samples(sample_records(map(shown_question, extraction.rows), data.root, asked))
    result = _write(extraction, trials, files, (*warnings, *trials.warnings), facts, added)
    if extraction.stopped is not None:
        raise extraction.stopped
    return result


def _write(
    extraction: Extraction,
    trials: Trials,
    files: RunFiles,
    warnings: tuple[str, ...],
    facts: Mapping[str, Any],
    added: dict[str, float | int],
) -> MedQPerceptionResult:
    rows = extraction.rows
    metrics = METRICS if extraction.asked else tuple(m for m in METRICS if m != ACCURACY_EXTRACTED)
    summaries = tuple(summarise_perception(rows, metrics))
    statuses = Counter(str(row.reading.status) for row in rows)
    counts: dict[str, float | int] = {
        "n_expected": len(rows),
        "n_answered": statuses[str(Status.ANSWER)],
        **{f"n_{status}": count for status, count in statuses.items() if status != "answer"},
    }
    flat = board(summaries) | flat_summary(summaries, metrics, group_by="modality")
    flat |= _by_level(summaries) | trials.flat() | counts | added
    letters = Counter(row.letter_by for row in rows)
    manifest = {
        **base_manifest(files.predictions),
        **facts,
        "complete": extraction.stopped is None,
        "settings": {"bootstrap_resamples": RESAMPLES},
        "metrics": metrics,
        "replies": statuses,
        "letters_read_from": letters,
        "trials": trials.manifest(),
        "warnings": warnings,
    }
    files.write_scores(score_record(row) for row in rows)
    files.write_groups(summaries, metrics)
    files.write_summary(flat)
    files.write_manifest(manifest)
    notes = tuple(filter(None, (extraction.note, _letters_note(letters), trials.note())))
    return MedQPerceptionResult(tuple(rows), summaries, flat, files, metrics, notes, warnings)


def _letters_note(letters: Mapping[str, int]) -> str:
    parts = ", ".join(f"{count} {source or 'none'}" for source, count in sorted(letters.items()))
    return f"letters read from: {parts}"


def summarise_perception(
    rows: Sequence[AnsweredQuestion], metrics: Sequence[MetricInfo]
) -> Iterator[Summary]:
    """Summaries of every metric: over all questions, and by what the rows are labelled with.

    Intervals are clustered by image, since questions about one image are not independent.
    """
    for group_by, group, members in _groups(rows):
        clusters = [row.sample.case for row in members]
        for metric in metrics:
            scores = [row.scores[metric.name] for row in members]
            yield summarise(scores, metric, clusters=clusters, group=group, group_by=group_by)


def _groups(
    rows: Sequence[AnsweredQuestion],
) -> Iterator[tuple[str, str, Sequence[AnsweredQuestion]]]:
    yield "overall", "Overall", rows
    for group_by, label_of in GROUP_OF.items():
        groups: dict[str, list[AnsweredQuestion]] = {}
        for row in rows:
            if label_of(row.sample):
                groups.setdefault(label_of(row.sample), []).append(row)
        for group in sorted(groups, key=_board_order):
            yield group_by, group, groups[group]


def _board_order(group: str) -> tuple[int, str]:
    known = QUESTION_TYPES.index(group) if group in QUESTION_TYPES else len(QUESTION_TYPES)
    return known, group


def board(summaries: Sequence[Summary]) -> dict[str, float | int]:
    """The columns of the published board: Yes-or-No, What, How, and Overall over all questions."""
    found = {
        (summary.group_by, summary.group): summary.value
        for summary in summaries
        if summary.metric == ACCURACY.name
    }
    columns = {"Overall": found.get(("overall", "Overall"))}
    columns |= {name: found.get(("question_type", name)) for name in QUESTION_TYPES}
    return {name: float(value) for name, value in columns.items() if value is not None}


def _by_level(summaries: Sequence[Summary]) -> dict[str, float | int]:
    """Accuracy by level of degradation, and what each level costs against clean images."""
    levels = {
        summary.group: float(summary.value)
        for summary in summaries
        if summary.group_by == "level"
        and summary.metric == ACCURACY.name
        and summary.value is not None
    }
    flat: dict[str, float | int] = {f"accuracy|level={name}": v for name, v in levels.items()}
    if _CLEAN in levels:
        flat |= {
            f"drop_{name}": value - levels[_CLEAN]
            for name, value in levels.items()
            if name != _CLEAN
        }
    return flat


def published_numbers(rows: Sequence[AnsweredQuestion]) -> dict[str, float | int]:
    """The numbers that VLMEvalKit's own class gives, under its names: hits over the file's rows."""
    hits: dict[str, list[float]] = {}
    for row in rows:
        value = row.scores[ACCURACY.name].value
        if value is not None:
            hits.setdefault("", []).append(value)
            if row.sample.modality:
                hits.setdefault(row.sample.modality, []).append(value)
    overall = hits.pop("", [])
    if not overall:
        return {}
    flat: dict[str, float | int] = {"overall_accuracy": sum(overall) / len(overall)}
    flat |= {"correct": int(sum(overall)), "total": len(overall)}
    return flat | {f"{name}_accuracy": sum(own) / len(own) for name, own in hits.items()}
