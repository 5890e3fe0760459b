"""Intersection over union of masks, and a box as a mask."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def mask_iou(a: ArrayLike, b: ArrayLike) -> float:
    """Intersection over union of two masks.

    Args:
        a: shape (H, W), any dtype; what is not 0 is inside.
        b: as `a`; the order does not matter.

    Returns:
        A fraction in [0, 1], higher is more alike; 1.0 for equal masks. 0.0 where either is empty,
        both included: nothing was found.

    Raises:
        ValueError: other shapes, or two that differ.

    Notes:
        Beyond MedSG-Bench, whose paper and code measure boxes only.
    """
    first, second = np.asarray(a) != 0, np.asarray(b) != 0
    if first.ndim != 2 or first.shape != second.shape:
        raise ValueError(f"expected two masks of shape (H, W), got {first.shape}, {second.shape}")
    union = int(np.count_nonzero(first | second))
    return int(np.count_nonzero(first & second)) / union if union else 0.0


def box_mask(box: Sequence[float], size_wh: tuple[int, int]) -> NDArray[np.bool_]:
    """A box as a mask: the pixels whose centre lies in it.

    Args:
        box: x1, y1, x2, y2 in continuous coordinates, origin top-left; may leave the image.
        size_wh: width and height of the mask.

    Returns:
        Shape (H, W); all False for a box without area, or with corners in the wrong order.

    Raises:
        ValueError: not four finite numbers.
    """
    if len(box) != 4 or not all(map(math.isfinite, box)):
        raise ValueError(f"expected four finite numbers, got {box!r}")
    x1, y1, x2, y2 = map(float, box)
    columns, rows = (np.arange(side) + 0.5 for side in size_wh)
    in_columns = (columns >= x1) & (columns < x2)
    in_rows = (rows >= y1) & (rows < y2)
    return np.logical_and.outer(in_rows, in_columns)
