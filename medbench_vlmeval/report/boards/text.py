"""Cells and lines of a board as words, the same in every format."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.table import Table

from ...types import MetricInfo
from ..published import tables
from ..safe_text import terminal_text, visible
from .board import Board, Cell, Row
from .comparability import LeftOut
from .firmness import MetricStatistics

_WIDTH = 118


def shown_number(value: float, metric: MetricInfo) -> str:
    """With the digits that the unit deserves."""
    return f"{value:.{digits_of(metric)}f}"


def digits_of(metric: MetricInfo) -> int:
    return 2 if metric.unit else 3


def shown_cell(cell: Cell | None, metric: MetricInfo, *, with_interval: bool = True) -> str:
    """A value with its interval; ``?`` behind a doubtful figure, a dash for none.

    A published figure has no more digits than were printed.
    """
    if cell is None or cell.value is None:
        return "–"
    if cell.half_unit is not None:
        digits = max(0, len(f"{cell.half_unit:.10f}".rstrip("0").partition(".")[2]) - 1)
        digits = min(digits, digits_of(metric) + 1)
        return f"{cell.value:.{digits}f}" + "?" * cell.is_doubtful
    text = shown_number(cell.value, metric)
    if not with_interval:
        return text
    if cell.low is not None and cell.high is not None:
        text += f" [{shown_number(cell.low, metric)}, {shown_number(cell.high, metric)}]"
    if cell.is_bounded and cell.floor is not None and cell.ceiling is not None:
        floor, ceiling = sorted((cell.floor, cell.ceiling))
        text += f" (all: {shown_number(floor, metric)} – {shown_number(ceiling, metric)})"
    return text


def cell_notes(cell: Cell | None) -> tuple[str, ...]:
    """What has to stand below a table about one cell."""
    if cell is None:
        return ()
    caveats = f"{', '.join(cell.caveats)}: {cell.note}" if cell.caveats else cell.note
    return (caveats,) if caveats else ()


def counts_of(cells: Iterable[Cell | None]) -> tuple[str, str, str]:
    """Samples expected, answered and in the means; of published rows only what is known.

    Args:
        cells: of one row and group, a column each.
    """
    known = [cell for cell in cells if cell is not None]
    expected = next((str(it.n_expected) for it in known if it.n_expected is not None), "")
    answered = [it.n_answered for it in known if it.n_answered is not None]
    scored = sorted({it.n_scored for it in known if it.n_scored is not None})
    shown = f"{scored[0]}–{scored[-1]}" if len(scored) > 1 else "".join(map(str, scored))
    # Judged columns count a reply that only the judge could not read as answered, too.
    return expected, str(min(answered)) if answered else "", shown


def _counts_in_words(row: Row, metrics: Sequence[MetricInfo]) -> str:
    """One number where all counts are the same, or known from the published table alone."""
    expected, answered, scored = counts_of(row.cell(it.name) for it in metrics)
    if not expected or (answered in ("", expected) and scored in ("", expected)):
        return expected or scored
    words = [expected]
    words += [f"answered {answered}"] if answered not in ("", expected) else []
    words += [f"scored {scored}"] if scored not in ("", expected) else []
    return ", ".join(filter(None, words))


def left_out_line(left: LeftOut) -> str:
    return f"{visible(left.run.model)} ({visible(left.run.place)}): {visible(left.reason)}"


def judge_line(board: Board) -> str:
    """Whose verdicts the judged columns hold; empty for a board without them."""
    if not any(metric.judged for metric in board.metrics):
        return ""
    judge = board.comparison.judge
    if judge is None:
        return "judge: none, judged columns are blank"
    answered = ", ".join(board.comparison.snapshots) or "not recorded"
    return f"judge: {visible(judge.model)} (answered as {visible(answered)})"


def firmness_line(statistics: MetricStatistics) -> str:
    """One line about what a column can bear."""
    metric = statistics.metric
    n_models = len(statistics.ranked)
    different = sum(pair.is_different for pair in statistics.pairs)
    parts = [f"{metric.name}:"]
    if n_models:
        first = statistics.ranked[0]
        parts.append(f"{visible(first.name)} is first in {first.first:.0%} of the resamples;")
    parts.append(f"{different} of {len(statistics.pairs)} pairs differ (adjusted p ≤ 0.05)")
    if statistics.detectable is not None:
        parts.append(
            f"; neighbours can be told apart from about "
            f"{shown_number(statistics.detectable, metric)} on"
        )
    return " ".join(parts).replace(" ;", ";")


def board_table(board: Board) -> str:
    """The headline columns of all rows as plain text, as ``medbench results`` shows runs.

    Published rows that have figures of groups only are named below it.
    """
    table = Table(title=terminal_text(board.dataset), title_justify="left")
    table.add_column("model", overflow="fold", min_width=18)
    headline = board.headline
    columns = [it for it in headline if any(_has_value(row, it) for row in board.rows)]
    for metric in columns:
        table.add_column(terminal_text(metric.label), justify="right")
    table.add_column("samples", justify="right")
    for kind in dict.fromkeys(row.kind for row in board.overall_rows):
        table.add_section()
        table.add_row(f"{kind}:")
        for row in (it for it in board.overall_rows if it.kind == kind):
            cells = [shown_cell(row.cell(it.name), it, with_interval=False) for it in columns]
            table.add_row(f"  {terminal_text(row.name)}", *cells, _counts_in_words(row, headline))
    stream = io.StringIO()
    Console(file=stream, width=_WIDTH, color_system=None, legacy_windows=False).print(table)
    return f"{stream.getvalue().rstrip()}\n{groups_only_line(board)}".rstrip()


def overall_metrics(board: Board) -> tuple[list[MetricInfo], list[MetricInfo]]:
    """The columns over all samples: the headline, beside which coverage stands, and the rest."""
    used = [it for it in board.metrics if any(row.cell(it.name) for row in board.overall_rows)]
    first = [it for it in board.headline if it in used]
    return first, [it for it in used if it not in first]


def groups_only_line(board: Board) -> str:
    """The published models that stand in tables of groups only; empty without any."""
    names = "; ".join(map(visible, board.for_groups_only))
    return f"published for groups only: {names}" if names else ""


def _has_value(row: Row, metric: MetricInfo) -> bool:
    cell = row.cell(metric.name)
    return cell is not None and cell.value is not None


def sources_of(board: Board) -> list[str]:
    """Where every measured row lies and when it was evaluated; the citations of the tables."""
    lines = [
        f"{row.name}: {row.source}, evaluated {row.created or 'at an unknown time'}"
        for row in board.rows
        if row.run is not None
    ]
    shown = {cell.table for row in board.of_kind("published") for cell in row.cells.values()}
    return lines + [f"{it.id}: {it.source.citation}" for it in tables() if it.id in shown]


def letters(number: int) -> str:
    """A number in letters: 0 is a, 25 is z, 26 is aa."""
    text = ""
    while number >= 0:
        text = chr(ord("a") + number % 26) + text
        number = number // 26 - 1
    return text
