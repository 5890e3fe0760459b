"""MedEBench from predictions to numbers: collect images, score, judge, summarise, write.

Source of the official columns: the released code of MedEBench (src/eval_metrics) and Table 2 of the
paper; the strict columns are what a careful reader would compute from the same inputs.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..data import MedEBenchData, MedEBenchSample
from ..editing import EditCollector, EditedImage, EditsLost, EditStore
from ..judging import Judge, JudgeSettings, JudgeStopped, Verdict
from ..judging.medebench import medebench_call, medebench_prompt_sha256
from ..metrics import ssim_kernel
from ..predictions import PredictionTable, join_on_index, read_predictions
from ..stats import RESAMPLES, summarise
from ..types import Score, Status, Summary
from .edit_scoring import EditOutcome, EditTask, score_edits
from .fan_out import map_chunks
from .judged_edits import JudgedEdit, judged_scores, unjudged_scores
from .medebench_metrics import METRICS
from .options import EvaluationOptions
from .run_files import RunFiles, base_manifest, flat_summary

logger = logging.getLogger(__name__)

BENCHMARK_SIZE = 1182


@dataclass(frozen=True)
class EditedSample:
    """One sample, the edited image that one model gave for it, and its scores."""

    sample: MedEBenchSample
    edited: EditedImage
    prediction: str | None
    scores: Mapping[str, Score] = field(default_factory=dict)
    verdict: Verdict | None = None
    flags: frozenset[str] = frozenset()
    diagnostics: Mapping[str, Any] = field(default_factory=dict)

    @property
    def cluster(self) -> str:
        """Samples of one source image belong together."""
        return self.sample.sha256.get("previous", f"sample {self.sample.id}")


@dataclass(frozen=True)
class MedEBenchResult:
    """What an evaluation gives: rows, summaries, and the flat numbers for the host."""

    rows: tuple[EditedSample, ...]
    summaries: tuple[Summary, ...]
    flat: dict[str, float | int]
    files: RunFiles
    judge_note: str = ""
    warnings: tuple[str, ...] = ()


def evaluate_medebench(
    prediction_files: Sequence[Path],
    data: MedEBenchData,
    *,
    expected_ids: Sequence[int] | None = None,
    judge_settings: JudgeSettings | None = None,
    judge: Judge | None = None,
    options: EvaluationOptions | None = None,
    environment: Mapping[str, Any] | None = None,
    store: EditStore | None = None,
) -> list[MedEBenchResult]:
    """Evaluate the predictions of one or several models on the same samples.

    Args:
        prediction_files: one a model; read only.
        data: the prepared benchmark.
        expected_ids: the samples the models were given; all of `data` by default.
        judge_settings: how to judge EA and VQ; None leaves them blank.
        judge: a judge that is ready, instead of `judge_settings`.
        options: scoring choices.
        environment: what the manifest should say about the host.
        store: where edited images may still lie; the user's store by default.

    Returns:
        One result a prediction file, in order; the files beside each are written.

    Raises:
        EditsLost: predictions name images that are gone.
        JudgeStopped: the judge could not go on (key, model, quota, budget, connection). Everything
            finished so far is written and will not be asked again.
        ValueError: a prediction file that cannot be used.
    """
    options = options or EvaluationOptions()
    store = store or EditStore.default()
    if judge is None and judge_settings is not None:
        judge = Judge(judge_settings)
    samples = _expected(data, expected_ids)
    collected = [_collect(path, samples, store, options) for path in prediction_files]
    scored = _scored([rows for rows, _ in collected], samples, options)
    results: list[MedEBenchResult] = []
    for path, (_, warnings), rows in zip(prediction_files, collected, scored, strict=True):
        files = RunFiles(path)
        judged, note, stopped = _judged(rows, files, judge, options)
        result = _finish(judged, files, data, note, warnings, judge, options, environment or {})
        results.append(result)
        if stopped is not None:
            raise stopped
    return results


def _expected(data: MedEBenchData, ids: Sequence[int] | None) -> list[MedEBenchSample]:
    if ids is None:
        return list(data.samples)
    by_id = {sample.id: sample for sample in data.samples}
    unknown = sorted(set(ids) - set(by_id))
    if unknown:
        raise ValueError(f"expected ids of {data.name}, got {unknown[:10]}; prepare the data again")
    return [by_id[identifier] for identifier in ids]


def _collect(
    path: Path, samples: Sequence[MedEBenchSample], store: EditStore, options: EvaluationOptions
) -> tuple[list[EditedSample], tuple[str, ...]]:
    table = read_predictions(path)
    predictions, warnings = _predictions_by_id(table, samples)
    collector = EditCollector(path, store)
    rows = [
        EditedSample(sample, collector.collect(predictions.get(sample.id)), predictions.get(sample.id))
        for sample in tqdm(samples, desc="Collecting edits", unit="sample", disable=len(samples) < 50)
    ]
    lost = [row.sample.id for row in rows if row.edited.lost]
    if lost and options.lost_images == "raise":
        shown = ", ".join(map(str, lost[:10])) + (" …" if len(lost) > 10 else "")
        raise EditsLost(
            f"{path.name}: {len(lost)} of {len(rows)} edited images are gone (samples {shown}): they "
            f"are neither in {collector.folder.name}/ nor in the store {store.root}. Restore one of "
            f"the two, or make just these again: `medbench repair {path}` and then run with --reuse; "
            "or count them as missing with --judge-args '{\"medbench_lost_images\": \"missing\"}'"
        )
    for warning in warnings:
        logger.warning("%s", warning)
    return rows, warnings


def _predictions_by_id(
    table: PredictionTable, samples: Sequence[MedEBenchSample]
) -> tuple[dict[int, str | None], tuple[str, ...]]:
    joined = join_on_index(table, [str(sample.id) for sample in samples])
    warnings = list(table.warnings)
    if joined.unmatched:
        warnings.append(
            f"{table.path.name}: {len(joined.unmatched)} rows belong to no sample and are not scored: "
            f"{', '.join(map(str, joined.unmatched[:10]))}"
        )
    if joined.missing:
        warnings.append(
            f"{table.path.name}: no prediction for {len(joined.missing)} of {len(samples)} samples: "
            f"{', '.join(map(str, joined.missing[:10]))}"
        )
    predictions = {int(index): row.get("prediction") for index, row in joined.matched.items()}
    return predictions, tuple(warnings)


def _scored(
    runs: Sequence[Sequence[EditedSample]],
    samples: Sequence[MedEBenchSample],
    options: EvaluationOptions,
) -> list[list[EditedSample]]:
    tasks = [
        EditTask(
            _text(sample.previous),
            _text(sample.roi),
            tuple(_text(rows[position].edited.path) for rows in runs),
            sample.reference is not None,
        )
        for position, sample in enumerate(samples)
    ]
    outcomes = map_chunks(
        score_edits,
        tasks,
        progress="Scoring images",
        backend=options.scoring_backend,
        jobs=options.scoring_jobs,
        scheduler=options.scoring_scheduler,
    )
    return [
        [_with_outcome(row, outcomes[position][number]) for position, row in enumerate(rows)]
        for number, rows in enumerate(runs)
    ]


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _with_outcome(row: EditedSample, outcome: EditOutcome | None) -> EditedSample:
    if outcome is None:
        absent = _absent_score(row)
        scores = dict.fromkeys(("CP", "CP_strict", "PSNR_outside", "PSNR_inside"), absent)
        return EditedSample(row.sample, row.edited, row.prediction, scores, flags=row.edited.flags)
    strict = outcome.context
    if strict.value is not None:
        # SSIM may be slightly negative; a missing image counts 0, and trying must never be worse.
        strict = Score(max(0.0, strict.value), strict.status, strict.note)
    scores = {
        "CP": outcome.official,
        "CP_strict": strict,
        "PSNR_outside": outcome.psnr_outside,
        "PSNR_inside": outcome.psnr_inside,
    }
    flags = row.edited.flags | outcome.flags
    return EditedSample(
        row.sample, row.edited, row.prediction, scores, flags=flags, diagnostics=outcome.diagnostics
    )


def _absent_score(row: EditedSample) -> Score:
    unusable = [what for what, path in _needed(row.sample) if path is None]
    if unusable:
        return Score.unscored(Status.DATA_ERROR, f"{' and '.join(unusable)} missing")
    return Score.unanswered(row.edited.status, row.edited.note)


def _needed(sample: MedEBenchSample) -> tuple[tuple[str, Path | None], ...]:
    return (("previous image", sample.previous), ("ROI mask", sample.roi))


def _judged(
    rows: Sequence[EditedSample], files: RunFiles, judge: Judge | None, options: EvaluationOptions
) -> tuple[list[EditedSample], str, JudgeStopped | None]:
    if judge is None:
        note = (
            "EA and VQ were not judged: no judge is configured "
            "(set OPENAI_API_KEY, or give --judge and --judge-base-url)"
        )
        logger.info("%s", note)
        return [_with_judgement(row, unjudged_scores(), None) for row in rows], note, None
    edits = [
        JudgedEdit(row.sample, row.edited.path)
        for row in rows
        if row.edited.path is not None and _is_readable(row)
    ]
    calls = [
        medebench_call(
            str(edit.sample.id),
            edit.sample.description,
            edit.sample.previous,
            edit.sample.reference,
            edit.path,
            {"organ": edit.sample.organ, "task": edit.sample.task},
            layout=options.judge_layout,
        )
        for edit in edits
        if edit.can_be_judged
    ]
    estimate = judge.estimate(calls)
    logger.info("judge: %s", estimate)
    if options.estimate:
        note = f"EA and VQ were not judged, only estimated: {estimate}"
        return [_with_judgement(row, unjudged_scores(), None) for row in rows], note, None
    verdicts, stopped = _verdicts(judge, calls, files)
    judged = [_judged_row(row, verdicts) for row in rows]
    return judged, "", stopped


def _is_readable(row: EditedSample) -> bool:
    return not row.scores["PSNR_outside"].model_fault


def _verdicts(
    judge: Judge, calls: Sequence[Any], files: RunFiles
) -> tuple[Mapping[str, Verdict], JudgeStopped | None]:
    try:
        verdicts = judge.run(calls, log_path=files.judge_replies, progress="Judging edits")
    except JudgeStopped as error:
        return error.verdicts, error
    if calls and all(verdict.status is Status.API_FAIL for verdict in verdicts.values()):
        reason = f"the judge answered none of {len(calls)} calls; see {files.judge_replies.name}"
        return verdicts, JudgeStopped(reason, verdicts)
    return verdicts, None


def _judged_row(row: EditedSample, verdicts: Mapping[str, Verdict]) -> EditedSample:
    if row.edited.path is None or not _is_readable(row):
        absent = _unanswered_for_judge(row)
        names = ("EA", "VQ", "EA_strict", "VQ_strict", "CP_judged")
        return _with_judgement(row, dict.fromkeys(names, absent), None)
    verdict = verdicts.get(str(row.sample.id))
    edit = JudgedEdit(row.sample, row.edited.path)
    return _with_judgement(row, judged_scores(edit, verdict), verdict)


def _unanswered_for_judge(row: EditedSample) -> Score:
    if not JudgedEdit(row.sample, row.edited.path).can_be_judged:
        return Score.unscored(Status.DATA_ERROR, "reference, input or description missing")
    score = row.scores["CP_strict"]
    if score.model_fault:
        return score
    return Score.unanswered(row.edited.status, row.edited.note)


def _with_judgement(
    row: EditedSample, scores: Mapping[str, Score], verdict: Verdict | None
) -> EditedSample:
    merged = {**row.scores, **scores}
    return EditedSample(
        row.sample, row.edited, row.prediction, merged, verdict, row.flags, row.diagnostics
    )


def _finish(
    rows: Sequence[EditedSample],
    files: RunFiles,
    data: MedEBenchData,
    note: str,
    warnings: tuple[str, ...],
    judge: Judge | None,
    options: EvaluationOptions,
    environment: Mapping[str, Any],
) -> MedEBenchResult:
    summaries = tuple(summarise_medebench(rows))
    flat = flat_summary(summaries, METRICS)
    counts = Counter(str(row.edited.status) for row in rows)
    flat |= {
        "n_expected": len(rows),
        "n_answered": sum(1 for row in rows if row.edited.status is Status.ANSWER),
        **{f"n_{status}": count for status, count in counts.items() if status != "answer"},
    }
    manifest = {
        **base_manifest(files.predictions),
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "revision": data.revision,
            "source": data.source,
            "n_samples": len(data.samples),
            "n_expected": len(rows),
            "partial": len(rows) < len(data.samples),
        },
        "judge": None if judge is None else judge.manifest(),
        "judge_note": note,
        "prompts": {"medebench_judge": medebench_prompt_sha256(options.judge_layout)},
        "settings": {"ssim_kernel": ssim_kernel(), "bootstrap_resamples": RESAMPLES},
        "metrics": [metric.__dict__ for metric in METRICS],
        "edited": dict(counts),
        "flags": dict(Counter(flag for row in rows for flag in sorted(row.flags))),
        "warnings": list(warnings),
        **environment,
    }
    files.write_scores(score_record(row) for row in rows)
    files.write_groups(summaries, METRICS)
    files.write_summary(flat)
    files.write_manifest(manifest)
    return MedEBenchResult(tuple(rows), summaries, flat, files, note, warnings)


def summarise_medebench(rows: Sequence[EditedSample]) -> Iterable[Summary]:
    """Summaries of every metric: overall (sample-weighted, as published), by organ, by task."""
    groupings = {
        "overall": lambda row: "Overall",
        "organ": lambda row: row.sample.organ,
        "task": lambda row: row.sample.task,
    }
    for group_by, group_of in groupings.items():
        groups: dict[str, list[EditedSample]] = {}
        for row in rows:
            groups.setdefault(group_of(row), []).append(row)
        for group in sorted(groups):
            members = groups[group]
            clusters = [row.cluster for row in members]
            for metric in METRICS:
                scores = [row.scores[metric.name] for row in members]
                yield summarise(
                    scores, metric, clusters=clusters, group=group, group_by=group_by
                )


def score_record(row: EditedSample) -> dict[str, Any]:
    """One line of ``_scores.jsonl``: everything needed to trace and recompute the row's numbers."""
    verdict = row.verdict
    return {
        "index": row.sample.id,
        "organ": row.sample.organ,
        "task": row.sample.task,
        "cluster": row.cluster,
        "edited": {
            "status": row.edited.status,
            "file": row.edited.path.name if row.edited.path else None,
            "sha256": row.edited.sha256,
            "note": row.edited.note,
        },
        "scores": {name: _score_fields(score) for name, score in row.scores.items()},
        "judge": None
        if verdict is None
        else {
            "call_id": verdict.call_id,
            "status": verdict.status,
            "note": verdict.note,
            "reading": verdict.reading.values if verdict.reading else None,
            "model_returned": verdict.model_returned,
            "cached": verdict.cached,
        },
        "flags": sorted(row.flags),
        "diagnostics": dict(row.diagnostics),
    }


def _score_fields(score: Score) -> dict[str, Any]:
    fields: dict[str, Any] = {"value": score.value, "status": score.status}
    if score.note:
        fields["note"] = score.note
    if score.model_fault:
        fields["model_fault"] = True
    return fields
