"""MedSG-Bench from predictions to numbers: read boxes, score, summarise, write.

Source of the official columns: the released code of MedSG-Bench (eval/MedSG_Bench.py) and Table 3
of the paper (arXiv:2505.11852); the overall figure is the mean over samples, which reproduces the
printed averages.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import fmean
from typing import Any

from tqdm import tqdm

from ..conventions import Convention, would_fit_better
from ..data import MedSGData, MedSGSample
from ..metrics import box_iou_batch
from ..predictions import read_predictions
from ..stats import RESAMPLES, summarise
from ..types import MetricInfo, Status, Summary
from .grounded_boxes import (
    GroundedSample,
    SentSize,
    grounded,
    score_record,
    shown_boxes,
    with_mask_scores,
)
from .medsg_metrics import ACC_50, IOU, MASK_IOU, METRICS, THRESHOLDS
from .prepared_rows import data_facts, expected_samples, predictions_by_index
from .run_files import RunFiles, base_manifest, flat_summary
from .shown_samples import AskedPrompts, sample_records

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class MedSGResult:
    """What an evaluation gives: rows, summaries, and the flat numbers for the host."""

    rows: tuple[GroundedSample, ...]
    summaries: tuple[Summary, ...]
    flat: dict[str, float | int]
    files: RunFiles
    warnings: tuple[str, ...] = ()
    trivial: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """See `trivial_answers`."""

    def trivial_note(self) -> str:
        """What answers without looking would reach, as a line below the tables."""
        parts = [
            f"{name} {IOU.name} {means[IOU.name]:.3f}, {ACC_50.name} {means[ACC_50.name]:.3f}"
            for name, means in self.trivial.items()
        ]
        return f"answers without looking, on the same samples: {'; '.join(parts)}" if parts else ""


def evaluate_medsg(
    prediction_file: Path,
    data: MedSGData,
    *,
    convention: Convention,
    expected: Sequence[int] | None = None,
    sent_size_wh: SentSize | None = None,
    environment: Mapping[str, Any] | None = None,
    asked: AskedPrompts | None = None,
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
        asked: what the host was handed for each sample; None when nobody knows.

    Raises:
        ValueError: a prediction file that cannot be used, or no samples at all.
    """
    samples = expected_samples(data.name, data.samples, expected)
    replies, warnings = predictions_by_index(
        read_predictions(prediction_file), [sample.index for sample in samples]
    )
    rows = [
        grounded(sample, replies.get(sample.index), convention, sent_size_wh)
        for sample in tqdm(samples, desc="Reading boxes", unit="sample", disable=len(samples) < 500)
    ]
    rows = with_mask_scores(rows, prediction_file)
    probe = _probed(rows, convention, sent_size_wh)
    warnings = (*warnings, *([probe] if probe else []))
    for warning in warnings:
        logger.warning("%s", warning)
    facts = {
        "data": data_facts(data, len(rows)),
        "convention": convention,
        **(environment or {}),
    }
    files = RunFiles(prediction_file)
    files.write_samples(sample_records(map(shown_boxes, rows), data.root, asked))
    return _write(rows, files, warnings, facts)


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
    metrics = medsg_metrics(rows)
    statuses = Counter(str(row.reading.status) for row in rows)
    flat = flat_summary(summaries, metrics, group_by="task") | _macro(summaries)
    flat |= {
        "n_expected": len(rows),
        "n_answered": statuses[str(Status.ANSWER)],
        **{f"n_{status}": count for status, count in statuses.items() if status != "answer"},
    }
    trivial = trivial_answers([row.sample for row in rows])
    manifest = {
        **base_manifest(files.predictions),
        **facts,
        "settings": {"bootstrap_resamples": RESAMPLES},
        "metrics": metrics,
        "replies": statuses,
        "flags": Counter(flag for row in rows for flag in row.reading.flags),
        "trivial_answers": trivial,
        "warnings": warnings,
    }
    files.write_scores(score_record(row) for row in rows)
    files.write_groups(summaries, metrics)
    files.write_summary(flat)
    files.write_manifest(manifest)
    return MedSGResult(tuple(rows), summaries, flat, files, warnings, trivial)


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


def trivial_answers(samples: Sequence[MedSGSample]) -> dict[str, dict[str, float]]:
    """Mean IoU and ACC@0.5 of two answers that need no model: the whole image, its middle half.

    A score near these shows nothing. Empty when no sample has a box.
    """
    usable = [(sample.truth, sample.size_wh) for sample in samples if sample.truth is not None]
    if not usable:
        return {}
    truths = [truth for truth, _ in usable]
    answers: dict[str, list[tuple[float, float, float, float]]] = {
        "whole image": [(0, 0, width, height) for _, (width, height) in usable],
        "centre box": [(w / 4, h / 4, 3 * w / 4, 3 * h / 4) for _, (w, h) in usable],
    }
    ious = {name: box_iou_batch(truths, boxes) for name, boxes in answers.items()}
    least = THRESHOLDS[ACC_50.name]
    return {
        name: {IOU.name: float(of.mean()), ACC_50.name: float((of >= least).mean())}
        for name, of in ious.items()
    }


def summarise_medsg(rows: Sequence[GroundedSample]) -> Iterator[Summary]:
    """Summaries of every metric: overall (sample-weighted, as published) and by task.

    Intervals are clustered by case, since samples of one patient image are not independent.
    """
    groups: dict[tuple[str, str], list[GroundedSample]] = {("overall", "Overall"): list(rows)}
    for row in rows:
        groups.setdefault(("task", row.sample.task), []).append(row)
    for (group_by, group), members in groups.items():
        for metric in medsg_metrics(members):
            scored = [row for row in members if metric.name in row.scores]
            yield summarise(
                [row.scores[metric.name] for row in scored],
                metric,
                clusters=[row.sample.case for row in scored],
                group=group,
                group_by=group_by,
            )


def medsg_metrics(rows: Sequence[GroundedSample]) -> tuple[MetricInfo, ...]:
    """The columns of a run: mask IoU only where masks play a part."""
    return (*METRICS, MASK_IOU) if any(MASK_IOU.name in row.scores for row in rows) else METRICS
