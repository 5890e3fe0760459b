"""MedSG-Bench from predictions to numbers: read boxes, score, summarise, write.

Source of the official columns: the released code of MedSG-Bench (eval/MedSG_Bench.py) and Table 3
of the paper (arXiv:2505.11852); the overall figure is the mean over samples, which reproduces the
printed averages.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from tqdm import tqdm

from ..conventions import Convention, would_fit_better
from ..data import MedSGData, MedSGSample
from ..metrics import box_iou
from ..official import medsg as official
from ..parsing import BoxReading, read_box
from ..predictions import join_on_index, read_predictions
from ..stats import RESAMPLES, summarise
from ..types import Score, Status, Summary
from .medsg_metrics import ACC_50, ACC_50_STRICT, IOU, IOU_STRICT, METRICS, THRESHOLDS
from .run_files import RunFiles, base_manifest, flat_summary

logger = logging.getLogger(__name__)

_UNREAD = (Status.MISSING, Status.API_FAIL)
"""No reply of the model at all; the published script never sees such a row."""

SentSize = Callable[[MedSGSample], tuple[int, int] | None]


@dataclass(frozen=True)
class GroundedSample:
    """One question, a model's reply to it, both readings and the scores."""

    sample: MedSGSample
    reply: str | None
    reading: BoxReading
    official_boxes: tuple[tuple[float, ...], ...]
    """All that the published parser reads; only the first is scored."""
    scores: Mapping[str, Score]


@dataclass(frozen=True)
class MedSGResult:
    """What an evaluation gives: rows, summaries, and the flat numbers for the host."""

    rows: tuple[GroundedSample, ...]
    summaries: tuple[Summary, ...]
    flat: dict[str, float | int]
    files: RunFiles
    warnings: tuple[str, ...] = ()


def evaluate_medsg(
    prediction_file: Path,
    data: MedSGData,
    *,
    convention: Convention,
    expected: Sequence[int] | None = None,
    sent_size_wh: SentSize | None = None,
    environment: Mapping[str, Any] | None = None,
) -> MedSGResult:
    """Evaluate the replies of one model.

    Args:
        prediction_file: read only.
        data: the prepared benchmark, or one task of it.
        convention: what the model was asked for, and how it is read; see `conventions`.
        expected: indices the model was given; all of `data` by default.
        sent_size_wh: the size at which a sample's target image reached the model, where it was
            resized on the way; absolute answers are mapped back from it.
        environment: what the manifest should say about the host.

    Raises:
        ValueError: a prediction file that cannot be used, or no samples at all.
    """
    samples = _expected(data, expected)
    replies, warnings = _replies(prediction_file, samples)
    rows = [
        _grounded(sample, replies.get(sample.index), convention, sent_size_wh)
        for sample in tqdm(samples, desc="Reading boxes", unit="sample", disable=len(samples) < 500)
    ]
    probe = _probed(rows, convention, sent_size_wh)
    warnings = (*warnings, *([probe] if probe else []))
    for warning in warnings:
        logger.warning("%s", warning)
    facts = {
        "data": {
            "name": data.name,
            "fingerprint": data.fingerprint,
            "revision": data.revision,
            "source": data.source,
            "n_samples": len(data.samples),
            "n_expected": len(rows),
            "partial": len(rows) < len(data.samples),
        },
        "convention": convention,
        **(environment or {}),
    }
    return _write(rows, RunFiles(prediction_file), warnings, facts)


def _expected(data: MedSGData, indices: Sequence[int] | None) -> list[MedSGSample]:
    if not data.samples:
        raise ValueError(f"expected samples in {data.name}, got none; prepare the data again")
    if indices is None:
        return list(data.samples)
    by_index = {sample.index: sample for sample in data.samples}
    unknown = sorted(set(indices) - set(by_index))
    if unknown:
        raise ValueError(f"expected indices of {data.name}, got {unknown[:10]}")
    return [by_index[index] for index in indices]


def _replies(
    path: Path, samples: Sequence[MedSGSample]
) -> tuple[dict[int, str | None], tuple[str, ...]]:
    table = read_predictions(path)
    joined = join_on_index(table, [str(sample.index) for sample in samples])
    warnings = list(table.warnings)
    if joined.unmatched:
        shown = ", ".join(map(str, joined.unmatched[:10]))
        warnings.append(f"{len(joined.unmatched)} rows belong to no sample, not scored: {shown}")
    if joined.missing:
        shown = ", ".join(map(str, joined.missing[:10]))
        warnings.append(f"no prediction for {len(joined.missing)} of {len(samples)}: {shown}")
    replies = {int(index): row.get("prediction") for index, row in joined.matched.items()}
    return replies, tuple(warnings)


def _grounded(
    sample: MedSGSample, reply: str | None, convention: Convention, sent: SentSize | None
) -> GroundedSample:
    reading = read_box(
        reply,
        convention=convention.name,
        size_wh=sample.size_wh,
        sent_size_wh=sent(sample) if sent else None,
    )
    boxes = _official_boxes(sample, reply, convention)
    if sample.truth is None:
        failed = Score.unscored(Status.DATA_ERROR, "the published answer is no box")
        scores = {metric.name: failed for metric in METRICS}
    else:
        scores = {
            **_official_scores(sample, boxes, reading.status),
            **_strict_scores(sample, reading),
        }
    return GroundedSample(sample, reply, reading, tuple(map(tuple, boxes or ())), scores)


def _official_boxes(
    sample: MedSGSample, reply: str | None, convention: Convention
) -> list[Any] | None:
    if convention.official_parser == "pixel":
        return list(official.pixel_boxes(reply))
    if convention.official_parser == "scaled":
        return list(official.scaled_boxes(reply, sample.official_size_wh))
    return None


def _official_scores(
    sample: MedSGSample, boxes: list[Any] | None, status: Status
) -> dict[str, Score]:
    names = (IOU.name, *THRESHOLDS)
    if boxes is None:
        absent = Score.unscored(Status.DATA_ERROR, "no published parser reads this convention")
        return dict.fromkeys(names, absent)
    if status in _UNREAD:
        return dict.fromkeys(names, Score.unanswered(status))
    value = official.iou(tuple(sample.truth or ()), boxes)
    note = "" if boxes else "no box, 0 as published"
    hits = {name: Score(float(value >= least), note=note) for name, least in THRESHOLDS.items()}
    return {IOU.name: Score(value, note=note), **hits}


def _strict_scores(sample: MedSGSample, reading: BoxReading) -> dict[str, Score]:
    if reading.box is None or sample.truth is None:
        absent = Score.unanswered(reading.status)
        return {IOU_STRICT.name: absent, ACC_50_STRICT.name: absent}
    value = box_iou(sample.truth, reading.box)
    hit = float(value >= THRESHOLDS[ACC_50.name])
    return {IOU_STRICT.name: Score(value), ACC_50_STRICT.name: Score(hit)}


def _probed(
    rows: Sequence[GroundedSample], convention: Convention, sent: SentSize | None
) -> str | None:
    usable = [row for row in rows if row.sample.truth is not None and row.reply]
    found = would_fit_better(
        [row.reply for row in usable],
        [row.sample.truth or () for row in usable],
        declared=convention.name,
        sizes_wh=[row.sample.size_wh for row in usable],
        sent_sizes_wh=[
            (sent(row.sample) if sent else None) or row.sample.size_wh for row in usable
        ],
    )
    return str(found) if found else None


def _write(
    rows: Sequence[GroundedSample],
    files: RunFiles,
    warnings: tuple[str, ...],
    facts: Mapping[str, Any],
) -> MedSGResult:
    summaries = tuple(summarise_medsg(rows))
    statuses = Counter(str(row.reading.status) for row in rows)
    flat = flat_summary(summaries, METRICS, group_by="task") | _macro(summaries)
    flat |= {
        "n_expected": len(rows),
        "n_answered": statuses[str(Status.ANSWER)],
        **{f"n_{status}": count for status, count in statuses.items() if status != "answer"},
    }
    manifest = {
        **base_manifest(files.predictions),
        **facts,
        "settings": {"bootstrap_resamples": RESAMPLES},
        "metrics": METRICS,
        "replies": statuses,
        "flags": Counter(flag for row in rows for flag in row.reading.flags),
        "warnings": warnings,
    }
    files.write_scores(score_record(row) for row in rows)
    files.write_groups(summaries, METRICS)
    files.write_summary(flat)
    files.write_manifest(manifest)
    return MedSGResult(tuple(rows), summaries, flat, files, warnings)


def _macro(summaries: Sequence[Summary]) -> dict[str, float]:
    """Plain means over the tasks, beside the published mean over samples."""
    means: dict[str, float] = {}
    for metric in (IOU, ACC_50):
        values = [
            summary.value
            for summary in summaries
            if (summary.metric, summary.group_by) == (metric.name, "task")
        ]
        known = [value for value in values if value is not None]
        if known:
            means[f"{metric.name}_macro"] = fmean(known)
    return means


def summarise_medsg(rows: Sequence[GroundedSample]) -> Iterator[Summary]:
    """Summaries of every metric: overall (sample-weighted, as published) and by task.

    Intervals are clustered by case, since samples of one patient image are not independent.
    """
    groups: dict[tuple[str, str], list[GroundedSample]] = {("overall", "Overall"): list(rows)}
    for row in rows:
        groups.setdefault(("task", row.sample.task), []).append(row)
    for (group_by, group), members in groups.items():
        clusters = [row.sample.case for row in members]
        for metric in METRICS:
            scores = [row.scores[metric.name] for row in members]
            yield summarise(scores, metric, clusters=clusters, group=group, group_by=group_by)


def score_record(row: GroundedSample) -> dict[str, Any]:
    """One line of ``_scores.jsonl``: everything needed to trace and recompute the row's numbers."""
    return {
        "index": row.sample.index,
        "key": row.sample.key,
        "task": row.sample.task,
        "cluster": row.sample.case,
        "truth": row.sample.truth,
        "size_wh": row.sample.size_wh,
        "official_boxes": row.official_boxes,
        "strict_box": row.reading.box,
        "status": row.reading.status,
        "flags": sorted(row.reading.flags),
        "scores": {
            name: {"value": score.value, "status": score.status, "note": score.note}
            for name, score in row.scores.items()
        },
    }
