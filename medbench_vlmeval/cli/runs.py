"""Commands about finished runs: list, show one sample, repair, verify, compare."""

from __future__ import annotations

import json
from pathlib import Path

import click


@click.command()
@click.argument("outputs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def results(outputs: tuple[Path, ...], as_json: bool) -> None:
    """List the finished runs below OUTPUTS, one line a run."""
    from ..report.collecting import collecting
    from ..report.listing import finished_runs, runs_table
    from ..report.safe_text import visible

    with collecting(outputs) as found:
        runs = finished_runs(found.runs)
        for problem in found.problems:
            click.echo(visible(problem), err=True)
    if not runs:
        raise click.ClickException(
            f"no finished run below {', '.join(map(str, outputs))}; expected *_score.json there"
        )
    if as_json:
        from ..files import to_plain

        click.echo(json.dumps(to_plain(runs), indent=2))
    else:
        click.echo(runs_table(runs))


@click.command()
@click.argument("predictions", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def repair(predictions: Path) -> None:
    """Mark predictions whose edited image is lost, so that --reuse makes just them again."""
    from ..repair import mark_lost_edits

    done = mark_lost_edits(predictions)
    if done.backup is None:
        click.echo(f"{predictions.name}: no edited image is lost, nothing changed")
        return
    click.echo(
        f"{predictions.name}: {len(done.lost)} rows marked as failed: {', '.join(done.lost[:20])}"
    )
    click.echo(f"the file as it was: {done.backup}")
    click.echo("now run the host again with --reuse --mode all")


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
def verify(runs: tuple[Path, ...]) -> None:
    """Recompute every table of RUNS (folders, or any file of a run) from the stored rows."""
    from ..report.collecting import half_written
    from ..report.runs import Run, RunUnreadable, runs_below
    from ..report.safe_text import visible
    from ..report.verify import verify_run

    manifests = [it for path in runs for it in (runs_below([path]) if path.is_dir() else [path])]
    problems = [it for path in runs if path.is_dir() for it in half_written(path)]
    if not (manifests or problems):
        raise RunUnreadable(f"no finished run below {', '.join(map(str, runs))}")
    all_hold = True
    for path in dict.fromkeys(manifests):
        try:
            found = verify_run(Run.at(path))
        except RunUnreadable as error:
            problems.append(str(error))
            continue
        all_hold &= found.holds
        click.echo("\n".join(found.lines()))
    for problem in problems:
        click.echo(visible(problem), err=True)
    if problems or not all_hold:
        raise SystemExit(1)


@click.command()
@click.argument("a", type=click.Path(path_type=Path, exists=True))
@click.argument("b", type=click.Path(path_type=Path, exists=True))
@click.option(
    "--most",
    type=click.IntRange(min=0),
    default=20,
    show_default=True,
    help="Samples listed for each metric.",
)
def diff(a: Path, b: Path, most: int) -> None:
    """Say what differs between two runs, and in which samples the scores moved."""
    from ..report.differences import run_difference
    from ..report.runs import Run

    for line in run_difference(Run.at(a), Run.at(b)).lines(most=most):
        click.echo(line)


@click.command()
@click.argument("run", type=click.Path(path_type=Path, exists=True))
@click.argument("identifier", metavar="ID")
@click.option(
    "--data-root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=None,
    help="Where prepared data lies now.  [default: $LMUData, or ~/LMUData]",
)
@click.option("--judge/--no-judge", default=True, help="Show the judge's replies.  [default: yes]")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def show(run: Path, identifier: str, data_root: Path | None, judge: bool, as_json: bool) -> None:
    """Print one sample of RUN whole: images, prompt, reply, readings, scores, the judge's replies.

    ID is the sample's index or key. RUN is a folder with one run, or any file of a run.
    """
    from ..data import lmu_root
    from ..report.one_sample import one_sample
    from ..report.runs import Run

    root = data_root or lmu_root()
    found = one_sample(Run.at(run), identifier, data_root=root, with_judge=judge)
    # ASCII only: what others wrote must not act on a terminal as JSON either.
    click.echo(json.dumps(found.facts(), indent=2) if as_json else "\n".join(found.lines()))
