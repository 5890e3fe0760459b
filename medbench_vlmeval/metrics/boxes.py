"""Intersection over union of boxes, one pair or many."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray


def box_iou(a: Sequence[float], b: Sequence[float]) -> float:
    """Intersection over union of two boxes.

    Args:
        a: x1, y1, x2, y2 in continuous coordinates (no pixel is added), origin top-left.
        b: As `a`; the order does not matter.

    Returns:
        A fraction in [0, 1], higher is more alike; 1.0 for equal boxes. 0.0 where the boxes only
        touch, and where either has no area: a line, a point, or corners in the wrong order.

    Raises:
        ValueError: not four numbers each, or one that is not finite.

    Notes:
        Equal to the published value of MedSG-Bench (`medbench_vlmeval.official.medsg.iou`) for
        boxes of positive area. Nothing is clipped to an image.
    """
    for name, box in (("a", a), ("b", b)):
        if len(box) != 4 or not all(map(math.isfinite, box)):
            raise ValueError(f"expected {name} to be four finite numbers, got {box!r}")
    ax1, ay1, ax2, ay2 = map(float, a)
    bx1, by1, bx2, by2 = map(float, b)
    width = min(ax2, bx2) - max(ax1, bx1)
    height = min(ay2, by2) - max(ay1, by1)
    a_area = max(ax2 - ax1, 0.0) * max(ay2 - ay1, 0.0)
    b_area = max(bx2 - bx1, 0.0) * max(by2 - by1, 0.0)
    if width <= 0 or height <= 0 or not (a_area and b_area):
        return 0.0
    shared = width * height
    ratio = shared / (a_area + b_area - shared)
    # Areas of boxes too large for a float are infinite.
    return ratio if math.isfinite(ratio) else 0.0


def box_iou_batch(truths: ArrayLike, boxes: ArrayLike) -> NDArray[np.float64]:
    """`box_iou` of every row of `truths` with the same row of `boxes`.

    Args:
        truths: shape (N, 4), x1, y1, x2, y2.
        boxes: shape (N, 4).

    Returns:
        Shape (N,), float64, equal to `box_iou` row by row.

    Raises:
        ValueError: other shapes, or numbers that are not finite.
    """
    a, b = (_as_boxes(name, array) for name, array in (("truths", truths), ("boxes", boxes)))
    if a.shape != b.shape:
        raise ValueError(f"expected as many boxes as truths, got {len(b)} and {len(a)}")
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        sides = np.minimum(a[:, 2:], b[:, 2:]) - np.maximum(a[:, :2], b[:, :2])
        a_area = np.maximum(a[:, 2:] - a[:, :2], 0.0).prod(axis=1)
        b_area = np.maximum(b[:, 2:] - b[:, :2], 0.0).prod(axis=1)
        shared = sides.prod(axis=1)
        ratio = shared / (a_area + b_area - shared)
    overlaps = (sides > 0).all(axis=1) & (a_area > 0) & (b_area > 0)
    return np.where(overlaps & np.isfinite(ratio), ratio, 0.0)


def _as_boxes(name: str, array: ArrayLike) -> NDArray[np.float64]:
    boxes = np.asarray(array, dtype=np.float64)
    if boxes.ndim != 2 or boxes.shape[1] != 4:
        raise ValueError(f"expected {name} of shape (N, 4), got {boxes.shape}")
    if not np.isfinite(boxes).all():
        raise ValueError(f"expected finite {name}; leave out rows without a box")
    return boxes
