"""Whether an editor looks where it should edit: an attention map against the ROI."""

from __future__ import annotations

from dataclasses import dataclass

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image
from skimage.filters import threshold_otsu

from .masks import mask_iou

ALPHA = 1.3
"""Factor of Otsu's threshold, as published (MedEBench, project page)."""
SIDE = 512
"""Side of the square on which a map and an ROI of different sizes are compared, in pixels; our
choice. The published notebook shows its maps at this size."""
_BINS = 256
_WHITE = 127


@dataclass(frozen=True)
class AttentionGrounding:
    """One attention map against its ROI; every fraction is in [0, 1].

    What needs a map with a highest and a lowest value, or an ROI with pixels, is None without.
    """

    iou: float | None
    """`attention_iou`; higher is better, and it rises with the ROI's area."""
    roi_share: float
    """Fraction of the pixels in the ROI: what a map that fires everywhere would score as IoU."""
    attended_share: float | None
    """Fraction of the pixels above the threshold."""
    pointing: float | None
    """1.0 when the highest value of the map lies in the ROI, else 0.0; of several equally high
    pixels the fraction in the ROI. Higher is better."""
    energy: float | None
    """Fraction of the normalised map's sum that lies in the ROI; higher is better."""
    threshold: float | None
    """What the normalised map had to exceed; None for a map that came binarised."""
    note: str = ""
    """Why a number is missing; empty when all are there."""


def attention_iou(
    map: ArrayLike,
    roi: ArrayLike,
    *,
    alpha: float = ALPHA,
    side: int = SIDE,
) -> float | None:
    """Intersection over union of the strongly attended pixels and the ROI.

    Args:
        map: (H, W) attention of one word, any real dtype; min–max normalised here, attended is what
            is strictly above `alpha` times Otsu's threshold. A boolean map counts as binarised.
        roi: (H, W) mask, of the map's size or not: boolean, or numbers of which more than 127 is
            ROI; where none is above 1, more than 0.5 is.
        alpha: factor of the threshold.
        side: when the sizes differ, map (bilinear) and ROI (nearest) are brought to a square of
            this side.

    Returns:
        A fraction in [0, 1], higher is better. 0.0 when nothing exceeds the threshold. None where
        there is no such number: a constant map, one that is not finite, an ROI without pixels.

    Raises:
        ValueError: arrays that are not two-dimensional, hold no pixels, or `alpha` or `side` not
            positive.

    Notes:
        Published (project page, text only): min–max, strictly above 1.3 × Otsu, IoU. Not published,
        chosen here: scikit-image's threshold with 256 bins, sizes, resampling, the cut of the mask.

    References:
        Liu et al., "MedEBench", Findings of EMNLP 2025, arXiv 2506.01921.
    """
    return attention_grounding(map, roi, alpha=alpha, side=side).iou


def attention_grounding(
    map: ArrayLike,
    roi: ArrayLike,
    *,
    alpha: float = ALPHA,
    side: int = SIDE,
) -> AttentionGrounding:
    """`attention_iou` with what has to be read beside it; same arguments, same errors.

    References:
        Pointing game: Zhang et al., IJCV 126 (2018), doi:10.1007/s11263-017-1059-x; here without
        their tolerance of 15 pixels. Energy: Wang et al., "Score-CAM", CVPR Workshops 2020,
        arXiv 1910.01279.
    """
    if alpha <= 0 or side < 1:
        raise ValueError(f"expected alpha and side above 0, got {alpha}, {side}")
    attention, region = np.asarray(map), roi_pixels(roi)
    if attention.ndim != 2 or not attention.size:
        raise ValueError(f"expected a map of shape (H, W), got {attention.shape}")
    is_binary = attention.dtype == bool
    normal = attention.astype(np.float64) if is_binary else normalised(attention)
    if normal is not None and normal.shape != region.shape:
        normal = resized_map(normal, (side, side))
        region = resized_roi(region, (side, side))
    share = float(region.mean())
    if normal is None:
        return _without_number(share, _why_not(attention))
    if not region.any():
        return _without_number(share, "the ROI has no pixels")
    threshold = 0.5 if is_binary else alpha * threshold_otsu(normal, nbins=_BINS)
    attended = normal > threshold
    total = float(normal.sum())
    return AttentionGrounding(
        iou=mask_iou(attended, region),
        roi_share=share,
        attended_share=float(attended.mean()),
        pointing=float(region[normal == normal.max()].mean()) if total else None,
        energy=float(normal[region].sum()) / total if total else None,
        threshold=None if is_binary else float(threshold),
        note="" if total else "the map attends no pixel, so that no highest value lies anywhere",
    )


def attended_pixels(
    map: ArrayLike,
    size_wh: tuple[int, int],
    *,
    alpha: float = ALPHA,
    side: int = SIDE,
) -> NDArray[np.bool_] | None:
    """The pixels that `attention_iou` counts as attended with an ROI of a picture's size.

    Brought to that size (nearest); None for a map without highest and lowest value.
    """
    normal = normalised(np.asarray(map))
    if normal is None:
        return None
    fits = normal.shape == (size_wh[1], size_wh[0])
    square = normal if fits else resized_map(normal, (side, side))
    return resized_roi(square > alpha * threshold_otsu(square, nbins=_BINS), size_wh)


def normalised(attention: ArrayLike) -> NDArray[np.float64] | None:
    """A map scaled to [0, 1] by its lowest and highest value; None where these do not differ.

    None, too, for a map with a value that is not finite.
    """
    values = np.asarray(attention, dtype=np.float64)
    if not np.isfinite(values).all():
        return None
    low, high = values.min(), values.max()
    return (values - low) / (high - low) if high > low else None


def roi_pixels(roi: ArrayLike) -> NDArray[np.bool_]:
    """A mask as booleans, by the rule of `attention_iou`.

    Raises:
        ValueError: not of shape (H, W), without pixels, or with values that are not finite.
    """
    values = np.asarray(roi)
    if values.ndim != 2 or not values.size:
        raise ValueError(f"expected an ROI of shape (H, W), got {values.shape}")
    if values.dtype == bool:
        return values
    if not np.isfinite(values).all():
        raise ValueError("expected a finite ROI, got NaN or infinity; give a mask of 0 and 255")
    return values > (_WHITE if values.max() > 1 else 0.5)


def resized_map(values: NDArray[np.float64], size_wh: tuple[int, int]) -> NDArray[np.float64]:
    """A map at another size, bilinear with pixel centres at halves, as torch without corners."""
    return np.asarray(cv2.resize(values, size_wh, interpolation=cv2.INTER_LINEAR))


def resized_roi(region: NDArray[np.bool_], size_wh: tuple[int, int]) -> NDArray[np.bool_]:
    """A mask at another size by Pillow's nearest neighbour, as the released scoring code does."""
    picture = Image.fromarray(region.astype(np.uint8) * 255)
    return np.asarray(picture.resize(size_wh, Image.Resampling.NEAREST)) > _WHITE


def _why_not(attention: NDArray[np.generic]) -> str:
    if not np.isfinite(attention.astype(np.float64)).all():
        return "the attention map has values that are not finite"
    return "the attention map is constant"


def _without_number(roi_share: float, note: str) -> AttentionGrounding:
    return AttentionGrounding(None, roi_share, None, None, None, None, note)
