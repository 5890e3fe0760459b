"""Putting a run's questions to the judge: what came back, and why it stopped, if it did."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..judging import Judge, JudgeCall, JudgeStopped, Verdict
from ..types import Status
from .run_files import RunFiles


def asked_verdicts(
    judge: Judge, calls: Sequence[JudgeCall], files: RunFiles, *, progress: str
) -> tuple[Mapping[str, Verdict], JudgeStopped | None]:
    """The verdicts by key; a judge that answered none of the calls has stopped, too."""
    try:
        verdicts = judge.run(calls, log_path=files.judge_replies, progress=progress)
    except JudgeStopped as error:
        return error.verdicts, error
    if calls and not any_answered(verdicts):
        reason = f"the judge answered none of {len(calls)} calls; see {files.judge_replies.name}"
        return verdicts, JudgeStopped(reason, verdicts)
    return verdicts, None


def any_answered(verdicts: Mapping[str, Verdict]) -> bool:
    """Whether one call at least reached the judge."""
    return any(verdict.status is not Status.API_FAIL for verdict in verdicts.values())
