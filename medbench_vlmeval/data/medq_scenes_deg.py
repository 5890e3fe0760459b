"""The questions of the MedQDEG sample pack: what a picture shows, clean and degraded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from .medq_degradations import LEVELS, Level
from .medq_scenes import SUBJECTS, MedQScene, View

_SEVERITY: Mapping[Level, str] = {"none": "L0", "mild": "L1", "severe": "L2"}
_PUBLISHED = {
    "aliasing": "undersampling_artifact",
    "bias_field": "bias_field_artifact",
    "dark_spot": "dark_spots_artifact",
    "low_contrast": "reduce_contrast",
    "low_dose_noise": "low_dose",
    "sparse_view_streaks": "sparse_view",
}
"""Our names of degradations to those of the benchmark's tables, where they differ."""


@dataclass(frozen=True)
class _Content:
    """A question about what is shown; the answer does not depend on the quality."""

    subject: str
    degradation: str
    question: str
    options: tuple[str, ...]
    answer: str


_CONTENTS = (
    _Content(
        "abdomen",
        "bias_field",
        "Which imaging technique made this picture?",
        ("Ultrasound", "Radiography", "Magnetic resonance imaging", "Endoscopy"),
        "C",
    ),
    _Content(
        "vertebra",
        "low_dose_noise",
        "Which bone lies in the middle of this picture?",
        ("Skull", "Femur", "Shoulder blade", "Kneecap", "Vertebra"),
        "E",
    ),
    _Content(
        "retina",
        "low_contrast",
        "Which structure is the bright round area at the left edge of the retina?",
        ("Optic disc", "Macula", "Lens", "Iris"),
        "A",
    ),
    _Content(
        "stroma",
        "dark_spot",
        "What colour are the cell nuclei between the glands of this stained tissue?",
        ("Green", "Blue", "Red", "Black"),
        "B",
    ),
    _Content(
        "phantom",
        "sparse_view_streaks",
        "How many large black ellipses lie inside the skull of this phantom?",
        ("Five", "Four", "Three", "Two", "One"),
        "D",
    ),
    _Content(
        "liver",
        "aliasing",
        "Which organ is the large grey one at the left of this picture?",
        ("Liver", "Heart", "Urinary bladder", "Thyroid gland"),
        "A",
    ),
)


def deg_scenes() -> tuple[MedQScene, ...]:
    """Six questions, each about the clean picture and about two degraded versions of it."""
    rows = [(content, level) for content in _CONTENTS for level in LEVELS]
    return tuple(
        _scene(content, level, index) for index, (content, level) in enumerate(rows, start=1)
    )


def _scene(content: _Content, level: Level, index: int) -> MedQScene:
    view = View(content.subject, content.degradation, level, seed=40 + index)
    published = _PUBLISHED.get(content.degradation, content.degradation)
    fields = {
        "index": str(index),
        "question": content.question,
        **dict(zip("ABCDE", content.options, strict=False)),
        "answer": content.answer,
        "modality": SUBJECTS[content.subject].modality,
        "degradation_type": "none" if level == "none" else published,
        "degradation_severity": _SEVERITY[level],
    }
    return MedQScene((view,), fields)
