"""Mask answers to questions of MedSG-Bench, which itself knows boxes only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from ..data import MedSGSample
from ..editing import resolve_inside
from ..images import read_roi, same_aspect
from ..metrics import box_mask, mask_iou
from ..parsing import BoxReading, MaskReading
from ..types import Score, Status

Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class AnsweredMask:
    """The mask of a reply in the frame of its sample, or what is wrong with it."""

    mask: Mask | None
    note: str = ""


def answered_mask(
    reading: MaskReading, size_wh: tuple[int, int], roots: Iterable[Path]
) -> AnsweredMask:
    """The mask that a reply means.

    Args:
        reading: of the reply.
        size_wh: width and height of the image the answer lies in. A mask of another size with the
            same aspect is brought to it (nearest neighbour) and noted; another aspect is no answer.
        roots: folders a path may point into; see `editing.allowed_roots`.

    Returns:
        Shape (H, W), inside where a PNG is above 0; or no mask and the reason.
    """
    if reading.note:
        return AnsweredMask(None, reading.note)
    if reading.runs is not None:
        return _fitted(reading.runs.mask(), size_wh)
    if reading.path is None:
        return AnsweredMask(None)
    try:
        roi = read_roi(resolve_inside(reading.path, roots))
    except (OSError, ValueError) as error:
        return AnsweredMask(None, str(error))
    return _fitted(roi.values > 0, size_wh)


def mask_score(
    sample: MedSGSample, answered: AnsweredMask, mask: MaskReading, box: BoxReading
) -> Score:
    """Mask IoU of one reply; a side that has a box only stands for the pixels of the box."""
    truth = _true_mask(sample)
    if truth is None:
        return Score.unscored(Status.DATA_ERROR, "the published answer is no box and no mask")
    if answered.mask is not None:
        return Score(mask_iou(truth, answered.mask), note=answered.note)
    if mask.is_there:
        status = Status.UNPARSED if mask.status is Status.ANSWER else mask.status
        return Score.unanswered(status, answered.note)
    if box.box is None:
        return Score.unanswered(box.status)
    return Score(mask_iou(truth, box_mask(box.box, sample.size_wh)), note="the box as a mask")


def _true_mask(sample: MedSGSample) -> Mask | None:
    if sample.mask is not None:
        return sample.mask.mask()
    return None if sample.truth is None else box_mask(sample.truth, sample.size_wh)


def _fitted(mask: Mask, size_wh: tuple[int, int]) -> AnsweredMask:
    height, width = mask.shape
    if (width, height) == tuple(size_wh):
        return AnsweredMask(mask)
    sizes = f"the mask is {width} x {height}, the image {size_wh[0]} x {size_wh[1]}"
    if not same_aspect((width, height), size_wh):
        return AnsweredMask(None, sizes)
    resized = Image.fromarray(mask).resize(size_wh, Image.Resampling.NEAREST)
    return AnsweredMask(np.asarray(resized), f"{sizes}: resized")
