"""Which runs may stand on one board, and why the others may not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from ..runs import Run
from .judge_identity import JudgeIdentity, judge_of, snapshots_of
from .run_conditions import conditions_of, differing, incomplete

LEAST_COVERAGE = 0.95
"""Share of a run's samples that must have a reply, whatever it says."""
NOT_JUDGED = "not judged"

T = TypeVar("T")


@dataclass(frozen=True)
class LeftOut:
    """A run that cannot stand on the board."""

    run: Run
    reason: str


@dataclass(frozen=True)
class Standing:
    """A run on the board."""

    run: Run
    judge: JudgeIdentity | None = None
    why_unjudged: str = ""
    """Why its judged columns are blank; empty when they are shown."""
    has_board_snapshot: bool = True
    """Whether the same model answered as judge as for the board; else verdicts are not ranked."""
    notes: tuple[str, ...] = ()
    """What a reader of its numbers should know."""


@dataclass(frozen=True)
class Comparison:
    """The runs of one data set, sorted out."""

    dataset: str
    standing: tuple[Standing, ...]
    left_out: tuple[LeftOut, ...]
    older: tuple[LeftOut, ...]
    """Complete runs of models of which a newer one stands on the board, and copies."""
    judge: JudgeIdentity | None = None
    """Whose verdicts the board shows."""
    snapshots: tuple[str, ...] = ()
    """The models that answered as the board's judge."""
    notes: tuple[str, ...] = ()
    """About the board as a whole."""

    @property
    def reference(self) -> Run | None:
        """A run whose data and samples are those of the board."""
        return self.standing[0].run if self.standing else None


def compared(
    runs: Sequence[Run], *, like: Run | None = None, least_coverage: float = LEAST_COVERAGE
) -> Comparison:
    """Sort out the runs of one data set.

    A run stands on the board when it is complete, has replies for enough samples, and was made
    under the board's conditions: the same data, samples, wording of the questions and definition of
    the metrics. These are the conditions of `like`, else those of most complete runs (of the newest
    ones when equally many). Of several runs of a model the newest stands. The board's judge is that
    of `like`, else that of most runs on it.

    Args:
        runs: at least one, all of one data set.
        like: a run that sets the conditions; with one of a part of the samples the board is about
            these samples.
        least_coverage: in [0, 1].

    Raises:
        ValueError: a coverage outside [0, 1].
        RunUnreadable: rows or summaries that cannot be read.
    """
    if not 0 <= least_coverage <= 1:
        raise ValueError(f"expected a coverage between 0 and 1, got {least_coverage!r}")
    left_out: list[LeftOut] = []
    complete: list[Run] = []
    for run in runs:
        reason = incomplete(run, least_coverage, partial_allowed=like is not None)
        if reason:
            left_out.append(LeftOut(run, reason))
        else:
            complete.append(run)
    board = like or _most_typical(complete)
    alike = []
    for run in complete:
        reason = differing(run, board) if board else ""
        if reason:
            left_out.append(LeftOut(run, reason))
        else:
            alike.append(run)
    newest, older = _newest(alike)
    return _judged(Comparison(runs[0].dataset, newest, tuple(left_out), older), like)


def _most_typical(runs: Sequence[Run]) -> Run | None:
    """The newest run of those made as most are; how columns are defined decides second."""
    conditions = {run.manifest_path: conditions_of(run) for run in runs}
    common = _most_common(runs, lambda run: conditions[run.manifest_path].key)
    if common is None:
        return None
    key = conditions[common.manifest_path].key
    alike = [run for run in runs if conditions[run.manifest_path].key == key]
    return _most_common(alike, lambda run: frozenset(conditions[run.manifest_path].metrics.items()))


def _newest(runs: Sequence[Run]) -> tuple[tuple[Standing, ...], tuple[LeftOut, ...]]:
    by_model: dict[str, list[Run]] = {}
    for run in sorted(runs, key=_age, reverse=True):
        by_model.setdefault(run.model, []).append(run)
    standing, older = [], []
    for model in sorted(by_model):
        first, *rest = by_model[model]
        standing.append(Standing(first))
        older += [LeftOut(run, _why_older(run, first)) for run in rest]
    return tuple(standing), tuple(older)


def _age(run: Run) -> tuple[str, str]:
    # Two runs of one second are told apart by the stamp that VLMEvalKit names their folders by.
    return run.created, run.manifest_path.parent.name


def _why_older(run: Run, newest: Run) -> str:
    if run.manifest == newest.manifest:
        return f"a copy of the run in {newest.place}"
    return f"older run of {run.model}: {run.created or 'undated'}, the newest {newest.created}"


def _judged(comparison: Comparison, like: Run | None) -> Comparison:
    judges = {it.run.manifest_path: judge_of(it.run) for it in comparison.standing}
    judged = [it.run for it in comparison.standing if judges[it.run.manifest_path] is not None]
    if like is None or judge_of(like) is None:
        common = _most_common(judged, lambda run: judges[run.manifest_path])
        same = [it for it in judged if common and judge_of(it) == judge_of(common)]
        like = _most_common(same, snapshots_of)
    judge, snapshots = (judge_of(like), snapshots_of(like)) if like else (None, ())
    standing = tuple(
        _with_judge(it, judges[it.run.manifest_path], judge, snapshots)
        for it in comparison.standing
    )
    return replace(
        comparison,
        standing=standing,
        judge=judge,
        snapshots=snapshots,
        notes=tuple(_notes_on_versions(comparison.standing)),
    )


def _with_judge(
    standing: Standing,
    judge: JudgeIdentity | None,
    board: JudgeIdentity | None,
    snapshots: tuple[str, ...],
) -> Standing:
    notes = conditions_of(standing.run).notes
    if judge is None or board is None:
        note = str(standing.run.manifest.get("judge_note") or NOT_JUDGED)
        return replace(standing, why_unjudged=note, notes=notes)
    if judge != board:
        why = f"judged otherwise than the board: {judge.differences(board)}"
        return replace(standing, judge=judge, why_unjudged=why, notes=notes)
    own = snapshots_of(standing.run)
    if own == snapshots or not own or not snapshots:
        return replace(standing, judge=judge, notes=notes)
    note = (
        f"the judge that answered was {_listed(own)}, on the board {_listed(snapshots)}; its "
        "judged columns are shown and not ranked"
    )
    return replace(standing, judge=judge, has_board_snapshot=False, notes=(*notes, note))


def _notes_on_versions(standing: Iterable[Standing]) -> list[str]:
    versions = sorted({str(it.run.manifest.get("medbench_vlmeval", "?")) for it in standing})
    if len(versions) < 2:
        return []
    return [f"evaluated by several versions of medbench-vlmeval: {', '.join(versions)}"]


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "not recorded"


def _most_common(runs: Sequence[Run], key: Callable[[Run], T]) -> Run | None:
    """The newest of the runs whose key most runs share; of equally many the newest."""
    if not runs:
        return None
    counts = Counter(map(key, runs))
    return max(runs, key=lambda run: (counts[key(run)], run.created))
