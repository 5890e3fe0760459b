"""Scoring edited images without a judge: sample by sample, all models of a sample together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..edits_folder import LOSSY_SUFFIXES
from ..images import ImageUnreadable, read_rgb, read_roi, resize_like
from ..metrics.edit import EditMetrics, PreparedSample, edit_metrics
from ..types import Score, Status

SSIM_WINDOW = 7
"""Side of the window, in pixels; images below it have no SSIM."""
PSNR_CEILING_DB = 100.0
"""Identical regions have infinite PSNR; this stands for it so that means stay finite."""


@dataclass(frozen=True)
class EditTask:
    """One sample and the edited images to score on it, in the order of the models."""

    previous: str | None
    roi: str | None
    edited: tuple[str | None, ...]
    has_reference: bool = True


@dataclass(frozen=True)
class EditOutcome:
    """Judge-free scores of one edited image, and what was noticed on the way."""

    official: Score
    context: Score
    psnr_inside: Score
    psnr_outside: Score
    flags: frozenset[str] = frozenset()
    diagnostics: dict[str, Any] = field(default_factory=dict)


def score_edits(tasks: Sequence[EditTask]) -> list[tuple[EditOutcome | None, ...]]:
    """Score chunks of samples; the function that workers run.

    Previous image and ROI of a sample are decoded once for all its edited images.

    Returns:
        For each task one outcome per edited image; None where there is no image to score.
    """
    return [_score_sample(task) for task in tasks]


def _score_sample(task: EditTask) -> tuple[EditOutcome | None, ...]:
    if all(path is None for path in task.edited):
        return tuple(None for _ in task.edited)
    prepared = _prepare(task)
    if isinstance(prepared, Score):
        failed = EditOutcome(prepared, prepared, prepared, prepared)
        return tuple(None if path is None else failed for path in task.edited)
    sample, flags = prepared
    return tuple(
        None if path is None else _score_one(sample, Path(path), flags, task.has_reference)
        for path in task.edited
    )


def _prepare(task: EditTask) -> tuple[PreparedSample, frozenset[str]] | Score:
    if task.previous is None or task.roi is None:
        absent = "previous image" if task.previous is None else "ROI mask"
        return Score.unscored(Status.DATA_ERROR, f"{absent} missing")
    try:
        previous = read_rgb(Path(task.previous))
        roi = read_roi(Path(task.roi), size_wh=previous.size_wh)
    except (ImageUnreadable, OSError) as error:
        return Score.unscored(Status.DATA_ERROR, str(error))
    if min(previous.size_wh) < SSIM_WINDOW:
        size = " x ".join(map(str, previous.size_wh))
        return Score.unscored(Status.DATA_ERROR, f"{size} pixels, smaller than SSIM's window")
    flags = {f"previous_{flag}" for flag in previous.flags} | {f"roi_{flag}" for flag in roi.flags}
    return PreparedSample(previous.pixels, roi.values), frozenset(flags)


def _score_one(
    sample: PreparedSample, path: Path, sample_flags: frozenset[str], has_reference: bool
) -> EditOutcome:
    try:
        decoded = read_rgb(path)
    except (ImageUnreadable, OSError) as error:
        broken = Score.unanswered(Status.MISSING, f"edited image unreadable: {error}")
        return EditOutcome(broken, broken, broken, broken, sample_flags)
    height, width = sample.previous.shape[:2]
    resized, size_flags = resize_like(decoded, (width, height))
    flags = sample_flags | size_flags | {f"edited_{flag}" for flag in decoded.flags}
    if path.suffix.lower() in LOSSY_SUFFIXES:
        flags |= {"lossy"}
    return _outcome(edit_metrics(sample, resized), decoded.size_wh, frozenset(flags), has_reference)


def _outcome(
    metrics: EditMetrics, size_wh: tuple[int, int], flags: frozenset[str], has_reference: bool
) -> EditOutcome:
    official = Score(metrics.official)
    if not has_reference:
        # The released script scores a sample only when all four of its files exist.
        official = Score.unscored(Status.DATA_ERROR, "reference missing, skipped as published")
    if metrics.context is None:
        context = Score.unscored(Status.DATA_ERROR, "no SSIM window lies wholly outside the ROI")
    else:
        context = Score(metrics.context)
    noticed = set(flags)
    if metrics.shifted:
        noticed.add("shifted")
    if metrics.border:
        noticed.add("black_border")
    diagnostics = {
        "size_wh": list(size_wh),
        "roi_share": metrics.roi_share,
        "shift_xy": [metrics.shift.dx, metrics.shift.dy],
        "shift_confidence": metrics.shift.confidence,
        "border_pixels": metrics.border,
    }
    return EditOutcome(
        official,
        context,
        _psnr_score(metrics.psnr_inside, "the ROI is empty"),
        _psnr_score(metrics.psnr_outside, "the ROI fills the image"),
        frozenset(noticed),
        diagnostics,
    )


def _psnr_score(value: float | None, why_none: str) -> Score:
    if value is None:
        return Score.unscored(Status.DATA_ERROR, why_none)
    return Score(min(value, PSNR_CEILING_DB))
