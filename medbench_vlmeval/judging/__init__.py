"""Asking a judge model for scores: rubric, client, cache, budget and prompts."""

from __future__ import annotations

from .calls import (
    Estimate,
    JudgeCall,
    JudgeStopped,
    Message,
    Rubric,
    Verdict,
    refusal_counts,
    retest_sd,
    status_counts,
)
from .host_options import refuse_unknown_options
from .judge import Judge
from .settings import JudgeSettings
from .templates import PromptTemplate, fenced

__all__ = [
    "Estimate",
    "Judge",
    "JudgeCall",
    "JudgeSettings",
    "JudgeStopped",
    "Message",
    "PromptTemplate",
    "Rubric",
    "Verdict",
    "fenced",
    "refusal_counts",
    "refuse_unknown_options",
    "retest_sd",
    "status_counts",
]
