"""Whether a model measured here gives the figures that were published for it, cell by cell."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from ..published import PublishedCell, PublishedTable, ledger_name, tables
from ..runs import Run
from .board import Board, Cell, CellKey, Row
from .judge_identity import is_published_judge

SLACK_OF_SIZES = 0.02
"""Share by which the number of samples may differ from the published one."""
_LONGEST_REASON = 90

Verdict = Literal["agrees", "differs", "not comparable", "doubtful figure", "no interval"]


@dataclass(frozen=True)
class ReproducedCell:
    """One published figure beside what was measured here."""

    measured: str
    published: str
    table: str
    key: CellKey
    value: float | None
    """Measured here."""
    low: float | None
    high: float | None
    figure: float
    """Published, in our scale."""
    half_unit: float
    as_printed: str
    caveats: tuple[str, ...]
    verdict: Verdict
    why: str = ""

    @property
    def delta(self) -> float | None:
        """Measured less published."""
        return None if self.value is None else self.value - self.figure


def reproduced_cells(
    board: Board, same: Mapping[str, str] | None = None
) -> tuple[ReproducedCell, ...]:
    """Every published figure of every model that is on the board as measured, too.

    A figure *agrees* when what it may stand for, value ± half a unit of its last digit, reaches
    into the 95 % interval of the measured value. Figures that are marked as probably wrong are
    *doubtful*; those of another judge, of other questions, of another protocol, over another number
    of samples (by more than 2 %), or without a counterpart are *not comparable*. Neither counts as
    a difference.

    Args:
        board: with published rows.
        same: measured name to published name, beyond the names that the ledger knows; what is not
            on this board is passed over.
    """
    chosen = dict(same or {})
    measured = {row.name: row for row in board.rows if row.kind == "measured"}
    return tuple(
        cell
        for row in measured.values()
        for published in board.of_kind("published")
        if _is_same(row, published, chosen)
        for cell in _of_model(row, published.name, board)
    )


def _is_same(measured: Row, published: Row, chosen: Mapping[str, str]) -> bool:
    if measured.name in chosen:
        return chosen[measured.name] == published.name
    return measured.name in published.zoo or measured.name.casefold() == published.name.casefold()


def _of_model(row: Row, published: str, board: Board) -> Iterator[ReproducedCell]:
    for table in tables():
        for cell in table.cells(ledger_name(board.dataset)):
            if cell.model == published:
                yield _reproduced(row, cell, table, board)


def _reproduced(
    row: Row, published: PublishedCell, table: PublishedTable, board: Board
) -> ReproducedCell:
    key = CellKey(published.metric, published.group_by, published.group)
    found = row.cells.get(key) or Cell(None, note="the run has no such figure")
    verdict, why = _verdict(row.run, found, published, table, board)
    return ReproducedCell(
        measured=row.name,
        published=published.model,
        table=table.id,
        key=key,
        value=found.value if published.is_comparable else None,
        low=found.low,
        high=found.high,
        figure=published.value,
        half_unit=published.half_unit,
        as_printed=published.as_printed,
        caveats=published.caveats,
        verdict=verdict,
        why=why,
    )


def _verdict(
    run: Run | None,
    measured: Cell,
    published: PublishedCell,
    table: PublishedTable,
    board: Board,
) -> tuple[Verdict, str]:
    if not published.is_comparable or "other_protocol" in published.caveats:
        return "not comparable", published.note
    if measured.value is None:
        return "not comparable", measured.note
    other_terms = _other_terms(run, published.metric, table, board)
    if other_terms:
        return "not comparable", other_terms
    sizes = _other_sizes(measured, published)
    if sizes and not _nearly_equal(measured.n_expected, published.n):
        return "not comparable", sizes
    if published.is_doubtful:
        return "doubtful figure", published.note
    if measured.low is None or measured.high is None:
        return "no interval", "fewer than two clusters were scored"
    reaches_in = (
        published.value + published.half_unit >= measured.low
        and published.value - published.half_unit <= measured.high
    )
    return ("agrees" if reaches_in else "differs"), f"{published.note} {sizes}".strip()


def _other_sizes(measured: Cell, published: PublishedCell) -> str:
    if published.n is None or published.n == measured.n_expected:
        return ""
    return f"over {measured.n_expected} samples here, over {published.n} published"


def _nearly_equal(here: int | None, published: int | None) -> bool:
    """Within `SLACK_OF_SIZES`: releases were corrected, and the papers' counts are off by a few."""
    return here is not None and abs(here - (published or 0)) <= SLACK_OF_SIZES * (published or 0)


def _other_terms(run: Run | None, metric: str, table: PublishedTable, board: Board) -> str:
    if run is None:
        return ""
    wording = (run.manifest.get("asked") or {}).get("wording") or {}
    if "own" in wording:
        return "asked in our own words, not in the published ones"
    if board.metric(metric).judged:
        return is_published_judge(run, table.judge)
    return ""


_COUNTED: tuple[tuple[Verdict, str], ...] = (
    ("doubtful figure", "doubtful"),
    ("no interval", "without an interval"),
    ("not comparable", "not comparable"),
)


@dataclass(frozen=True)
class ReproducedTable:
    """A published table and one measured model, in one line."""

    measured: str
    published: str
    table: str
    cells: tuple[ReproducedCell, ...]

    def count(self, verdict: Verdict) -> int:
        return sum(cell.verdict == verdict for cell in self.cells)

    @property
    def says_something(self) -> bool:
        """Whether a figure of the table could be held against the run."""
        return self.count("not comparable") < len(self.cells)

    @property
    def line(self) -> str:
        """E.g. ``table: A as B: 3 of 4 figures agree, mean difference -0.012; 1 doubtful``."""
        tested = [cell for cell in self.cells if cell.verdict in ("agrees", "differs")]
        head = f"{self.table}: {self.measured} as {self.published}: "
        if tested:
            deltas = [cell.delta for cell in tested if cell.delta is not None]
            body = (
                f"{self.count('agrees')} of {len(tested)} figures agree, mean difference "
                f"{fmean(deltas):+.3f}"
            )
        else:
            body = "no figure can be held against it"
        rest = [
            f"{self.count(verdict)} {words}" for verdict, words in _COUNTED if self.count(verdict)
        ]
        reasons = dict.fromkeys(
            _clipped(cell.why) for cell in self.cells if cell.verdict == "not comparable"
        )
        why = f" ({'; '.join(list(reasons)[:2])})" if reasons else ""
        return head + "; ".join([body, *rest]) + why


def _clipped(reason: str) -> str:
    return reason if len(reason) <= _LONGEST_REASON else f"{reason[: _LONGEST_REASON - 1]}…"


def reproduced_tables(cells: Iterable[ReproducedCell]) -> tuple[ReproducedTable, ...]:
    """The cells by measured model and published table, in their order."""
    found: dict[tuple[str, str, str], list[ReproducedCell]] = {}
    for cell in cells:
        found.setdefault((cell.measured, cell.published, cell.table), []).append(cell)
    return tuple(ReproducedTable(*key, tuple(members)) for key, members in found.items())
