"""Putting the questions of a check to one or two judges, within ceilings on calls and cost."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..judging import Estimate, Judge, JudgeSettings, JudgeStopped, Verdict
from ..types import Status
from .asking import asked_verdicts
from .judge_check_plan import AS_SCORED, CheckPlan, Probe
from .run_files import RunFiles

FIRST, SECOND = "first", "second"
_MOST_ASKED = 2
"""Questions to which one probe can lead: a reply that cannot be used is asked for once more."""

Groups = Sequence[Sequence[Probe]]


@dataclass(frozen=True)
class Judgement:
    """One probe, whose judgement it is, and the verdict."""

    probe: Probe
    judge: str
    verdict: Verdict

    @property
    def values(self) -> dict[str, float]:
        """Points by column; columns that could not be read are absent."""
        if self.verdict.reading is None:
            return {}
        return {
            self.probe.columns[name]: value
            for name, value in self.verdict.reading.values.items()
            if value is not None
        }

    def record(self) -> dict[str, Any]:
        """One line of ``judge_check.jsonl``; `call_id` finds the reply in the judge log."""
        verdict = self.verdict
        return {
            "judge": self.judge,
            "kind": self.probe.kind,
            "sample": self.probe.sample,
            "cluster": self.probe.cluster,
            "shown": self.probe.shown,
            "key": self.probe.call.key,
            "repeat": self.probe.call.repeat,
            "call_id": verdict.call_id,
            "model_requested": verdict.model_requested,
            "model_returned": verdict.model_returned,
            "status": verdict.status,
            "note": verdict.note,
            "points": self.values,
            "asked": verdict.attempts,
            "cached": verdict.cached,
            "cost": verdict.cost,
        }


@dataclass
class Answers:
    """What came back, and what kept the rest from being asked."""

    judgements: list[Judgement] = field(default_factory=list)
    n_calls: int = 0
    """Questions sent; what the cache answered is none."""
    left_out: list[str] = field(default_factory=list)
    """What `max_calls` left no room for, in words."""
    stopped: JudgeStopped | None = None


def second_of(first: JudgeSettings, second: JudgeSettings) -> JudgeSettings:
    """The settings of a second judge, with the cache of the first.

    Raises:
        ValueError: it is the first judge once more, whose kept replies would agree with themselves.
    """
    same = ("model", "identity", "parameters")
    if all(getattr(first, name) == getattr(second, name) for name in same):
        raise ValueError(
            f"expected another judge as second one, got {second.model} twice; the retest asks the "
            "same judge again, and medbench_judge_weights tells local judges of one name apart"
        )
    return replace(second, cache_path=first.cache_path, repeats=1)


def estimates(
    plan: CheckPlan, first: JudgeSettings, second: JudgeSettings | None
) -> dict[str, Estimate]:
    """What `asked` would ask each judge without any ceiling, by model; nobody is called."""
    found = {first.model: Judge(first).estimate(_calls(plan.groups))}
    if second is not None:
        found[f"{second.model} (second judge)"] = Judge(second).estimate(
            _calls(_as_scored(plan.groups))
        )
    return found


def asked(
    plan: CheckPlan,
    first: Judge,
    second: JudgeSettings | None,
    files: RunFiles,
    *,
    max_calls: int | None,
) -> tuple[Answers, Judge | None]:
    """The answers of the first judge, then of the second one, which gets what is left.

    Args:
        plan: the questions; the second judge is asked about the work as scored, where the first one
            gave points.
        first: the judge to check.
        second: another judge; None for none. The ceiling on cost of `first` is for both.
        files: where the log of replies goes.
        max_calls: questions to both together.
    """
    answers = Answers()
    _ask(first, FIRST, plan.groups, files, answers, max_calls)
    if second is None or answers.stopped is not None:
        return answers, None
    ceiling = first.settings.max_cost
    if ceiling is not None:
        second = replace(second, max_cost=max(0.0, ceiling - first.spent))
    other = Judge(second)
    scored = {it.probe.call.key for it in answers.judgements if it.values}
    groups = [
        [probe for probe in group if probe.call.key in scored] for group in _as_scored(plan.groups)
    ]
    _ask(other, SECOND, [group for group in groups if group], files, answers, max_calls)
    return answers, other


def _ask(
    judge: Judge,
    name: str,
    groups: Groups,
    files: RunFiles,
    answers: Answers,
    max_calls: int | None,
) -> None:
    waiting = list(groups)
    while waiting and answers.stopped is None:
        room = None if max_calls is None else max_calls - answers.n_calls
        batch = _batch(judge, waiting, room)
        if not batch and not answers.judgements:
            raise ValueError(
                f"expected max_calls of at least {_MOST_ASKED * len(waiting[0])}, got {max_calls}: "
                f"one sample has {len(waiting[0])} questions, and each may be asked twice; raise "
                "it, or choose fewer checks"
            )
        if not batch:
            answers.left_out.append(f"{len(waiting)} samples of the {name} judge")
            return
        waiting = waiting[len(batch) :]
        probes = [probe for group in batch for probe in group]
        verdicts, answers.stopped = asked_verdicts(
            judge, [probe.call for probe in probes], files, progress=f"Checking {name} judge"
        )
        answers.judgements += _judgements(probes, name, verdicts)
        answers.n_calls += sum(it.attempts for it in verdicts.values() if _was_sent(it))


def _batch(judge: Judge, waiting: Groups, room: int | None) -> Groups:
    """As many samples as cannot go beyond `room`, even if each reply is asked for once more."""
    if room is None:
        return waiting
    for count, group in enumerate(waiting):
        # Two probes may be one question; where its reply cannot be used, each asks for itself.
        if judge.estimate(_calls([group])).n_calls:
            room -= _MOST_ASKED * len(group)
        if room < 0:
            return waiting[:count]
    return waiting


def _was_sent(verdict: Verdict) -> bool:
    return not verdict.cached and verdict.status is not Status.DATA_ERROR


def _judgements(
    probes: Sequence[Probe], judge: str, verdicts: Mapping[str, Verdict]
) -> list[Judgement]:
    found = ((probe, verdicts.get(probe.call.key)) for probe in probes)
    return [Judgement(probe, judge, verdict) for probe, verdict in found if verdict is not None]


def _as_scored(groups: Groups) -> list[list[Probe]]:
    return [[probe for probe in group if probe.kind == AS_SCORED] for group in groups]


def _calls(groups: Groups) -> list[Any]:
    return [probe.call for group in groups for probe in group]
