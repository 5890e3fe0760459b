"""Text in, typed reading out."""

from __future__ import annotations

from .refusals import is_api_failure, is_refusal
from .scores import ScoreReading, read_scores
from .thinking import without_thinking

__all__ = ["ScoreReading", "is_api_failure", "is_refusal", "read_scores", "without_thinking"]
