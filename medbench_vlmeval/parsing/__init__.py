"""Text in, typed reading out."""

from __future__ import annotations

from .boxes import BOX_FLAGS, BoxReading, CoordinateConvention, read_box
from .refusals import is_api_failure, is_refusal
from .scores import ScoreReading, read_scores
from .thinking import without_thinking

__all__ = [
    "BOX_FLAGS",
    "BoxReading",
    "CoordinateConvention",
    "ScoreReading",
    "is_api_failure",
    "is_refusal",
    "read_box",
    "read_scores",
    "without_thinking",
]
