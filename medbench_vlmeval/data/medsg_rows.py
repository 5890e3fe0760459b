"""What the readers of both MedSG-Bench layouts hand over, and how the fields of a row are read."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..types import Box
from .medsg_tasks import OFFICIAL_SIZE_WH, ROWS_PER_TASK, MedSGTask
from .releases import SourceImage

Size = tuple[int, int]

_ORDINALS = ("first", "second", "third", "fourth", "fifth", "sixth")
_NAMED_IMAGE = re.compile(
    rf"\b({'|'.join(_ORDINALS)})\s+(?:image|frame|picture)\b|\bimage[\s-]?([1-9])\b", re.IGNORECASE
)
_REFERENCE_BOX = re.compile(
    r"<\|box_start\|>\s*\((\d+),\s*(\d+)\),\s*\((\d+),\s*(\d+)\)\s*<\|box_end\|>"
)


@dataclass(frozen=True)
class MedSGRow:
    """One row of a release; `images` are in the order of the row, `None` where one is not there."""

    task: MedSGTask
    number: int
    """Counted from 0 within the task; rows have no other id."""
    fields: Mapping[str, Any]
    """``question``, ``answer``, ``size``, ``additional_info``, ``need_format`` as published."""
    images: tuple[SourceImage | None, ...]
    image_names: tuple[str, ...]
    problems: tuple[str, ...] = ()
    mask_file: SourceImage | None = None
    """The file that a ``mask`` field names; run lengths stand in the field itself."""

    @property
    def key(self) -> str:
        return f"{self.task.key}-{self.number:04d}"

    @property
    def index(self) -> int:
        if self.number >= ROWS_PER_TASK:
            raise ValueError(
                f"expected fewer than {ROWS_PER_TASK} rows of {self.task.key}, got more; "
                "the release holds rows that do not belong"
            )
        return self.task.number * ROWS_PER_TASK + self.number


@dataclass(frozen=True)
class MedSGRelease:
    """A release as found on disk; `rows` may be read once only."""

    source: str
    """Address or folder."""
    layout: str
    """``official``, ``parquet`` or ``generated``."""
    count: int
    rows: Iterable[MedSGRow]
    revision: str | None = None
    is_published: bool = True
    """Whether the published counts are what it should hold."""
    warnings: tuple[str, ...] = field(default=())


def read_answer(value: Any) -> Box | None:
    """The answer as a box in the published order (x1, y1, x2, y2) and units (pixels).

    A list of four finite numbers, or the JSON text of one; nothing is reordered or clipped. `None`
    for anything else.
    """
    numbers = numbers_in(value)
    return Box(*numbers) if numbers is not None and len(numbers) == 4 else None


def read_size(value: Any) -> Size | None:
    """The ``size`` field as (width, height), or `None` when it is no pair of whole numbers >= 1."""
    numbers = numbers_in(value)
    if numbers is None or len(numbers) != 2:
        return None
    width, height = numbers
    if width < 1 or height < 1 or width % 1 or height % 1:
        return None
    return int(width), int(height)


def numbers_in(value: Any) -> list[float] | None:
    """The finite numbers of a list, or of the JSON text of one; `None` for anything else."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except ValueError:
            return None
    if not isinstance(value, (list, tuple)) or not all(map(_is_finite_number, value)):
        return None
    return [float(number) for number in value]


def _is_finite_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def reference_box(question: str) -> Box | None:
    """The box that the question gives for the first image, in pixels, or `None` without one."""
    found = _REFERENCE_BOX.search(question)
    return Box(*map(float, found.groups())) if found else None


def target_of(task: MedSGTask, question: str, additional_info: str) -> tuple[int | None, str]:
    """Which image the answer box lies in, counted from 0, and what says so.

    The second value is ``task`` (always the same image), ``question`` or ``additional_info`` (the
    last image named there), or empty when nothing names it; then the first is `None`.
    """
    if task.target in ("first", "second"):
        return _ORDINALS.index(task.target), "task"
    texts = {"question": question, "additional_info": additional_info}
    if task.target == "unnamed":
        del texts["question"]
    for source, text in texts.items():
        named = _last_named_image(text)
        if named is not None:
            return named, source
    return None, ""


def _last_named_image(text: str) -> int | None:
    found = list(_NAMED_IMAGE.finditer(text))
    if not found:
        return None
    ordinal, digit = found[-1].groups()
    return int(digit) - 1 if digit else _ORDINALS.index(ordinal.lower())


def text_of(value: Any) -> str:
    """A text field as published; empty for null."""
    return "" if value is None else str(value)


def answer_problems(
    task: MedSGTask, answer: Any, size: Any, image_size_wh: Size | None
) -> list[str]:
    """What is wrong with a row's answer and size, seen beside the image that the box lies in."""
    problems: list[str] = []
    truth, declared_wh = read_answer(answer), read_size(size)
    if truth is None:
        problems.append("answer is no box")
    elif truth.x2 <= truth.x1 or truth.y2 <= truth.y1:
        problems.append("answer has no area")
    if size is not None and declared_wh is None:
        problems.append("size is no width and height")
    if task.key == "multi_view" and size is None:
        problems.append("size absent")
    if image_size_wh is None:
        return problems
    if declared_wh is not None and declared_wh != image_size_wh:
        problems.append("size is not that of the image")
    if task.key != "multi_view" and image_size_wh != OFFICIAL_SIZE_WH:
        problems.append("image is not 336 x 336")
    if truth is not None and _leaves(truth, image_size_wh):
        problems.append("answer leaves the image")
    return problems


def _leaves(box: Box, size_wh: Sequence[int]) -> bool:
    return min(box) < 0 or max(box.x1, box.x2) > size_wh[0] or max(box.y1, box.y2) > size_wh[1]
