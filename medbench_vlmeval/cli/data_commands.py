"""``medbench data``: prepare, verify and export benchmark data."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from .groups import Plain

if TYPE_CHECKING:
    from ..data import PrepareReport


@click.group(cls=Plain)
def data() -> None:
    """Prepare and check benchmark data under LMUData."""


@data.command("prepare")
@click.argument(
    "benchmark",
    type=click.Choice(
        ["medebench", "medsg", "medq", "medebench-sample", "medsg-sample", "medq-sample"]
    ),
)
@click.option(
    "--from",
    "source",
    type=click.Path(path_type=Path, exists=True),
    help="A checkout of the official repository, a downloaded Hub snapshot, or a MedQ table.",
)
@click.option("--hub", is_flag=True, help="Download from the Hugging Face Hub.")
@click.option("--revision", default=None, help="Commit of the Hub data set; recorded either way.")
@click.option("--column", "columns", multiple=True, metavar="FIELD=NAME", help="Name a column.")
@click.option("--name", default=None, help="Name of the data set.  [default: that of the release]")
@click.option("--replace", is_flag=True, help="Allow that data prepared earlier changes.")
def data_prepare(
    benchmark: str,
    source: Path | None,
    hub: bool,
    revision: str | None,
    columns: tuple[str, ...],
    **options: Any,
) -> None:
    """Bring a benchmark's data into LMUData, verified and resumable."""
    given = {key: value for key, value in options.items() if value is not None}
    if columns:
        given["columns"] = _pairs(columns)
    if benchmark.endswith("-sample"):
        reports = _generated(benchmark)
    elif source is None and not hub:
        raise click.UsageError("expected --from PATH or --hub")
    else:
        reports = _prepared(benchmark, source, revision or "main", given)
    for report in reports:
        for line in report.lines():
            click.echo(line)


def _generated(benchmark: str) -> Iterator[PrepareReport]:
    from .. import data as releases

    if benchmark == "medebench-sample":
        yield releases.prepare_medebench_sample()
    elif benchmark == "medsg-sample":
        yield releases.prepare_medsg_sample()
    else:
        for table in releases.MEDQ_TABLES:
            if table.is_sample:
                yield releases.prepare_medq_sample(table.name)


def _prepared(
    benchmark: str, source: Path | None, revision: str, options: dict[str, Any]
) -> Iterator[PrepareReport]:
    from .. import data as releases

    if benchmark == "medq":
        yield from _prepared_medq(source, revision, options)
    elif benchmark == "medsg":
        if "columns" in options:
            raise click.UsageError("MedSG-Bench has the columns it has; leave --column out")
        yield (
            releases.prepare_medsg(source, **options)
            if source is not None
            else releases.prepare_medsg_from_hub(revision=revision, **options)
        )
    else:
        yield (
            releases.prepare_medebench(source, **options)
            if source is not None
            else releases.prepare_medebench_from_hub(revision=revision, **options)
        )


def _prepared_medq(
    source: Path | None, revision: str, options: dict[str, Any]
) -> Iterator[PrepareReport]:
    """One table, or without a name every one that is there; from the Hub those of MedQ-Bench."""
    from .. import data as releases

    named = options.pop("name", None)
    if source is not None:
        for name in [named] if named else releases.medq_names_in(source):
            yield releases.prepare_medq(source, name=name, **options)
        return
    published = [
        table.name for table in releases.MEDQ_TABLES if table.kind != "deg" and not table.is_sample
    ]
    for name in [named] if named else published:
        report = releases.prepare_medq_from_hub(name, revision, **options)
        # A branch may move while the next table is read.
        revision = report.revision or revision
        yield report


def _pairs(columns: tuple[str, ...]) -> dict[str, str]:
    pairs = dict(column.partition("=")[::2] for column in columns)
    if "" in pairs or "" in pairs.values():
        raise click.UsageError(f"expected --column FIELD=NAME, got {' '.join(columns)}")
    return pairs


@data.command("verify")
@click.argument("name", default="MedEBench_test")
def data_verify(name: str) -> None:
    """Recompute the hash of every prepared file."""
    from ..data import verify_data

    report = verify_data(name)
    for line in report.lines():
        click.echo(line)
    if not report.ok:
        raise SystemExit(1)


@data.command("export-finetune")
@click.option("--data", "name", default="MedEBench_test", show_default=True)
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False))
@click.option(
    "--shots",
    default="all",
    show_default=True,
    help="Training samples per task, e.g. 4, 8 or 16; never more than half of a task.",
)
@click.option("--task", "tasks", multiple=True, help="Only this task; may be given several times.")
@click.option("--organ", "organs", multiple=True, help="Only this organ; likewise.")
@click.option("--seed", default=0, show_default=True, help="Of the choice of training samples.")
@click.option("--format", type=click.Choice(["imagefolder", "parquet"]), default="imagefolder")
@click.option("--replace", is_flag=True, help="Allow that another export in OUT is overwritten.")
def data_export_finetune(name: str, out: Path, shots: str, **options: Any) -> None:
    """Write training triplets for InstructPix2Pix, and lists of what may then be tested."""
    from ..data import export_finetune

    if shots != "all" and not (shots.isascii() and shots.isdigit() and int(shots)):
        raise click.UsageError(f"expected a number of at least 1 or 'all' for --shots, got {shots}")
    wanted = None if shots == "all" else int(shots)
    for line in export_finetune(out, data=name, shots=wanted, **options).lines():
        click.echo(line)
