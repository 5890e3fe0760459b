"""How the cells of a MedQ-Bench row are read: options, answer, question type, metadata."""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase

from .medq_columns import option_columns

_GRADES = frozenset(
    {
        *("good", "usable", "reject", "acceptable", "unacceptable", "unusable"),
        *("excellent", "fair", "poor", "bad", "high", "medium", "low"),
        *("none", "no", "slight", "minimal", "mild", "moderate", "severe", "significant"),
    }
)
"""Words that grade quality or how strong something is; ``Good``, ``Usable``, ``Reject`` are those
of the published figure."""
_GRADE_FILLERS = frozenset({"quality", "image", "degradation", "artifact", "artifacts"})

_TYPE_NAMES = {"yesorno": "Yes-or-No", "yesno": "Yes-or-No", "what": "What", "how": "How"}
_STEMS = {"what": "What", "which": "What", "how": "How"}
_SCOPES = {
    "general": "general",
    "modalityspecific": "modality-specific",
    "specific": "modality-specific",
}
_DIFFICULTIES = {
    "coarse": "coarse-grained",
    "coarsegrained": "coarse-grained",
    "fine": "fine-grained",
    "finegrained": "fine-grained",
}
_WHOLE_NUMBER = re.compile(r"(\d+)(?:\.0*)?")


def whole_number(text: str) -> int | None:
    """The number that a text such as ``12`` or, after pandas, ``12.0`` holds; not negative."""
    found = _WHOLE_NUMBER.fullmatch(text.strip())
    return int(found[1]) if found else None


def read_options(fields: Mapping[str, str]) -> dict[str, str]:
    """Letter to text for every option of a row, in the order of letters, as written."""
    return {
        letter: fields[column]
        for letter, column in option_columns(fields).items()
        if fields[column].strip()
    }


def read_choice_answer(cell: str, options: Mapping[str, str]) -> tuple[str | None, str]:
    """The right letter of a row and what is wrong with it.

    Args:
        cell: A letter in either case, or the position of the option counted from 0, also as
            pandas writes it beside an empty cell (``2.0``).
        options: Letter to text of the row.
    """
    text = cell.strip()
    if not text:
        return None, "answer missing"
    position = whole_number(text)
    if position is not None:
        letter = ascii_uppercase[position] if position < len(ascii_uppercase) else ""
    elif re.fullmatch(r"[A-Za-z]", text):
        letter = text.upper()
    else:
        return None, "answer unreadable"
    return (letter, "") if letter in options else (None, "answer not among the options")


def type_named(cell: str) -> str:
    """The question type that a cell names in any spelling, empty when it names none."""
    letters = _letters(cell)
    return _TYPE_NAMES.get(re.sub(r"(questions?|types?)$", "", letters), "")


def type_derived(question: str, options: Mapping[str, str]) -> str:
    """The question type told by the options and the first word of the question, else empty.

    Options that are exactly yes and no come first, then ``What`` or ``Which``, then ``How`` or
    options that are all grades.
    """
    words = [_letters(text) for text in options.values()]
    if sorted(words) == ["no", "yes"]:
        return "Yes-or-No"
    first = re.match(r"\W*([^\W\d_]+)", question)
    stem = _STEMS.get(first[1].lower(), "") if first else ""
    if stem:
        return stem
    return "How" if options and all(map(_is_grade, options.values())) else ""


def _is_grade(text: str) -> bool:
    words = set(re.findall(r"[a-z]+", text.lower())) - _GRADE_FILLERS
    return bool(words) and words <= _GRADES


def read_level(cell: str) -> str:
    """How strong a degradation is: ``none``, ``mild``, ``severe``, ``L0`` … in one spelling.

    Anything else is kept as written.
    """
    text = cell.strip()
    if text.lower() in ("none", "mild", "severe"):
        return text.lower()
    return text.upper() if re.fullmatch(r"[lL][0-2]", text) else text


def read_scope(cell: str) -> str:
    """``general`` or ``modality-specific`` in one spelling; anything else as written."""
    return _SCOPES.get(_letters(cell), cell.strip())


def read_difficulty(cell: str) -> str:
    """``coarse-grained`` or ``fine-grained`` in one spelling; anything else as written."""
    return _DIFFICULTIES.get(_letters(cell), cell.strip())


def _letters(text: str) -> str:
    return re.sub(r"[\W\d_]+", "", text).lower()
