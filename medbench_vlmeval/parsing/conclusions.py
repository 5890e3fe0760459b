"""Reading the conclusion of a description: the grade of an image, or the better of two."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, NamedTuple

from ..types import Status
from .choice_opening import opened
from .choice_text import choice_text
from .conclusion_words import (
    GRADED,
    IS_BETTER,
    LABELLED_GRADE,
    LABELLED_IMAGE,
    LEADS,
    PREFERRED,
    QUALITY_IS_BETTER,
    RATED,
    SHOWN_GRADE,
    TIED,
    WHICH_IS_BETTER,
)
from .refusals import is_refusal

Grade = Literal["good", "usable", "reject"]
Preference = Literal["first", "second"]

_GRADES: dict[str, Grade] = {"good": "good", "usable": "usable", "reject": "reject"}
_WORD_BEFORE = re.compile(r"([^\W_]+)[ \t\"'“(\[]{0,4}\Z")
_DENIED = re.compile(r"\b(?:not|doubt|\w+n't)\b[^.!?;,\n]*\Z", re.IGNORECASE)
_THINKING = frozenset({"think", "believe", "say", "that", "feel", "conclude", "find"})
_LOOK_BACK = 40


@dataclass(frozen=True)
class GradeReading:
    """The grade a description of one image concludes with, or why there is none."""

    grade: Grade | None
    status: Status


@dataclass(frozen=True)
class PreferenceReading:
    """The image a comparison of two concludes to be the better one, or why there is none."""

    image: Preference | None
    status: Status


class _Conclusion(NamedTuple):
    place: int
    value: str | None
    """None where the sentence concludes, but for no single one."""


def read_quality_grade(text: object) -> GradeReading:
    """The grade that the last conclusion of a description names: good, usable or reject.

    A conclusion is a sentence about the image or its quality ("the quality of this image is
    usable", "I would grade it as reject", "Overall: good"). "Good contrast", "not good" and "good
    enough" are none; two grades in one conclusion ("good to usable") give nothing. Other words for
    a grade are not guessed. Case, markup, brackets and quotation marks do not matter.

    Args:
        text: the model's description; None, NaN and blank text are missing.

    Returns:
        The grade with status ANSWER. Without one the status is MISSING, API_FAIL, TRUNCATED,
        REFUSAL or UNPARSED.

    Notes:
        MedQ-Bench asks descriptions to close with "Overall, the quality of this image is
        good|usable|reject", so its quality accuracy can be cross-checked without a judge. Time is
        linear in the length of the text.
    """
    reply, status = opened(text)
    if status is not None:
        return GradeReading(None, status)
    grade = _last(_grades(choice_text(reply)))
    if grade is None:
        return GradeReading(None, _status_without(reply))
    return GradeReading(_GRADES[grade], Status.ANSWER)


def read_preferred_image(text: object) -> PreferenceReading:
    """The image that the last conclusion of a comparison calls the better one.

    "The first image is of higher quality", "image 1 has lower quality than image 2", "the better
    image is the latter". Only the first and second image, image 1 and 2, the former and the latter
    are read: letters, left and right need not follow the order in which the images were sent. A
    better contrast is no better image. Where the last conclusion calls both alike, nothing is read.

    Args:
        text: the model's comparison; None, NaN and blank text are missing.

    Returns:
        The image with status ANSWER. Without one the status is MISSING, API_FAIL, TRUNCATED,
        REFUSAL or UNPARSED.

    Notes:
        MedQ-Bench's references close with "Overall, the first|second image is of higher quality"
        or "provides higher visual quality". Time is linear in the length of the text.
    """
    reply, status = opened(text)
    if status is not None:
        return PreferenceReading(None, status)
    image = _last(_preferences(choice_text(reply)))
    if image is None:
        return PreferenceReading(None, _status_without(reply))
    return PreferenceReading("first" if image == "first" else "second", Status.ANSWER)


def _status_without(reply: str) -> Status:
    return Status.REFUSAL if is_refusal(reply) else Status.UNPARSED


def _last(conclusions: list[_Conclusion]) -> str | None:
    return max(conclusions, key=lambda it: it.place).value if conclusions else None


def _grades(text: str) -> list[_Conclusion]:
    found = []
    for pattern in (GRADED, RATED, LABELLED_GRADE, SHOWN_GRADE):
        for match in pattern.finditer(text):
            if _leads(text, match.start()):
                found.append(_graded(match))
    return found


def _graded(match: re.Match[str]) -> _Conclusion:
    groups = match.groupdict()
    grades = {
        grade.lower().removesuffix("ed")
        for name in ("grade", "other", "alone")
        if (grade := groups.get(name))
    }
    return _Conclusion(match.end(), grades.pop() if len(grades) == 1 else None)


def _preferences(text: str) -> list[_Conclusion]:
    found = []
    for pattern in (IS_BETTER, QUALITY_IS_BETTER, WHICH_IS_BETTER, PREFERRED, LABELLED_IMAGE):
        for match in pattern.finditer(text):
            if _leads(text, match.start()):
                found.append(_Conclusion(match.start(), _preferred(match)))
    found += [_Conclusion(match.start(), None) for match in TIED.finditer(text)]
    return found


def _preferred(match: re.Match[str]) -> str:
    named = {name.rstrip("_") for name, group in match.groupdict().items() if group is not None}
    return "second" if ("first" in named) is ("worse" in named) else "first"


def _leads(text: str, start: int) -> bool:
    """Whether a conclusion can begin at `start`: it is no part of another phrase."""
    clause = text[max(0, start - _LOOK_BACK) : start]
    before = _WORD_BEFORE.search(clause)
    if before is None:
        return True
    word = before[1].lower()
    return word in LEADS and not (word in _THINKING and _DENIED.search(clause))
