"""The published scoring rules of MedSG-Bench.

MedSG-Bench: A Benchmark for Medical Image Sequences Grounding, arXiv 2505.11852. The rules follow
the released evaluation, ``eval/utils.py`` (``extract_bbox_strong``, ``extract_bbox_old``,
``calculate_iou``) of MedSG-Bench at commit 046a9fa.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from ..parsing.plain_text import reply_text

PublishedBox = list[float]

_COMMAS = ",，"
_BLANKS = re.compile(r"\s*")
_NUMBER = re.compile(r"(\d+)(\.?)(\d*)")
_DIGITS_AND_DOTS = re.compile(r"[\d.]+")
_GAP = re.compile(rf"[ {_COMMAS}]+")

_INTEGER = r"(\d+)"
_FRACTION = r"(\d+\.\d+)"
_SCALED_FORMS = tuple(
    re.compile(form)
    for form in (
        rf"\({_INTEGER},\s*{_INTEGER}\),\s*\({_INTEGER},\s*{_INTEGER}\)",
        r"\[" + r",\s*".join([_FRACTION] * 4) + r"\]",
        rf"\({_FRACTION},{_FRACTION}\),\({_FRACTION},{_FRACTION}\)",
        r"\(" + r",\s*".join([_FRACTION] * 4) + r"\)",
        r"\[" + r",\s*".join([_INTEGER] * 4) + r"\]",
        r"<box>" + r"\s+".join([_INTEGER] * 4) + r"</box>",
    )
)


def pixel_boxes(reply: object) -> list[PublishedBox]:
    """The boxes that the pixel parser reads, in the order in which it scores them.

    This is the parser of Qwen2.5-VL and MedSeq-Grounder; numbers are pixels of the image as given.

    Args:
        reply: the model's text; None and NaN are an empty reply.

    Returns:
        Boxes of four numbers; none where the published parser gives four zeros, which score 0 too.

    Notes:
        It looks for "number comma number, number comma number" with optional round brackets and an
        optional comma in between, without signs; only if there is none, for four signed numbers
        parted by blanks and commas. A number may be split between the second and the third place:
        "12, 14, 16" holds the box 12, 1, 4, 16. We scan for commas instead of searching by one
        expression, so that time stays linear in the length of the reply; the boxes are the same.
    """
    text = reply_text(reply)
    return list(_paired_boxes(text)) or list(_signed_boxes(text))


def scaled_boxes(reply: object, size_wh: tuple[float, float]) -> list[PublishedBox]:
    """The boxes that the scaled parser reads, in pixels, in the order in which it scores them.

    This is the parser of all other model families. A box with a number above 1 is taken as
    thousandths of the frame, any other one as fractions of it.

    Args:
        reply: the model's text; None and NaN are an empty reply.
        size_wh: width and height of the frame. The released script takes the row's size for
            multi-view samples and (336, 336) for all others.

    Returns:
        Boxes of four numbers, none where nothing was found.

    Notes:
        Of six written forms the first that occurs counts: pairs of integers in round brackets,
        [f, f, f, f], (f,f),(f,f), (f, f, f, f), [i, i, i, i] and ``<box>i i i i</box>``.
    """
    text = reply_text(reply)
    found = next(filter(None, (form.findall(text) for form in _SCALED_FORMS)), [])
    return [_in_frame([float(number) for number in numbers], size_wh) for numbers in found]


def iou(truth: Sequence[float], boxes: Sequence[Sequence[float]]) -> float:
    """Intersection over union of the truth and the first of `boxes`, as published.

    Args:
        truth: x1, y1, x2, y2 in pixels.
        boxes: what a parser returned; only the first box counts.

    Returns:
        A fraction in [0, 1] for a truth of positive area, higher is better. 0.0 without a box, for
        a box of fewer than four numbers and for an inverted one: coordinates are continuous, and
        nothing is clipped or put in order.

    Notes:
        Where truth and box both have no area, the released code divides by zero; we give 0.0.
    """
    if not boxes or len(boxes[0]) < 4:
        return 0.0
    box = boxes[0]
    left, top = max(truth[0], box[0]), max(truth[1], box[1])
    right, bottom = min(truth[2], box[2]), min(truth[3], box[3])
    if right < left or bottom < top:
        return 0.0
    shared = (right - left) * (bottom - top)
    truth_area = (truth[2] - truth[0]) * (truth[3] - truth[1])
    box_area = (box[2] - box[0]) * (box[3] - box[1])
    union = truth_area + box_area - shared
    return float(shared / union) if union else 0.0


def _in_frame(numbers: list[float], size_wh: tuple[float, float]) -> PublishedBox:
    sides = (*size_wh, *size_wh)
    if max(numbers) > 1:
        return [number / 1000 * side for number, side in zip(numbers, sides, strict=True)]
    return [number * side for number, side in zip(numbers, sides, strict=True)]


def _paired_boxes(text: str) -> Iterator[PublishedBox]:
    position = 0
    while run := _DIGITS_AND_DOTS.search(text, position):
        position = run.end()
        first = _last_number(run[0])
        after_comma = _behind_comma(text, run.end())
        if not first or after_comma is None:
            continue
        rest = _rest_of_pair(text, after_comma)
        if rest is not None:
            numbers, position = rest
            yield [float(number) for number in (first, *numbers)]


def _rest_of_pair(text: str, start: int) -> tuple[tuple[str, str, str], int] | None:
    """The second to fourth number of a box, and where the fourth ends."""
    second = _NUMBER.match(text, start)
    if second is None:
        return None
    third = _NUMBER.match(text, _behind_middle(text, second.end()))
    fourth = _number_behind_comma(text, third.end()) if third else None
    if third and fourth:
        return (second[0], third[0], fourth[0]), fourth.end()
    return _split_second(text, second)


def _split_second(text: str, second: re.Match[str]) -> tuple[tuple[str, str, str], int] | None:
    """The box in which the last digit of the second number begins the third."""
    whole, fraction = second[1], second[3]
    cuts = [second.end() - 1] if fraction else []
    cuts += [second.start() + len(whole) - 1] if len(whole) > 1 else []
    for cut in cuts:
        third = _NUMBER.match(text, cut)
        fourth = _number_behind_comma(text, third.end()) if third else None
        if third and fourth:
            return (text[second.start() : cut], third[0], fourth[0]), fourth.end()
    return None


def _signed_boxes(text: str) -> Iterator[PublishedBox]:
    position = 0
    while run := _DIGITS_AND_DOTS.search(text, position):
        first = _last_number(run[0])
        start = run.end() - len(first)
        has_sign = start > position and text[start - 1] == "-"
        numbers, end = [f"-{first}" if has_sign else first], run.end()
        while first and len(numbers) < 4:
            following = _signed_number_behind_gap(text, end)
            if following is None:
                break
            number, end = following
            numbers.append(number)
        is_box = len(numbers) == 4
        position = end if is_box else run.end()
        if is_box:
            yield [float(number) for number in numbers]


def _signed_number_behind_gap(text: str, position: int) -> tuple[str, int] | None:
    gap = _GAP.match(text, position)
    if gap is None:
        return None
    sign = "-" if text.startswith("-", gap.end()) else ""
    number = _NUMBER.match(text, gap.end() + len(sign))
    return (sign + number[0], number.end()) if number else None


def _last_number(run: str) -> str:
    """The longest "digits, dot, digits" with which a run of digits and dots ends."""
    head, _, tail = run.rpartition(".")
    if "." not in run:
        return run
    digits = head.rpartition(".")[2]
    return f"{digits}.{tail}" if digits else tail


def _behind_comma(text: str, position: int) -> int | None:
    comma = _behind_blanks(text, position)
    if comma == len(text) or text[comma] not in _COMMAS:
        return None
    return _behind_blanks(text, comma + 1)


def _number_behind_comma(text: str, position: int) -> re.Match[str] | None:
    start = _behind_comma(text, position)
    return None if start is None else _NUMBER.match(text, start)


def _behind_middle(text: str, position: int) -> int:
    """The place behind what may stand between two pairs: a bracket, a comma, a bracket."""
    for signs in (")", _COMMAS, "("):
        position = _behind_blanks(text, position)
        if position < len(text) and text[position] in signs:
            position += 1
    return _behind_blanks(text, position)


def _behind_blanks(text: str, position: int) -> int:
    blanks = _BLANKS.match(text, position)
    return blanks.end() if blanks else position
