"""Boxes inside a MedSG-Bench question, written as the model family that is asked writes boxes."""

from __future__ import annotations

import re

from .conventions import Convention

_POINT = r"\((\d+),(\d+)\)"
_BOX = re.compile(rf"{_POINT},{_POINT}")
_BRACKETED = re.compile(rf"\((?:<box>|<\|box_start\|>){_POINT},{_POINT}(?:</box>|<\|box_end\|>)\)")
_PLAIN_TOKENS = {
    "<|box_start|>": "<box>",
    "<|box_end|>": "</box>",
    "<|object_ref_start|>": "<ref>",
    "<|object_ref_end|>": "</ref>",
}

SizeWH = tuple[float, float]


def question_for(
    question: str,
    convention: Convention,
    *,
    size_wh: SizeWH,
    sent_size_wh: SizeWH | None = None,
) -> str:
    """`question` as the model is asked it: reference boxes rewritten, prompt suffix added.

    Args:
        question: the data set's text; its boxes are pixels, ``(x1,y1),(x2,y2)``.
        convention: of the model, see `medbench_vlmeval.conventions.convention_for`.
        size_wh: width and height of the first image, to which reference boxes belong.
        sent_size_wh: width and height at which that image is sent, if it is resized on the way;
            pixels are then pixels of what the model sees.

    Returns:
        Thousandths are rounded to integers and fractions to four places. A family to which no box
        is shown loses it together with the brackets around it.

    Notes:
        Follows the ``*_process`` functions of the released ``eval/MedSG_Bench.py`` at 046a9fa. They
        do not know resized images; without `sent_size_wh` the texts are the same.
    """
    if not convention.keeps_tokens:
        for token, tag in _PLAIN_TOKENS.items():
            question = question.replace(token, tag)
    if convention.reference_box_form == "removed":
        return _BRACKETED.sub("", question) + convention.prompt_suffix

    def rewritten(match: re.Match[str]) -> str:
        x1, y1, x2, y2 = map(int, match.groups())
        return _written(convention, (x1, y1, x2, y2), size_wh, sent_size_wh or size_wh)

    return _BOX.sub(rewritten, question) + convention.prompt_suffix


def _written(
    convention: Convention, box: tuple[int, int, int, int], size_wh: SizeWH, sent_wh: SizeWH
) -> str:
    x1, y1, x2, y2 = (side / size_wh[place % 2] for place, side in enumerate(box))
    if convention.reference_box_form == "norm1":
        return f"[{round(x1, 4)},{round(y1, 4)},{round(x2, 4)},{round(y2, 4)}]"
    if convention.reference_box_form == "absolute":
        width, height = sent_wh
        a, b, c, d = map(round, (x1 * width, y1 * height, x2 * width, y2 * height))
        return f"({a},{b}),({c},{d})"
    a, b, c, d = (round(side * 1000) for side in (x1, y1, x2, y2))
    if convention.reference_box_form == "yxyx1000":
        a, b, c, d = b, a, d, c
    return f"[{a},{b},{c},{d}]"
