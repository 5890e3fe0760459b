"""``medbench leaderboard``: boards of finished runs beside published results."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..report.boards.leaderboard import BoardReport, Leaderboard


@click.command()
@click.argument("outputs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("leaderboard"),
    show_default=True,
    help="Folder to write to.",
)
@click.option("--dataset", default=None, metavar="NAME", help="Only this data set.")
@click.option(
    "--like",
    type=click.Path(path_type=Path, exists=True),
    default=None,
    metavar="RUN",
    help="The run whose data, samples, wording and judge the others must share.  [default: those "
    "of most runs]",
)
@click.option(
    "--same",
    multiple=True,
    metavar="MEASURED=PUBLISHED",
    help="Two names of one model, for the check against published figures.",
)
@click.option(
    "--least-coverage",
    type=click.FloatRange(0, 1),
    default=0.95,
    show_default=True,
    help="Share of the samples that must have a reply.",
)
@click.option("--no-published", is_flag=True, help="Leave published results out.")
@click.option(
    "--format", "formats", default=None, metavar="LIST", help="md, csv, json, html.  [default: all]"
)
def leaderboard(
    outputs: tuple[Path, ...],
    out: Path,
    dataset: str | None,
    like: Path | None,
    same: tuple[str, ...],
    least_coverage: float,
    no_published: bool,
    formats: str | None,
) -> None:
    """Put the finished runs in OUTPUTS beside published results, one board a data set.

    OUTPUTS are output folders of VLMEvalKit or of medbench score, files of single runs, or .zip
    files of either. Runs that cannot be compared are left out, each with its reason.
    """
    from ..report.boards.files import FORMATS, missing_for, write_boards
    from ..report.boards.leaderboard import leaderboard as boards_of
    from ..report.collecting import collecting
    from ..report.runs import Run
    from ..report.safe_text import visible

    chosen = tuple(formats.replace(" ", "").split(",")) if formats else FORMATS
    if not formats and (missing := missing_for("html")):
        click.echo(f"no pages: {missing}", err=True)
        chosen = tuple(name for name in FORMATS if name != "html")
    with collecting(outputs) as found:
        made = boards_of(
            found.runs,
            dataset=dataset,
            like=None if like is None else Run.at(like),
            same=_pairs(same),
            least_coverage=least_coverage,
            with_published=not no_published,
        )
        for problem in (*found.problems, *made.problems):
            click.echo(visible(problem), err=True)
        _check_any(made, outputs)
        paths = write_boards(made.reports, out, chosen)
        for report in made.reports:
            click.echo("\n".join(_summary(report)))
            click.echo()
    for path in paths:
        click.echo(f"written: {path}")


def _pairs(same: tuple[str, ...]) -> dict[str, str]:
    pairs = {}
    for given in same:
        measured, separator, published = given.partition("=")
        if not (measured and separator and published):
            raise click.UsageError(f"expected --same MEASURED=PUBLISHED, got {given!r}")
        pairs[measured] = published
    return pairs


def _check_any(made: Leaderboard, outputs: tuple[Path, ...]) -> None:
    from ..report.boards.text import left_out_line

    for comparison in made.without_board:
        click.echo(f"{comparison.dataset}: no run can stand on a board", err=True)
        for left in comparison.left_out:
            click.echo(f"  {left_out_line(left)}", err=True)
    if not made.reports:
        raise click.ClickException(
            f"no run for a board in {', '.join(map(str, outputs))}; evaluate a run first"
        )


def _summary(report: BoardReport) -> list[str]:
    from ..report.boards.text import board_table, firmness_line, judge_line, left_out_line
    from ..report.safe_text import visible

    board, comparison = report.board, report.board.comparison
    lines = [board_table(board)]
    lines += [judge_line(board)] if judge_line(board) else []
    lines += [f"note: {visible(note)}" for note in board.notes]
    for row in board.rows:
        lines += [f"{visible(row.name)}: {visible(note)}" for note in row.notes if row.run]
    for standing in comparison.standing:
        if standing.why_unjudged and comparison.judge is not None:
            lines.append(f"{visible(standing.run.model)}: {visible(standing.why_unjudged)}")
    lines += [firmness_line(it) for it in report.statistics if it.pairs]
    checks = report.reproduced_tables
    lines += [visible(it.line) for it in checks if it.says_something]
    silent = Counter(it.table for it in checks if not it.says_something)
    if silent:
        named = ", ".join(f"{table} ({count})" for table, count in silent.items())
        lines.append(f"published, but not to be held against these runs: {named}")
    lines += [f"left out: {left_out_line(it)}" for it in comparison.left_out]
    return lines + [f"older: {left_out_line(it)}" for it in comparison.older]
