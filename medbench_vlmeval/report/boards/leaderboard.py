"""From runs to boards: one a data set, with statistics and the check against published figures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..runs import Run, RunUnreadable
from .board import Board, RowKind, headline_metrics
from .comparability import LEAST_COVERAGE, Comparison, Standing, compared
from .firmness import MetricStatistics
from .judge_identity import judge_of, snapshots_of
from .reproduction import ReproducedCell, ReproducedTable, reproduced_cells, reproduced_tables
from .rows import board_of, measured_row, trivial_rows
from .run_conditions import conditions_of, incomplete
from .statistics import board_statistics


@dataclass(frozen=True)
class BoardReport:
    """One data set: its board and what follows from it."""

    board: Board
    statistics: tuple[MetricStatistics, ...]
    reproduced: tuple[ReproducedCell, ...]

    @property
    def reproduced_tables(self) -> tuple[ReproducedTable, ...]:
        return reproduced_tables(self.reproduced)


@dataclass(frozen=True)
class Leaderboard:
    """All boards, and the data sets of which no run can stand on one."""

    reports: tuple[BoardReport, ...]
    without_board: tuple[Comparison, ...]
    problems: tuple[str, ...] = ()
    """Runs that cannot be read, a line each."""


def leaderboard(
    runs: Iterable[Run],
    *,
    dataset: str | None = None,
    like: Run | None = None,
    same: Mapping[str, str] | None = None,
    least_coverage: float = LEAST_COVERAGE,
    with_published: bool = True,
) -> Leaderboard:
    """The boards of all data sets that there are runs of.

    Args:
        runs: of any data sets.
        dataset: only this one.
        like: the run that sets the conditions on the board of its data set; see `compared`.
        same: measured name to published name, for `reproduced_cells`.
        least_coverage: share of samples that must have a reply, in [0, 1].
        with_published: show the published tables.

    Raises:
        ValueError: there is no run of `dataset`, or of the data set of `like`; `same` names a model
            that no board has; a coverage outside [0, 1].
    """
    by_dataset, problems = _readable(runs)
    if dataset is not None:
        if dataset not in by_dataset:
            known = ", ".join(by_dataset) or "none"
            raise ValueError(f"expected a data set that there are runs of ({known}), got {dataset}")
        by_dataset = {dataset: by_dataset[dataset]}
    if like is not None and like.dataset not in by_dataset:
        raise ValueError(
            f"expected --like a run of {', '.join(by_dataset) or 'a data set with runs'}, got one "
            f"of {like.dataset}"
        )
    chosen = dict(same or {})
    reports, without = [], []
    for name, members in sorted(by_dataset.items()):
        own = like if like is not None and like.dataset == name else None
        comparison = compared(members, like=own, least_coverage=least_coverage)
        if not comparison.standing:
            without.append(comparison)
            continue
        board = board_of(comparison, with_published=with_published)
        cells = reproduced_cells(board, chosen) if board.of_kind("published") else ()
        reports.append(BoardReport(board, board_statistics(board), cells))
    if with_published:
        _check_names(chosen, reports)
    return Leaderboard(tuple(reports), tuple(without), tuple(problems))


def _readable(runs: Iterable[Run]) -> tuple[dict[str, list[Run]], list[str]]:
    """Runs by data set; what cannot be read is named and the rest goes on."""
    by_dataset: dict[str, list[Run]] = {}
    problems = []
    for run in runs:
        try:
            _read_whole(run)
        except RunUnreadable as error:
            problems.append(f"{run.place}: {error}")
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            name = run.manifest_path.name
            problems.append(f"{run.place}: {name} has another form ({error!r}); evaluate again")
        else:
            by_dataset.setdefault(run.dataset, []).append(run)
    return by_dataset, problems


def _read_whole(run: Run) -> None:
    """Read now what a board needs: one in which a row fails later would be no board."""
    incomplete(run, LEAST_COVERAGE, partial_allowed=True)
    judge_of(run), conditions_of(run), trivial_rows(run), snapshots_of(run)
    measured_row(Standing(run), run.metrics)
    for metric in headline_metrics(run.metrics):
        run.scores_of(metric.name)


def _check_names(same: Mapping[str, str], reports: Sequence[BoardReport]) -> None:
    for name, published in same.items():
        boards = [it.board for it in reports if name in _names(it.board, "measured")]
        if not boards:
            measured = {it for report in reports for it in _names(report.board, "measured")}
            raise ValueError(
                f"expected the name of a model on a board, got {name!r}; measured: "
                f"{', '.join(sorted(measured)) or 'none'}"
            )
        known = {it for board in boards for it in _names(board, "published")}
        if published not in known:
            raise ValueError(
                f"expected a published model for {name}, got {published!r}; published: "
                f"{', '.join(sorted(known)) or 'none'}"
            )


def _names(board: Board, kind: RowKind) -> list[str]:
    return [row.name for row in board.of_kind(kind)]
