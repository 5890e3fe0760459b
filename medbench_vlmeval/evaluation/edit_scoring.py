"""Scoring edited images without a judge: sample by sample, all models of a sample together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ..edits_folder import LOSSY_SUFFIXES
from ..images import ImageUnreadable, read_rgb, read_roi, resize_like
from ..metrics.edit import EditMetrics, PreparedSample, edit_metrics
from ..metrics.gaming import EditSigns, edit_signs
from ..types import Score, Status
from .medebench_metrics import COPIED_REFERENCE, EDIT_ELSEWHERE, NO_EDIT, SIGNS

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
    reference: str | None = None


@dataclass(frozen=True)
class EditOutcome:
    """Judge-free scores of one edited image, and what was noticed on the way."""

    official: Score
    context: Score
    psnr_inside: Score
    psnr_outside: Score
    signs: Mapping[str, Score]
    """Columns of `metrics.gaming`, by name: 1 where the sign is there."""
    flags: frozenset[str] = frozenset()
    diagnostics: dict[str, Any] = field(default_factory=dict)


def score_edits(tasks: Sequence[EditTask]) -> list[tuple[EditOutcome | None, ...]]:
    """Score chunks of samples; the function that workers run.

    The images of a sample are decoded once for all its edited images.

    Returns:
        For each task one outcome per edited image; None where there is no image to score.
    """
    return [_score_sample(task) for task in tasks]


@dataclass(frozen=True)
class _Sample:
    """The decoded images of one sample."""

    prepared: PreparedSample
    reference: np.ndarray | None
    has_reference: bool
    flags: frozenset[str]


def _score_sample(task: EditTask) -> tuple[EditOutcome | None, ...]:
    if all(path is None for path in task.edited):
        return tuple(None for _ in task.edited)
    sample = _prepare(task)
    if isinstance(sample, Score):
        failed = _all_columns(sample)
        return tuple(None if path is None else failed for path in task.edited)
    return tuple(None if path is None else _score_one(sample, Path(path)) for path in task.edited)


def _all_columns(score: Score, flags: frozenset[str] = frozenset()) -> EditOutcome:
    signs = {sign.name: score for sign in SIGNS if not sign.judged}
    return EditOutcome(score, score, score, score, signs, flags)


def _prepare(task: EditTask) -> _Sample | Score:
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
    reference, reference_flags = _reference(task.reference, previous.size_wh)
    return _Sample(
        PreparedSample(previous.pixels, roi.values),
        reference,
        task.reference is not None,
        frozenset(flags) | reference_flags,
    )


def _reference(
    path: str | None, size_wh: tuple[int, int]
) -> tuple[np.ndarray | None, frozenset[str]]:
    """The reference at the input's size; a damaged one leaves its own columns blank, no others."""
    if path is None:
        return None, frozenset()
    try:
        return resize_like(read_rgb(Path(path)), size_wh)[0], frozenset()
    except (ImageUnreadable, OSError):
        return None, frozenset({"reference_unreadable"})


def _score_one(sample: _Sample, path: Path) -> EditOutcome:
    try:
        decoded = read_rgb(path)
    except (ImageUnreadable, OSError) as error:
        broken = Score.unanswered(Status.MISSING, f"edited image unreadable: {error}")
        return _all_columns(broken, sample.flags)
    height, width = sample.prepared.previous.shape[:2]
    resized, size_flags = resize_like(decoded, (width, height))
    flags = sample.flags | size_flags | {f"edited_{flag}" for flag in decoded.flags}
    if path.suffix.lower() in LOSSY_SUFFIXES:
        flags |= {"lossy"}
    metrics = edit_metrics(sample.prepared, resized)
    signs = edit_signs(sample.prepared, resized, metrics, sample.reference)
    return _outcome(metrics, signs, decoded.size_wh, frozenset(flags), sample.has_reference)


def _outcome(
    metrics: EditMetrics,
    signs: EditSigns,
    size_wh: tuple[int, int],
    flags: frozenset[str],
    has_reference: bool,
) -> EditOutcome:
    official = Score(metrics.official)
    if not has_reference:
        # The released script scores a sample only when all four of its files exist.
        official = Score.unscored(Status.DATA_ERROR, "reference missing, skipped as published")
    if metrics.context is None:
        context = Score.unscored(Status.DATA_ERROR, "no SSIM window lies wholly outside the ROI")
    else:
        context = Score(metrics.context)
    return EditOutcome(
        official,
        context,
        _psnr_score(metrics.psnr_inside, "the ROI is empty"),
        _psnr_score(metrics.psnr_outside, "the ROI fills the image"),
        _sign_scores(signs),
        flags | _noticed(metrics),
        _diagnostics(metrics, signs, size_wh),
    )


def _noticed(metrics: EditMetrics) -> frozenset[str]:
    found = {"shifted": metrics.shifted, "black_border": bool(metrics.border)}
    return frozenset(name for name, is_there in found.items() if is_there)


def _diagnostics(
    metrics: EditMetrics, signs: EditSigns, size_wh: tuple[int, int]
) -> dict[str, Any]:
    return {
        "size_wh": list(size_wh),
        "roi_share": metrics.roi_share,
        "shift_xy": [metrics.shift.dx, metrics.shift.dy],
        "shift_confidence": metrics.shift.confidence,
        "border_pixels": metrics.border,
        "change_ratio": signs.change_ratio,
    }


def _sign_scores(signs: EditSigns) -> dict[str, Score]:
    return {
        NO_EDIT.name: _sign(signs.no_edit, "no ROI, or the reference changes nothing in it"),
        EDIT_ELSEWHERE.name: _sign(signs.edit_elsewhere, "the ROI is empty or fills the image"),
        COPIED_REFERENCE.name: _sign(
            signs.copied_reference, "no readable reference, or it changes nothing visible"
        ),
    }


def _sign(is_there: bool | None, why_none: str) -> Score:
    if is_there is None:
        return Score.unscored(Status.DATA_ERROR, why_none)
    return Score(float(is_there))


def _psnr_score(value: float | None, why_none: str) -> Score:
    if value is None:
        return Score.unscored(Status.DATA_ERROR, why_none)
    return Score(min(value, PSNR_CEILING_DB))
