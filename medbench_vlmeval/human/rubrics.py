"""What raters are asked: the dimensions and scales of the judge, in words for people.

Scales and distinctions are those of the judge's own questions (`judging.medebench` after the
released code of MedEBench, `judging.medq_wording` after arXiv 2510.01691).
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Dimension:
    """One thing that is rated, on the judge's scale; higher is better."""

    name: str
    """Column of the sheet."""
    label: str
    question: str
    """What a rater reads beside the scale."""
    grades: tuple[float, ...]
    """What the form offers, worst first."""
    column: str
    """Column of ``_scores.jsonl`` that holds the judge's verdict, as the strict reader has it."""
    grade_per_unit: float = 1.0
    """What one unit of `column` is on the scale of `grades`."""
    between: bool = False
    """Whether the judge may give numbers between the grades, and so a rater too."""
    computed: tuple[str, ...] = ()
    """Columns that mean the same and need no judge."""

    @property
    def scale(self) -> str:
        """The scale in words, as errors name it."""
        if self.between:
            return f"a number from {self.grades[0]:g} to {self.grades[-1]:g}"
        *most, last = (f"{grade:g}" for grade in self.grades)
        return f"{', '.join(most)} or {last}"

    @property
    def step(self) -> float:
        """The smallest distance between two grades."""
        return min(b - a for a, b in zip(self.grades, self.grades[1:], strict=False))

    def allows(self, grade: float) -> bool:
        """Whether a number is on the scale."""
        if self.between:
            return self.grades[0] <= grade <= self.grades[-1]
        return grade in self.grades


@dataclass(frozen=True)
class Rubric:
    """What is rated of one kind of sample, and what a rater has to know beforehand."""

    name: str
    task: str
    judge_sees: str
    dimensions: tuple[Dimension, ...]
    strata: tuple[str, ...]
    """Groups that samples are drawn from in turn, the widest first."""

    @property
    def names(self) -> tuple[str, ...]:
        """The rated columns of a sheet."""
        return tuple(dimension.name for dimension in self.dimensions)


_TENTHS = tuple(float(grade) for grade in range(11))
_POINTS = (0.0, 1.0, 2.0)

EDITS = Rubric(
    name="edits",
    task="An editing model was given a medical picture and an instruction. Rate how well the "
    "edited picture carries it out.",
    judge_sees="The automated judge is shown the same pictures, the one of a real result included. "
    "That one may be a different photograph: do not ask for identical pixels.",
    dimensions=(
        Dimension(
            "EA",
            "Editing accuracy",
            "Is exactly the change made that was asked for? Deduct for what is wrong and for what "
            "is missing.",
            _TENTHS,
            "EA_strict",
            10.0,
            between=True,
        ),
        Dimension(
            "CP",
            "Contextual preservation",
            "Is everything outside the region to be changed untouched? Deduct for every unintended "
            "change.",
            _TENTHS,
            "CP_judged",
            10.0,
            between=True,
            computed=("CP", "CP_strict", "PSNR_outside"),
        ),
        Dimension(
            "VQ",
            "Visual quality",
            "Is the picture clear, sharp, free of artefacts, natural, and of one piece with the "
            "edited region?",
            _TENTHS,
            "VQ_strict",
            10.0,
            between=True,
        ),
    ),
    strata=("organ", "task"),
)

_COMPLETENESS = Dimension(
    "completeness",
    "Completeness",
    "How much of the reference comes back in the text? 2: all but something negligible, 1: a part, "
    "0: nothing.",
    _POINTS,
    "completeness_strict",
)
_PRECISENESS = Dimension(
    "preciseness",
    "Preciseness",
    "Does the text contradict the reference? 2: nowhere in earnest, 1: a few small contradictions, "
    "0: plainly.",
    _POINTS,
    "preciseness_strict",
)
_CONSISTENCY = Dimension(
    "consistency",
    "Consistency",
    "Does the text's verdict follow from what the text describes? 2: it does, 1: with small gaps, "
    "0: the two do not fit together.",
    _POINTS,
    "consistency_strict",
)
_GRADE = Dimension(
    "quality_accuracy",
    "Quality accuracy",
    "Is the text's verdict (good, usable, reject) that of the reference? 2: the same, 1: "
    "neighbouring, 0: opposite, or none.",
    _POINTS,
    "quality_accuracy_strict",
    computed=("quality_accuracy_read",),
)
_PREFERENCE = Dimension(
    "quality_accuracy",
    "Quality accuracy",
    "Does the text prefer the image that the reference prefers? 2: the same, 0: the other, or "
    "none; there is nothing in between.",
    (0.0, 2.0),
    "quality_accuracy_strict",
    computed=("quality_accuracy_read",),
)
_READS_ONLY = (
    "The automated judge reads the text and the reference and sees no image; hold the text against "
    "the reference, and say in the comment where the image tells another story."
)

CAPTIONS = Rubric(
    name="captions",
    task="A model described the technical quality of a medical image. Rate its text.",
    judge_sees=_READS_ONLY,
    dimensions=(_COMPLETENESS, _PRECISENESS, _CONSISTENCY, _GRADE),
    strata=("modality", "level"),
)
PAIRS = Rubric(
    name="pairs",
    task="A model compared the technical quality of two medical images. Rate its text.",
    judge_sees=_READS_ONLY,
    dimensions=(_COMPLETENESS, _PRECISENESS, _CONSISTENCY, _PREFERENCE),
    strata=("modality", "difficulty"),
)

RUBRIC_NAMED = {rubric.name: rubric for rubric in (EDITS, CAPTIONS, PAIRS)}
