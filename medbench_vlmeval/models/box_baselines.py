"""Trivial answers to grounding questions: the floor below which a model has learned nothing.

On MedSG-Bench a fixed centre box beats most published zero-shot models, and nothing in the papers'
tables says so.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from pathlib import Path
from typing import TYPE_CHECKING, Any

import cv2
import numpy as np
from numpy.typing import NDArray
from vlmeval.vlm.base import BaseModel

from ..registry import register_editor

if TYPE_CHECKING:
    from ..types import Box

logger = logging.getLogger(__name__)


class BoxBaseline(BaseModel):
    """Answers with a box found without any model, in the convention that the prompt asks for.

    Args:
        name: name in the model zoo.
        unused: what VLMEvalKit's command line pushes into every entry.
    """

    INTERLEAVE = True
    is_api = False

    def __init__(self, *, name: str = "", **unused: Any) -> None:
        super().__init__()
        self.name = name or type(self).__name__

    @abstractmethod
    def box(self, images: list[Path]) -> Box:
        """The answer in pixels of the last image."""

    def generate(self, message: Any, dataset: str | None = None) -> str:
        """VLMEvalKit's entry point; never raises."""
        return self.generate_inner(message, dataset)

    def generate_inner(self, message: Any, dataset: str | None = None) -> str:
        from ..editing import failed_call_line

        try:
            return self._answer(message)
        except (ValueError, OSError, KeyError, TypeError, cv2.error) as error:
            logger.warning("%s: %s", self.name, error)
            return failed_call_line(f"{type(error).__name__}: {error}")

    def _answer(self, message: list[dict[str, str]]) -> str:
        from ..evaluation.medsg_prompt import convention_asked_in
        from ..images import read_rgb

        images = [Path(item["value"]) for item in message if item["type"] == "image"]
        prompt = next(item["value"] for item in reversed(message) if item["type"] == "text")
        width, height = read_rgb(images[-1]).size_wh
        x1, y1, x2, y2 = self.box(images)
        convention = convention_asked_in(prompt)
        if convention == "absolute":
            return f"[{x1:.0f}, {y1:.0f}, {x2:.0f}, {y2:.0f}]"
        fractions = (x1 / width, y1 / height, x2 / width, y2 / height)
        if convention == "norm1":
            return "[" + ", ".join(f"{fraction:.4f}" for fraction in fractions) + "]"
        thousandths = [round(1000 * fraction) for fraction in fractions]
        if convention == "yxyx1000":
            left, top, right, bottom = thousandths
            thousandths = [top, left, bottom, right]
        return str(thousandths)


def _pixels(path: Path) -> NDArray[np.uint8]:
    from ..images import read_rgb

    return read_rgb(path).pixels


@register_editor("Baseline-FullImage")
class FullImage(BoxBaseline):
    """The whole image."""

    def box(self, images: list[Path]) -> Box:
        from ..types import Box

        height, width = _pixels(images[-1]).shape[:2]
        return Box(0, 0, width, height)


@register_editor("Baseline-CentreBox")
class CentreBox(BoxBaseline):
    """The middle half of both sides."""

    def box(self, images: list[Path]) -> Box:
        from ..types import Box

        height, width = _pixels(images[-1]).shape[:2]
        return Box(width / 4, height / 4, 3 * width / 4, 3 * height / 4)


@register_editor("Baseline-DifferenceFinder")
class DifferenceFinder(BoxBaseline):
    """The largest spot in which two images differ, after aligning them by a translation.

    Classical image processing for the two difference tasks: phase correlation, smoothed absolute
    difference, Otsu's threshold, bounding box of the component with the largest summed difference.
    For other questions it answers like `CentreBox`.
    """

    def box(self, images: list[Path]) -> Box:
        first, second = _pixels(images[0]), _pixels(images[-1])
        if len(images) != 2 or first.shape != second.shape:
            return CentreBox().box(images)
        difference = _aligned_difference(first, second)
        return _largest_spot(difference)


def _aligned_difference(first: NDArray[np.uint8], second: NDArray[np.uint8]) -> NDArray[np.uint8]:
    """Where `second` differs from `first`, in the frame of `second`; (H, W) uint8."""
    from ..metrics import estimated_shift

    height, width = first.shape[:2]
    nowhere = np.zeros((height, width), np.uint8)
    shift = estimated_shift(first, second, nowhere)
    moved = np.array([[1, 0, shift.dx], [0, 1, shift.dy]], dtype=np.float64)
    aligned = cv2.warpAffine(first, moved, (width, height), borderMode=cv2.BORDER_REPLICATE)
    smooth = cv2.GaussianBlur(cv2.absdiff(aligned, second), (0, 0), max(1.0, width / 170))
    strongest: NDArray[np.uint8] = smooth.max(axis=2)
    margin = int(np.ceil(max(abs(shift.dx), abs(shift.dy))))
    if margin:
        strongest[:margin], strongest[-margin:] = 0, 0
        strongest[:, :margin], strongest[:, -margin:] = 0, 0
    return strongest


def _largest_spot(difference: NDArray[np.uint8]) -> Box:
    from ..types import Box

    height, width = difference.shape
    _, spots = cv2.threshold(difference, 0, 255, cv2.THRESH_BINARY + cv2.THRESH_OTSU)
    n_spots, labels, boxes, _ = cv2.connectedComponentsWithStats(spots)
    if n_spots < 2:
        return Box(0, 0, width, height)
    weights = np.bincount(labels.ravel(), weights=difference.ravel().astype(np.float64))
    x, y, box_width, box_height, _ = boxes[1 + int(np.argmax(weights[1:]))]
    return Box(float(x), float(y), float(x + box_width), float(y + box_height))
