"""Text in, typed reading out."""

from __future__ import annotations

from .boxes import BOX_FLAGS, BoxReading, CoordinateConvention, read_box
from .choices import ChoiceReading, read_choice
from .conclusions import (
    GradeReading,
    PreferenceReading,
    read_preferred_image,
    read_quality_grade,
)
from .masks import MaskReading, read_mask
from .refusals import is_api_failure, is_refusal
from .run_lengths import RunLengths
from .scores import ScoreReading, read_scores
from .thinking import without_thinking

__all__ = [
    "BOX_FLAGS",
    "BoxReading",
    "ChoiceReading",
    "CoordinateConvention",
    "GradeReading",
    "MaskReading",
    "PreferenceReading",
    "RunLengths",
    "ScoreReading",
    "is_api_failure",
    "is_refusal",
    "read_box",
    "read_choice",
    "read_mask",
    "read_preferred_image",
    "read_quality_grade",
    "read_scores",
    "without_thinking",
]
