"""A rater's blinded sheet: items in an order of their own, as a form and as a table to fill in."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from ..files import write_bytes_atomic, write_text_atomic
from .cells import CANNOT_JUDGE, COMMENT, cells_sha256, csv_bytes
from .form import form_html
from .key import KeyItem
from .rubrics import EDITS, Rubric
from .subjects import Subject

FORM_NAME, TABLE_NAME, NOTES_NAME = "form.html", "sheet.csv", "how_to_rate.txt"
IMAGES_NAME = "images"

ROLE_TITLES: Mapping[str, str] = {
    "previous": "Before the edit",
    "reference": "A real result",
    "image": "The image",
    "first": "First image",
    "second": "Second image",
}


@dataclass(frozen=True)
class SheetItem:
    """One answer to rate."""

    number: int
    subject: int
    """Position among the subjects."""
    answer: int
    """Position among the answers of the subject; with that it stays out of what raters get."""
    cells: Mapping[str, str]
    """Column to what stands in it, as far as the rater does not fill it in."""


@dataclass(frozen=True)
class SheetSample:
    """One sample with its answers, in this rater's order."""

    number: int
    subject: int
    items: tuple[SheetItem, ...]


@dataclass(frozen=True)
class Sheet:
    """What one rater gets."""

    name: str
    rater: str
    rubric: Rubric
    samples: tuple[SheetSample, ...]

    @property
    def items(self) -> list[SheetItem]:
        return [item for sample in self.samples for item in sample.items]

    @property
    def fixed_columns(self) -> list[str]:
        """Columns of the table that a rater does not fill in."""
        return list(self.items[0].cells)

    @property
    def header(self) -> list[str]:
        """Columns of the table."""
        return [*self.fixed_columns, *self.rubric.names, CANNOT_JUDGE, COMMENT]

    def key_items(self, first_answer: Sequence[int]) -> list[KeyItem]:
        """What the key says of every item; `first_answer` is where each subject's answers begin."""
        return [
            KeyItem(item.number, first_answer[item.subject] + item.answer, cells_sha256(item.cells))
            for item in self.items
        ]


def sheet_for(
    name: str, rater: str, rubric: Rubric, subjects: Sequence[Subject], order: str
) -> Sheet:
    """The sheet of one rater: samples in random order, and the answers to each in random order.

    The same `order` and rater give the same sheet.
    """
    random = Random(f"{order} rater {rater}")
    samples: list[SheetSample] = []
    n_items = 0
    for number, position in enumerate(random.sample(range(len(subjects)), len(subjects)), start=1):
        subject = subjects[position]
        n_answers = len(subject.answers)
        items = []
        for answer in random.sample(range(n_answers), n_answers):
            n_items += 1
            cells = {"sheet": name, "rater": rater, "item": str(n_items), "sample": str(number)}
            cells |= _shown_cells(subject, answer, number, n_items)
            items.append(SheetItem(n_items, position, answer, cells))
        samples.append(SheetSample(number, position, tuple(items)))
    return Sheet(name, rater, rubric, tuple(samples))


def _shown_cells(subject: Subject, answer: int, sample: int, item: int) -> dict[str, str]:
    files = {role: sample_file(sample, role) for role in subject.images}
    given = subject.answers[answer]
    last = {"edited": item_file(item)} if given.image else {"text": given.text}
    return {**subject.texts, **files, **last}


def sample_file(sample: int, role: str) -> str:
    """Where an image of a sample lies in a rater's folder."""
    return f"{IMAGES_NAME}/sample_{sample:03d}_{role}.png"


def item_file(item: int) -> str:
    """Where an item's edited image lies in a rater's folder."""
    return f"{IMAGES_NAME}/item_{item:04d}.png"


def write_sheet(folder: Path, sheet: Sheet, subjects: Sequence[Subject], delimiter: str) -> None:
    """Write what one rater gets: form, table, notes and images."""
    (folder / IMAGES_NAME).mkdir(parents=True)
    for sample in sheet.samples:
        subject = subjects[sample.subject]
        for role, pooled in subject.images.items():
            shutil.copyfile(pooled, folder / sample_file(sample.number, role))
        for item in sample.items:
            image = subject.answers[item.answer].image
            if image is not None:
                shutil.copyfile(image, folder / item_file(item.number))
    blank = [""] * (len(sheet.rubric.dimensions) + 2)
    rows = [[*item.cells.values(), *blank] for item in sheet.items]
    write_bytes_atomic(folder / TABLE_NAME, csv_bytes(sheet.header, rows, delimiter))
    write_text_atomic(folder / NOTES_NAME, notes(sheet))
    write_text_atomic(folder / FORM_NAME, form_html(sheet, ROLE_TITLES, judge_words(sheet)))


def notes(sheet: Sheet) -> str:
    """How to rate, for those who fill in the table."""
    rubric = sheet.rubric
    lines = [
        f"Sheet {sheet.name}, rater {sheet.rater}: {len(sheet.items)} items, "
        f"{len(sheet.samples)} samples.",
        "",
        rubric.task,
        judge_words(sheet),
        "",
        f"Open {FORM_NAME} in a browser, or fill in {TABLE_NAME} (save it as CSV UTF-8).",
        "Higher is better.",
        "",
        *(f"{it.name} ({it.label}), {it.scale}: {it.question}" for it in rubric.dimensions),
        "",
        f"{CANNOT_JUDGE}: x where an item cannot be judged; leave its ratings empty then.",
        f"{COMMENT}: whatever should be known.",
        "",
    ]
    return "\n".join(lines)


def judge_words(sheet: Sheet) -> str:
    """What a rater is told about what the judge sees."""
    if sheet.rubric is EDITS and "reference" not in sheet.items[0].cells:
        return "The automated judge is also shown a picture of a real result; you are not."
    return sheet.rubric.judge_sees
