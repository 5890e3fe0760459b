"""MedEBench from predictions to numbers: collect images, score, judge, summarise, write.

Source of the official columns: the released code of MedEBench (src/eval_metrics) and Table 2 of the
paper; the strict columns are what a careful reader would compute from the same inputs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..data import MedEBenchData, MedEBenchSample
from ..editing import EditStore
from ..images import png_decoder
from ..judging import Judge, JudgeSettings
from ..judging.medebench import medebench_prompt_sha256
from ..metrics import ssim_kernel
from ..stats import RESAMPLES, summarise
from ..types import MetricInfo, Status, Summary
from .edited_rows import EditedSample, collect_rows, score_rows
from .gaming import gaming_warnings
from .judged_edits import Judgement, judge_rows
from .medebench_metrics import METRICS, SEED_METRICS
from .options import EvaluationOptions
from .prepared_rows import data_facts
from .run_files import RunFiles, base_manifest, flat_summary, groups_of, score_fields
from .seeds import seed_records
from .shown_edits import shown_edit
from .shown_samples import AskedPrompts, sample_records


@dataclass(frozen=True)
class MedEBenchResult:
    """What an evaluation gives: rows, summaries, and the flat numbers for the host."""

    rows: tuple[EditedSample, ...]
    summaries: tuple[Summary, ...]
    flat: dict[str, float | int]
    files: RunFiles
    judge_note: str = ""
    warnings: tuple[str, ...] = ()
    metrics: tuple[MetricInfo, ...] = METRICS
    """The columns of this run."""
    gaming: tuple[str, ...] = ()
    """See `gaming_warnings`."""


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
    demonstrations: Mapping[int, Sequence[MedEBenchSample]] | None = None,
    asked: AskedPrompts | None = None,
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
        demonstrations: for in-context editing, the solved samples shown before each sample, by its
            id; they are written into its row.
        asked: what the host was handed for each sample; None when nobody knows.

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
    collected = [collect_rows(path, samples, store, options) for path in prediction_files]
    scored = score_rows([rows for rows, _ in collected], samples, options)
    results: list[MedEBenchResult] = []
    for path, (_, warnings), rows in zip(prediction_files, collected, scored, strict=True):
        files = RunFiles(path)
        rows = [_with_demonstrations(row, demonstrations) for row in rows]
        judgement = judge_rows(rows, files, judge, options)
        provenance = {
            "data": data_facts(data, len(rows)),
            "judge": None if judge is None else judge.manifest(),
            "prompts": {"medebench_judge": medebench_prompt_sha256(options.judge_layout)},
            "editors": _editors(rows, store),
            "track": options.track,
            **(environment or {}),
        }
        shown = (shown_edit(row, (demonstrations or {}).get(row.sample.id, ())) for row in rows)
        files.write_samples(sample_records(shown, data.root, asked))
        results.append(_write(judgement, files, warnings, provenance))
        if judgement.stopped is not None:
            raise judgement.stopped
    return results


def _expected(data: MedEBenchData, ids: Sequence[int] | None) -> list[MedEBenchSample]:
    if ids is None:
        return list(data.samples)
    by_id = {sample.id: sample for sample in data.samples}
    unknown = sorted(set(ids) - set(by_id))
    if unknown:
        raise ValueError(f"expected ids of {data.name}, got {unknown[:10]}; prepare the data again")
    return [by_id[identifier] for identifier in ids]


def _with_demonstrations(
    row: EditedSample, demonstrations: Mapping[int, Sequence[MedEBenchSample]] | None
) -> EditedSample:
    if demonstrations is None:
        return row
    shown = demonstrations.get(row.sample.id, ())
    return replace(row, demonstrations=tuple(sample.id for sample in shown))


def columns_of(rows: Sequence[EditedSample]) -> tuple[MetricInfo, ...]:
    """The columns of a run: those over several seeds only where a sample has several images."""
    return METRICS + (SEED_METRICS if any(row.seeds for row in rows) else ())


def _editors(rows: Sequence[EditedSample], store: EditStore) -> dict[str, Any]:
    """The settings behind the edits by the name that each row carries; None where unknown."""
    names = sorted({row.edited.settings for row in rows if row.edited.settings})
    return {name: store.description(name) for name in names}


def _write(
    judgement: Judgement,
    files: RunFiles,
    warnings: tuple[str, ...],
    provenance: Mapping[str, Any],
) -> MedEBenchResult:
    rows = judgement.rows
    metrics = columns_of(rows)
    summaries = tuple(summarise_medebench(rows))
    gaming = gaming_warnings(summaries)
    counts = Counter(str(row.edited.status) for row in rows)
    flat = flat_summary(summaries, metrics, group_by="organ") | {
        "n_expected": len(rows),
        "n_answered": counts[str(Status.ANSWER)],
        **{f"n_{status}": count for status, count in counts.items() if status != "answer"},
    }
    manifest = {
        **base_manifest(files.predictions),
        **provenance,
        "judge_note": judgement.note,
        "complete": judgement.stopped is None,
        "settings": {
            "ssim_kernel": ssim_kernel(),
            "png_decoder": png_decoder(),
            "bootstrap_resamples": RESAMPLES,
        },
        "metrics": metrics,
        "edited": counts,
        "images_per_sample": Counter(
            len(row.seeds) or int(row.edited.path is not None) for row in rows
        ),
        "flags": Counter(flag for row in rows for flag in row.flags),
        "gaming": gaming,
        "warnings": warnings,
    }
    files.write_scores(score_record(row) for row in rows)
    files.write_groups(summaries, metrics)
    files.write_summary(flat)
    files.write_manifest(manifest)
    return MedEBenchResult(
        tuple(rows), summaries, flat, files, judgement.note, warnings, metrics, gaming
    )


GROUP_OF: Mapping[str, Callable[[EditedSample], str]] = {
    "organ": lambda row: row.sample.organ,
    "task": lambda row: row.sample.task,
}


def summarise_medebench(rows: Sequence[EditedSample]) -> Iterator[Summary]:
    """Summaries of every metric: overall (sample-weighted, as published), by organ, by task."""
    metrics = columns_of(rows)
    for group_by, group_of in {"overall": lambda row: "Overall", **GROUP_OF}.items():
        groups: dict[str, list[EditedSample]] = {}
        for row in rows:
            groups.setdefault(group_of(row), []).append(row)
        for group, members in sorted(groups.items()):
            clusters = [row.cluster for row in members]
            for metric in metrics:
                scores = [row.scores[metric.name] for row in members]
                yield summarise(scores, metric, clusters=clusters, group=group, group_by=group_by)


def score_record(row: EditedSample) -> dict[str, Any]:
    """One line of ``_scores.jsonl``: everything needed to trace and recompute the row's numbers."""
    verdict = row.verdict
    record: dict[str, Any] = {
        "index": row.sample.id,
        "organ": row.sample.organ,
        "task": row.sample.task,
        "cluster": row.cluster,
        "groups": groups_of({name: of(row) for name, of in GROUP_OF.items()}),
        "edited": {
            "status": row.edited.status,
            "file": row.edited.path.name if row.edited.path else None,
            "sha256": row.edited.sha256,
            "note": row.edited.note,
            "seed": row.edited.seed,
            "settings": row.edited.settings,
        },
        "scores": score_fields(row.scores),
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
    if row.seeds:
        record["replicas"] = seed_records(row.seeds)
    if row.demonstrations is not None:
        record["demonstrations"] = row.demonstrations
    return record
