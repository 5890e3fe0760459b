"""Replies to questions of MedSG-Bench as readings and scores, sample by sample."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..conventions import Convention
from ..data import MedSGSample
from ..editing import allowed_roots
from ..metrics import box_iou
from ..official import medsg as official
from ..parsing import BoxReading, MaskReading, read_box, read_mask
from ..types import Score, Status
from .medsg_masks import answered_mask, mask_score
from .medsg_metrics import ACC_50, ACC_50_STRICT, IOU, IOU_STRICT, MASK_IOU, METRICS, THRESHOLDS
from .run_files import groups_of, score_fields
from .shown_samples import ShownSample, numbered_images

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
    mask: MaskReading
    scores: Mapping[str, Score]


def grounded(
    sample: MedSGSample, reply: str | None, convention: Convention, sent: SentSize | None
) -> GroundedSample:
    """One reply, read by the declared convention and scored; `with_mask_scores` adds mask IoU."""
    mask = read_mask(reply)
    reading = read_box(
        mask.rest if mask.is_there else reply,
        convention=convention.name,
        size_wh=sample.size_wh,
        sent_size_wh=sent(sample) if sent else None,
    )
    if mask.is_there and reading.status is Status.MISSING:
        # There is a reply, and nothing beside its mask.
        reading = replace(reading, status=Status.UNPARSED, flags=frozenset())
    boxes = _official_boxes(sample, reply, convention)
    if sample.truth is None or None in sample.images:
        why = "the published answer is no box" if sample.truth is None else "an image is missing"
        failed = Score.unscored(Status.DATA_ERROR, why)
        scores = {metric.name: failed for metric in METRICS}
    else:
        scores = {
            **_official_scores(sample, boxes, reading.status),
            **_strict_scores(sample, reading),
        }
    return GroundedSample(sample, reply, reading, tuple(map(tuple, boxes or ())), mask, scores)


def with_mask_scores(rows: Sequence[GroundedSample], prediction_file: Path) -> list[GroundedSample]:
    """The rows with their mask IoU: those whose sample has a mask, or all if a reply carries one.

    All, because a model that answers with masks must not be better off where it answers nothing.
    """
    any_answered = any(row.mask.is_there for row in rows)
    roots = allowed_roots(prediction_file)
    return [
        _with_mask_score(row, roots) if any_answered or row.sample.mask is not None else row
        for row in rows
    ]


def _with_mask_score(row: GroundedSample, roots: Sequence[Path]) -> GroundedSample:
    sample = row.sample
    if None in sample.images:
        score = Score.unscored(Status.DATA_ERROR, "an image is missing")
    else:
        answered = answered_mask(row.mask, sample.size_wh, roots)
        score = mask_score(sample, answered, row.mask, row.reading)
    return replace(row, scores={**row.scores, MASK_IOU.name: score})


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


def score_record(row: GroundedSample) -> dict[str, Any]:
    """One line of ``_scores.jsonl``: everything needed to trace and recompute the row's numbers."""
    return {
        "index": row.sample.index,
        "key": row.sample.key,
        "task": row.sample.task,
        "cluster": row.sample.case,
        "groups": groups_of({"task": row.sample.task}),
        "truth": row.sample.truth,
        "size_wh": row.sample.size_wh,
        "official_boxes": row.official_boxes,
        "strict_box": row.reading.box,
        "status": row.reading.status,
        "flags": sorted(row.reading.flags),
        **_mask_record(row.mask),
        "scores": score_fields(row.scores),
    }


def shown_boxes(row: GroundedSample) -> ShownSample:
    """The sample behind a row: its sequence, its question and where the answer lies."""
    sample = row.sample
    return ShownSample(
        index=sample.index,
        key=sample.key,
        kind="boxes",
        images=numbered_images(sample.images, sample.sha256, sample.sizes_wh),
        reply=row.reply,
        about={
            "question": sample.question,
            "task": sample.task,
            "target": sample.target_image,
            "truth": sample.truth,
            "size_wh": sample.size_wh,
            "reference_box": sample.reference_box,
            "reference_image": None if sample.reference_box is None else 0,
        },
    )


def _mask_record(mask: MaskReading) -> dict[str, Any]:
    if not mask.is_there:
        return {}
    runs = mask.runs.to_coco() if mask.runs else None
    return {"mask": {"runs": runs, "path": mask.path, "status": mask.status, "note": mask.note}}
