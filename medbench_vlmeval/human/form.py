"""The form for raters: one HTML file that needs no network and keeps what was entered."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..report.html_text import content_policy, templates
from .cells import CANNOT_JUDGE, COMMENT
from .rubrics import EDITS

if TYPE_CHECKING:
    from .sheets import Sheet

_HERE = Path(__file__).parent
_TEXT_TITLES = {
    "instruction": "Instruction",
    "description": "The change, in full",
    "question": "What the model was asked",
    "reference": "Reference text",
}


def form_html(sheet: Sheet, role_titles: Mapping[str, str], judge_words: str) -> str:
    """The form of one sheet, with titles for its images and words about what the judge sees.

    All texts of data and models are escaped. The policy in its head lets it run its own script and
    style and show images beside it, and nothing else.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    style, script = (_source(name) for name in ("form.css", "form.js"))
    return str(
        templates(_source)
        .get_template("form.html")
        .render(
            sheet=sheet,
            samples=[_sample(sheet, number, role_titles) for number in range(len(sheet.samples))],
            dimensions=sheet.rubric.dimensions,
            header=json.dumps(sheet.header),
            cannot_judge=CANNOT_JUDGE,
            comment=COMMENT,
            judge_words=judge_words,
            style=style,
            script=script,
            policy=content_policy([script], [style]),
        )
    )


def _sample(sheet: Sheet, number: int, role_titles: Mapping[str, str]) -> dict[str, Any]:
    sample = sheet.samples[number]
    cells = sample.items[0].cells
    is_edit = sheet.rubric is EDITS
    texts = [
        (name, title, cells[name])
        for name, title in _TEXT_TITLES.items()
        if cells.get(name) and not (is_edit and name == "reference")
    ]
    images = [
        (title, cells[role])
        for role, title in role_titles.items()
        if role in cells and (is_edit or role != "reference")
    ]
    return {
        "number": sample.number,
        "texts": texts,
        "images": images,
        "entries": [
            {
                "number": item.number,
                "image": item.cells.get("edited", ""),
                "text": item.cells.get("text", ""),
                "cells": json.dumps(list(item.cells.values())),
            }
            for item in sample.items
        ],
    }


def _source(name: str) -> str:
    return (_HERE / name).read_text(encoding="utf-8")
