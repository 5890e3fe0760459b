"""Signs that an edited image earns its scores without the edit: no change, elsewhere, or a copy."""

from __future__ import annotations

import math
from dataclasses import dataclass

import cv2
import numpy as np

from .edit import EditMetrics, PreparedSample
from .psnr import psnr_from_error, squared_sum

VISIBLE_DB = 40.0
"""From this PSNR on a change counts as invisible: a root mean square of 2.55 grey levels."""
LEAST_CHANGE = 0.1
"""An edit below this share of the reference's change inside the ROI counts as none; so does what
an edit leaves between itself and the reference."""
SPOT_SIDE, SPOT_CHANGE = 9, 12.0
"""A square of so many pixels whose mean colour moved by so many grey levels is a visible edit,
however little it adds to a large ROI. Lossy codecs and noise move single pixels as far, not the
mean of a square (at most 10 for the gallery's inputs as JPEG down to quality 50)."""


@dataclass(frozen=True)
class EditSigns:
    """What speaks against an edit; None where the question makes no sense for the sample."""

    no_edit: bool | None
    """Inside the ROI nothing visible was changed, neither on the whole nor at one spot."""
    edit_elsewhere: bool | None
    """Outside the ROI a pixel was changed visibly, and at least as much as inside."""
    copied_reference: bool | None
    """The image is the reference, inside the ROI and on the whole, but for what is invisible."""
    change_ratio: float | None
    """Root mean square change inside the ROI over that of the reference: 0 is no edit, 1 as much
    as was asked for; without regard to what was changed."""


def edit_signs(
    sample: PreparedSample,
    edited: np.ndarray,
    metrics: EditMetrics,
    reference: np.ndarray | None = None,
) -> EditSigns:
    """Whether an edit did nothing, did it elsewhere, or pasted the answer.

    Args:
        sample: the input and its ROI.
        edited: (H, W, 3) uint8 RGB of the input's size.
        metrics: of `edited`, as `edit_metrics` gives them.
        reference: (H, W, 3) uint8 RGB of the input's size; None where the sample has none.

    Returns:
        `no_edit` is None for an empty ROI, and where the reference itself changes nothing visible
        in it (doing nothing is right there). `edit_elsewhere` is None for an ROI that is empty or
        the whole image. `copied_reference` is None without a reference, or with one that changes
        nothing visible.

    Raises:
        ValueError: another dtype or shape.

    Notes:
        Not published. `edit_elsewhere` is no proof of cheating: a model that redraws the whole
        picture changes the surroundings as much as the ROI, and that is what it says. A reference
        that is another photograph differs from the input all over, so an honest edit may be a small
        share of that: a spot of `SPOT_SIDE` that was changed speaks for the edit all the same. A
        model that returns its input through a strongly lossy codec of its own moves spots, too;
        only `change_ratio` and the judge's EA show that it did not edit.
    """
    if reference is not None and (
        reference.shape != sample.previous.shape or reference.dtype != np.uint8
    ):
        raise ValueError(
            f"expected a uint8 reference of shape {sample.previous.shape}, got {reference.dtype} "
            f"{reference.shape}; resize it with medbench_vlmeval.images.resize_like"
        )
    asked = None if reference is None else _psnr_inside(sample, sample.previous, reference)
    ratio = _change_ratio(metrics, asked)
    return EditSigns(
        no_edit=_no_edit(sample, edited, metrics, asked, ratio),
        edit_elsewhere=_edit_elsewhere(metrics),
        copied_reference=None if reference is None else _copied(sample, edited, reference, asked),
        change_ratio=ratio,
    )


def _psnr_inside(sample: PreparedSample, a: np.ndarray, b: np.ndarray) -> float | None:
    return psnr_from_error(squared_sum(cv2.absdiff(a, b), sample.roi), 3 * sample.n_inside)


def _change_ratio(metrics: EditMetrics, asked: float | None) -> float | None:
    if metrics.psnr_inside is None or asked is None or math.isinf(asked):
        return None
    return _share_of(asked, metrics.psnr_inside)


def _share_of(whole: float, part: float) -> float:
    """A root mean square as share of another, both given as PSNR: 20 log10(255 / RMS)."""
    return 10 ** ((whole - part) / 20)


def _no_edit(
    sample: PreparedSample,
    edited: np.ndarray,
    metrics: EditMetrics,
    asked: float | None,
    ratio: float | None,
) -> bool | None:
    if metrics.psnr_inside is None or (asked is not None and asked >= VISIBLE_DB):
        return None
    is_little = metrics.psnr_inside >= VISIBLE_DB or (ratio is not None and ratio < LEAST_CHANGE)
    return is_little and not _changes_a_spot(sample, edited)


def _changes_a_spot(sample: PreparedSample, edited: np.ndarray) -> bool:
    change = np.subtract(edited, sample.previous, dtype=np.float32)
    change[sample.roi == 0] = 0  # what was changed outside is no edit of the ROI
    means = cv2.blur(change, (SPOT_SIDE, SPOT_SIDE), borderType=cv2.BORDER_REFLECT_101)
    return bool(np.abs(means).max() >= SPOT_CHANGE)


def _edit_elsewhere(metrics: EditMetrics) -> bool | None:
    if metrics.psnr_inside is None or metrics.psnr_outside is None:
        return None
    return metrics.psnr_outside < VISIBLE_DB and metrics.psnr_outside <= metrics.psnr_inside


def _copied(
    sample: PreparedSample, edited: np.ndarray, reference: np.ndarray, asked: float | None
) -> bool | None:
    if (
        min(_whole_psnr(sample.previous, reference), math.inf if asked is None else asked)
        >= VISIBLE_DB
    ):
        return None
    if _whole_psnr(edited, reference) < VISIBLE_DB:
        return False
    # A small ROI hardly counts on the whole: any edit of it would be near the reference.
    left = _psnr_inside(sample, edited, reference)
    if left is None or asked is None:
        return True
    return left >= VISIBLE_DB or _share_of(asked, left) < LEAST_CHANGE


def _whole_psnr(a: np.ndarray, b: np.ndarray) -> float:
    value = psnr_from_error(squared_sum(cv2.absdiff(a, b)), a.size)
    if value is None:
        raise ValueError(f"expected images with pixels, got shape {a.shape}")
    return value
