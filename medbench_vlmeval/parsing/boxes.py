"""Reading the box a model gave, by the convention that was declared for the model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

from ..types import Box, Status
from .box_text import WrittenBox, WrittenBoxes, written_boxes
from .plain_text import reply_text
from .refusals import is_api_failure, is_refusal
from .thinking import without_thinking

CoordinateConvention = Literal["absolute", "norm1000", "norm1", "yxyx1000"]
Layout = Literal["xyxy", "xywh"]
SizeWH = tuple[float, float]

BOX_FLAGS = (
    "several_boxes",
    "inverted",
    "degenerate",
    "out_of_frame",
    "full_image",
    "truncated",
    "point",
    "text",
    "missing",
)
"""All flags a reading can carry, in the order of reports; `read_box` explains them."""

_DIVISORS = {"norm1000": 1000.0, "yxyx1000": 1000.0, "norm1": 1.0}
_TOLERANCE = 1e-6
"""Share of a side by which a coordinate may leave the frame: rounding of floats, no more."""


@dataclass(frozen=True)
class BoxReading:
    """The box of one reply, or why there is none."""

    box: Box | None
    """In pixels of the image, corners in order, not clipped."""
    flags: frozenset[str]
    """What else there is to say; see `read_box`."""
    status: Status


def read_box(
    reply: object,
    *,
    convention: CoordinateConvention,
    size_wh: SizeWH,
    sent_size_wh: SizeWH | None = None,
    layout: Layout = "xyxy",
) -> BoxReading:
    """The box a reply gives, in pixels of the image of size `size_wh`.

    The thinking part is dropped. What follows a final-answer mark wins; otherwise the first whole
    box counts. A list that breaks off, loose numbers in prose and a single point are no boxes.

    Args:
        reply: the model's text; None, NaN and blank text are a missing reply.
        convention: how this model writes coordinates. ``absolute``: pixels of the image as sent;
            ``norm1000``: thousandths of width and height; ``norm1``: fractions of them;
            ``yxyx1000``: thousandths in the order y, x, y, x. It is never guessed from the numbers.
        size_wh: width and height of the image of the data set.
        sent_size_wh: width and height of the image the model saw, if it was resized on the way;
            matters for ``absolute`` only.
        layout: ``xyxy`` for two corners, ``xywh`` for a corner and a size. Names in the reply
            ("width": 30, "x2": 40) outweigh it.

    Returns:
        The box and its flags: ``several_boxes`` (more than one whole box), ``inverted`` (corners
        were put in order), ``degenerate`` (no width or no height), ``out_of_frame`` (some of it
        lies outside), ``full_image`` (covers the frame), ``truncated`` (the text breaks off inside
        a list, an object or its thinking part), ``point`` (a point instead of a box), ``text``
        (words beside the box), ``missing``. Without a box the status says why.

    Raises:
        ValueError: an unknown convention or layout, or sides that are not positive.

    Notes:
        Out-of-frame boxes are not clipped, as the published metric of MedSG-Bench does not clip.
        Time is linear in the length of the reply.
    """
    _check(convention, layout, size_wh, sent_size_wh)
    text = reply_text(reply)
    if not text.strip():
        return BoxReading(None, frozenset({"missing"}), Status.MISSING)
    if is_api_failure(text):
        return BoxReading(None, frozenset(), Status.API_FAIL)
    text, is_cut = without_thinking(text)
    if is_cut:
        return BoxReading(None, frozenset({"truncated"}), Status.TRUNCATED)
    written = written_boxes(text)
    flags = _text_flags(written)
    numbers = written.answer and in_pixels(
        written.answer, convention, size_wh=size_wh, sent_size_wh=sent_size_wh, layout=layout
    )
    if not numbers:
        return BoxReading(None, flags, _status_without_box(text, written))
    box = ordered(numbers)
    return BoxReading(box, flags | _box_flags(numbers, box, size_wh), Status.ANSWER)


def in_pixels(
    written: WrittenBox,
    convention: CoordinateConvention,
    *,
    size_wh: SizeWH,
    sent_size_wh: SizeWH | None = None,
    layout: Layout = "xyxy",
) -> Box | None:
    """What the numbers of a written box mean under a convention.

    Args:
        written: numbers as they stand in the reply.
        convention: see `read_box`, as for the sizes and the layout.
        size_wh: width and height of the image.
        sent_size_wh: width and height of the image as sent.
        layout: order of numbers that carry no names.

    Returns:
        Pixels of the image, corners in the order written; None where they exceed a float.
    """
    a, b, c, d = written.numbers
    is_declared = written.order == "declared"
    if convention == "yxyx1000" and is_declared:
        a, b, c, d = b, a, d, c
    if (layout if is_declared else written.order) == "xywh":
        c, d = a + c, b + d
    divisors = sent_size_wh or size_wh
    if convention != "absolute":
        divisors = (_DIVISORS[convention],) * 2
    (width, height), (across, down) = size_wh, divisors
    x1, x2 = (_scaled(number, width, across) for number in (a, c))
    y1, y2 = (_scaled(number, height, down) for number in (b, d))
    box = Box(x1, y1, x2, y2)
    return box if all(map(math.isfinite, box)) else None


def ordered(box: Box) -> Box:
    """`box` with its upper left corner first."""
    (x1, x2), (y1, y2) = sorted((box.x1, box.x2)), sorted((box.y1, box.y2))
    return Box(x1, y1, x2, y2)


def _scaled(number: float, side: float, divisor: float) -> float:
    # Pixels of an image that was not resized stay what they are, to the last bit.
    return number if side == divisor else number * side / divisor


def _check(convention: str, layout: str, size_wh: SizeWH, sent_size_wh: SizeWH | None) -> None:
    if convention not in get_args(CoordinateConvention):
        names = ", ".join(get_args(CoordinateConvention))
        raise ValueError(f"expected a convention out of {names}, got {convention!r}")
    if layout not in get_args(Layout):
        raise ValueError(f"expected the layout xyxy or xywh, got {layout!r}")
    for name, size in (("size_wh", size_wh), ("sent_size_wh", sent_size_wh or size_wh)):
        if len(size) != 2 or not all(0 < side < math.inf for side in size):
            raise ValueError(f"expected {name} to be a positive width and height, got {size!r}")


def _text_flags(written: WrittenBoxes) -> frozenset[str]:
    flags = {
        "several_boxes": len(written.boxes) > 1,
        "truncated": written.is_cut,
        "point": written.has_point and not (written.boxes or written.is_cut),
        "text": written.has_words,
    }
    return frozenset(name for name, holds in flags.items() if holds)


def _box_flags(numbers: Box, box: Box, size_wh: SizeWH) -> frozenset[str]:
    width, height = size_wh
    over_x, over_y = _TOLERANCE * width, _TOLERANCE * height
    beyond_left, beyond_top = box.x1 < -over_x, box.y1 < -over_y
    flags = {
        "inverted": box != numbers,
        "degenerate": box.x1 == box.x2 or box.y1 == box.y2,
        "out_of_frame": beyond_left
        or beyond_top
        or box.x2 > width + over_x
        or box.y2 > height + over_y,
        "full_image": box.x1 <= over_x
        and box.y1 <= over_y
        and box.x2 >= width - over_x
        and box.y2 >= height - over_y,
    }
    return frozenset(name for name, holds in flags.items() if holds)


def _status_without_box(text: str, written: WrittenBoxes) -> Status:
    if is_refusal(text):
        return Status.REFUSAL
    return Status.TRUNCATED if written.is_cut else Status.UNPARSED
