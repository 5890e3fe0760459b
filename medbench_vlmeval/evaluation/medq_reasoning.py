"""MedQ-Bench's reasoning tasks from predictions to numbers: read, judge, summarise, write.

Source of the official columns: the judge of MedQ-Bench in VLMEvalKit
(``vlmeval/dataset/medqbench_caption.py``, ``medqbench_paired_description.py``) and the published
leaderboard (arXiv 2510.01691), whose Overall is the sum of the four means.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from ..data.medq import MedQData, MedQQuestion
from ..judging import Judge
from ..judging.medq import PUBLISHED_JUDGE, MedQTemplates
from ..predictions import read_predictions
from ..stats import RESAMPLES
from ..types import Status, Summary
from .medq_reasoning_judge import Judgement, judge_rows
from .medq_reasoning_metrics import METRICS
from .medq_reasoning_rows import (
    ReasoningRow,
    reasoning_rows,
    score_record,
    shown_description,
)
from .medq_reasoning_summary import (
    Agreement,
    quality_agreement,
    spread_of_rounds,
    summarise_reasoning,
)
from .options import EvaluationOptions
from .prepared_rows import data_facts, expected_samples, predictions_by_index
from .run_files import RunFiles, base_manifest, flat_summary
from .shown_samples import AskedPrompts, sample_records

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class MedQReasoningResult:
    """What an evaluation gives: rows, summaries, and the flat numbers for the host."""

    rows: tuple[ReasoningRow, ...]
    summaries: tuple[Summary, ...]
    flat: dict[str, float | int]
    files: RunFiles
    judge_note: str = ""
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    """How steady the judge was and how far it agrees with plain reading, for below the tables."""


def evaluate_medq_reasoning(
    prediction_file: Path,
    data: MedQData,
    *,
    templates: MedQTemplates,
    expected: Sequence[int] | None = None,
    judge: Judge | None = None,
    options: EvaluationOptions | None = None,
    environment: Mapping[str, Any] | None = None,
    asked: AskedPrompts | None = None,
) -> MedQReasoningResult:
    """Evaluate the descriptions of one model.

    Args:
        prediction_file: read only.
        data: a prepared table of descriptions, or of comparisons of pairs.
        templates: the judge's questions, of the kind of `data`.
        expected: indices the model was given; all of `data` by default.
        judge: None leaves the judged columns blank.
        options: scoring choices; only ``estimate`` matters here.
        environment: what the manifest should say about the host.
        asked: what the host was handed for each question; None when nobody knows.

    Returns:
        Rows, summaries and flat numbers; the files beside the predictions are written.

    Raises:
        JudgeStopped: the judge could not go on (key, model, quota, budget, connection), or answered
            none of the questions. Everything finished so far is written and will not be asked
            again.
        ValueError: a prediction file that cannot be used, data or templates of another kind, or
            data without any reference description.

    Notes:
        A reply goes to the judge whole and as it is, refusals too, as published. Rows without a
        reply are not sent: 0 points officially (the published script would have the word "nan"
        judged), the worst strictly. A row that the prediction file lacks is in no official mean.
    """
    samples = _expected(data, templates, expected)
    files = RunFiles(prediction_file)
    replies, warnings = predictions_by_index(
        read_predictions(prediction_file), [sample.index for sample in samples]
    )
    rows = reasoning_rows(samples, replies)
    judgement = judge_rows(rows, files, judge, options or EvaluationOptions(), templates)
    warnings = (*warnings, *_problems(judgement), *_needless_rounds(judge))
    for warning in warnings:
        logger.warning("%s", warning)
    facts = {
        "data": data_facts(data, len(rows)),
        "judge": None if judge is None else judge.manifest(),
        "prompts": {"medq_judge": templates.record()},
        "published_judge": dict(PUBLISHED_JUDGE),
        **(environment or {}),
    }
    files.write_samples(sample_records(map(shown_description, judgement.rows), data.root, asked))
    result = _write(judgement, files, warnings, facts, _other_judge(judge))
    if judgement.stopped is not None:
        raise judgement.stopped
    return result


def _expected(
    data: MedQData, templates: MedQTemplates, indices: Sequence[int] | None
) -> list[MedQQuestion]:
    if data.kind != templates.kind:
        raise ValueError(
            f"expected data and templates of one kind, got {data.name} ({data.kind}) and "
            f"templates for {templates.kind}"
        )
    samples = expected_samples(data.name, data.samples, indices)
    if not any((sample.description or "").strip() for sample in data.samples):
        raise ValueError(
            f"expected reference descriptions in {data.name}, got none in {len(data.samples)} "
            "rows; its column `description` is absent or empty, prepare the data again"
        )
    return samples


def _problems(judgement: Judgement) -> list[str]:
    warnings = []
    broken = [row for row in judgement.rows if row.data_problem]
    if broken:
        named = "; ".join(f"{row.sample.index} ({row.data_problem})" for row in broken[:10])
        warnings.append(
            f"{len(broken)} of {len(judgement.rows)} rows cannot be scored and are in no mean: "
            f"{named}"
        )
    if judgement.n_failed:
        warnings.append(
            f"the judge gave no score that can be read for {judgement.n_failed} of "
            f"{judgement.n_asked} questions; floor and ceiling say what they could change"
        )
    return warnings


def _needless_rounds(judge: Judge | None) -> list[str]:
    if judge is None or judge.settings.repeats == 1 or judge.settings.temperature != 0:
        return []
    return [
        f"{judge.settings.repeats} judging rounds at temperature 0 ask for one answer again and "
        "again; give the judge a temperature above 0 for their spread to mean something"
    ]


def _other_judge(judge: Judge | None) -> list[str]:
    published = PUBLISHED_JUDGE["model"]
    if judge is None or judge.settings.model == published:
        return []
    return [f"published scores are those of {published}; asked here: {judge.settings.model}"]


def _write(
    judgement: Judgement,
    files: RunFiles,
    warnings: tuple[str, ...],
    facts: Mapping[str, Any],
    notes_on_judge: Sequence[str],
) -> MedQReasoningResult:
    rows = judgement.rows
    summaries = tuple(summarise_reasoning(rows))
    statuses = Counter(str(row.status) for row in rows)
    agreement, spread = quality_agreement(rows), spread_of_rounds(rows)
    notes = (*_notes(agreement, spread), *notes_on_judge)
    flat = flat_summary(summaries, METRICS, group_by="modality") | _agreement_numbers(agreement)
    flat |= {
        "n_expected": len(rows),
        "n_answered": statuses[str(Status.ANSWER)],
        **{f"n_{status}": count for status, count in statuses.items() if status != "answer"},
        "n_judge_failed": judgement.n_failed,
    }
    manifest = {
        **base_manifest(files.predictions),
        **facts,
        "judge_note": judgement.note,
        "complete": judgement.stopped is None,
        "settings": {"bootstrap_resamples": RESAMPLES},
        "metrics": METRICS,
        "replies": statuses,
        "judgements": _judgement_counts(judgement),
        "retest_sd": spread,
        "agreement": {"quality_accuracy_read": asdict(agreement)},
        "notes": notes,
        "warnings": warnings,
    }
    files.write_scores(score_record(row) for row in rows)
    files.write_groups(summaries, METRICS)
    files.write_summary(flat)
    files.write_manifest(manifest)
    return MedQReasoningResult(tuple(rows), summaries, flat, files, judgement.note, warnings, notes)


def _notes(agreement: Agreement, spread: Mapping[str, float]) -> list[str]:
    notes: list[str] = []
    if spread:
        parts = ", ".join(f"{dimension} {sd:.2f}" for dimension, sd in spread.items())
        notes.append(f"standard deviation between judging rounds, in points: {parts}")
    if agreement.equal is not None:
        kappa = "undefined" if agreement.kappa is None else f"{agreement.kappa:.3f}"
        notes.append(
            f"judged quality accuracy equals the one read from the texts in {agreement.equal:.1%} "
            f"of {agreement.n} descriptions, quadratic weighted kappa {kappa}"
        )
    return notes


def _agreement_numbers(agreement: Agreement) -> dict[str, float | int]:
    numbers: dict[str, float | int] = {}
    if agreement.equal is not None:
        numbers |= {"quality_agreement": agreement.equal, "quality_agreement_n": agreement.n}
    if agreement.kappa is not None:
        numbers["quality_kappa"] = agreement.kappa
    return numbers


def _judgement_counts(judgement: Judgement) -> dict[str, int]:
    verdicts = [verdict for row in judgement.rows for verdict in row.verdicts.values()]
    return {
        **Counter(str(verdict.status) for verdict in verdicts),
        "not_reached": judgement.n_asked - len(verdicts),
    }
