"""The optional pass in which a judge reads which option a reply states."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from ..judging import Judge, JudgeStopped
from ..judging.choice_extraction import choice_call, choice_extraction_sha256
from ..types import Status
from .answered_questions import AnsweredQuestion, with_extraction
from .asking import asked_verdicts
from .options import EvaluationOptions
from .run_files import RunFiles

logger = logging.getLogger(__name__)


@dataclass(frozen=True)
class Extraction:
    """Rows after the pass, whether there was one, and why it stopped, if it did."""

    rows: list[AnsweredQuestion]
    asked: bool = False
    note: str = ""
    stopped: JudgeStopped | None = None
    manifest: Mapping[str, Any] = field(default_factory=dict)


def extract_choices(
    rows: Sequence[AnsweredQuestion],
    files: RunFiles,
    judge: Judge | None,
    options: EvaluationOptions,
) -> Extraction:
    """Ask about the replies in which no letter can be read; without a judge nothing is asked."""
    if judge is None:
        note = "letters were not extracted: no judge is configured"
        return Extraction(list(rows), note=note if options.extract_choices else "")
    calls = [
        choice_call(
            str(row.sample.index),
            row.reply or "",
            row.sample.options,
            {"modality": row.sample.modality},
        )
        for row in rows
        if row.reading.status is Status.UNPARSED and row.sample.answer and row.sample.options
    ]
    estimate = judge.estimate(calls)
    logger.info("judge: %s", estimate)
    if options.estimate:
        return Extraction(
            list(rows), note=f"letters were not extracted, only estimated: {estimate}"
        )
    verdicts, stopped = asked_verdicts(judge, calls, files, progress="Extracting letters")
    asked = {call.key for call in calls}
    done = [
        with_extraction(
            row, verdicts.get(str(row.sample.index)), asked=str(row.sample.index) in asked
        )
        for row in rows
    ]
    manifest = {"prompts": {"choice_extraction": choice_extraction_sha256()}}
    return Extraction(done, True, "", stopped, manifest)
