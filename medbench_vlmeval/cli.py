"""``medbench``: prepare data, score pictures, look at results, check the installation."""

from __future__ import annotations

import json
import logging
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from . import __version__
from .files import to_plain

if TYPE_CHECKING:
    from .data import PrepareReport


class _Plain(click.Group):
    """A group whose user errors are one line and a remedy, never a traceback."""

    def invoke(self, context: click.Context) -> Any:
        from .editing import EditsLost
        from .judging import JudgeStopped

        try:
            return super().invoke(context)
        except (ValueError, OSError, ImportError, EditsLost, JudgeStopped) as error:
            if os.environ.get("MEDBENCH_VLMEVAL_DEBUG") == "1":
                raise
            raise click.ClickException(str(error) or type(error).__name__) from error


@click.group(cls=_Plain, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="medbench")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, not only what matters.")
def main(verbose: bool) -> None:
    """Medical image benchmarks for VLMEvalKit: data, scores, results, and the installation."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(message)s", stream=sys.stderr
    )
    for chatty in ("httpx", "httpx2", "httpcore", "openai", "PIL", "asyncio", "numba", "peewee"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


@main.group(cls=_Plain)
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
    from . import data as releases

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
    from . import data as releases

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
    from . import data as releases

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
    from .data import verify_data

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
    from .data import export_finetune

    if shots != "all" and not (shots.isascii() and shots.isdigit() and int(shots)):
        raise click.UsageError(f"expected a number of at least 1 or 'all' for --shots, got {shots}")
    wanted = None if shots == "all" else int(shots)
    for line in export_finetune(out, data=name, shots=wanted, **options).lines():
        click.echo(line)


@main.command()
def conventions() -> None:
    """List which coordinates each model family is asked for and read by."""
    from .conventions import convention_for, families
    from .evaluation.tables import plain_table

    known = [convention_for("", explicit=entry["family"]) for entry in families()]
    rows = [
        (
            it.family or "",
            it.name if it.source == "explicit" else f"{it.name} (asked in the prompt)",
            it.reference_box_form,
            it.official_parser or "none published",
            it.cited,
        )
        for it in known
    ]
    names = ("family", "convention", "reference box", "official parser", "source")
    click.echo(plain_table(names, rows))
    click.echo("\nwhat follows the question, to the letter:")
    for it in known:
        click.echo(f"  {it.family}: {it.prompt_suffix!r}")
    click.echo()
    click.echo(
        "any other model: the prompt states the convention; MEDBENCH_MEDSG_CONVENTION sets it, "
        "and MEDBENCH_CONVENTIONS names a file with families of your own, one JSON object a line"
    )


@main.command()
@click.option("--data", "dataset", required=True, help="MedEBench_test or MedEBench_sample.")
@click.option(
    "--images",
    "folders",
    multiple=True,
    required=True,
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Folder with {id}_0.png; may be given several times, with one --name each.",
)
@click.option("--name", "names", multiple=True, required=True, help="Name of the model.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("outputs"),
    show_default=True,
    help="Results go to OUT/<model>/.",
)
@click.option("--judge", default=None, help="Judge model; 'none' for no judge.  [default: gpt-4o]")
@click.option("--judge-base-url", default=None, help="Any OpenAI-compatible endpoint.")
@click.option("--judge-nproc", default=32, show_default=True, help="Judge calls under way at once.")
@click.option("--judge-retry", default=6, show_default=True, help="Repetitions of a failed call.")
@click.option("--judge-args", default="{}", help="More options as JSON, see docs/judging.md.")
@click.option("--max-cost", type=float, default=None, help="Stop judging at this many US dollars.")
@click.option("--estimate", is_flag=True, help="Say what judging would cost, and judge nothing.")
@click.option("--scoring-backend", default=None, help="serial, loky, threading, dask or ray.")
@click.option("--scoring-jobs", type=int, default=None, help="Workers.  [default: one a core]")
@click.option("--scoring-scheduler", default=None, help="Address of a Dask scheduler.")
def score(
    dataset: str, folders: tuple[Path, ...], names: tuple[str, ...], out: Path, **given: Any
) -> None:
    """Score edited images that were made elsewhere; no model and no host needed.

    Several folders are scored sample by sample: each input image is decoded once for all.
    """
    from .data import load_medebench
    from .evaluation.medebench import evaluate_medebench
    from .evaluation.options import EvaluationOptions, judge_settings
    from .evaluation.pictures import predictions_from_folder
    from .evaluation.report_text import shown_result
    from .naming import file_stem

    if len(folders) != len(names):
        raise click.UsageError(
            f"expected one --name per --images, got {len(names)} and {len(folders)}"
        )
    options, judge_arguments = EvaluationOptions.from_host(_judge_arguments(given))
    prepared = load_medebench(dataset)
    found = [
        predictions_from_folder(
            folder, prepared, model=name, output=out / file_stem(name, dataset).partition("@")[0]
        )
        for folder, name in zip(folders, names, strict=True)
    ]
    for pictures in found:
        for line in pictures.lines():
            click.echo(line)
    results = evaluate_medebench(
        [pictures.predictions for pictures in found],
        prepared,
        judge_settings=judge_settings(judge_arguments, os.environ),
        options=options,
    )
    for name, result in zip(names, results, strict=True):
        click.echo(shown_result(result, f"{name} on {dataset}"))


def _judge_arguments(given: dict[str, Any]) -> dict[str, Any]:
    model = given["judge"] or "gpt-4o"
    arguments: dict[str, Any] = {
        "model": "exact_matching" if model == "none" else model,
        "nproc": given["judge_nproc"],
        "retry": given["judge_retry"],
    }
    try:
        arguments |= json.loads(given["judge_args"])
    except (json.JSONDecodeError, TypeError) as error:
        raise click.UsageError(f"expected a JSON object for --judge-args ({error})") from error
    if given["judge_base_url"]:
        arguments["api_base"] = given["judge_base_url"]
    flags = ("max_cost", "estimate", "scoring_backend", "scoring_jobs", "scoring_scheduler")
    chosen = {f"medbench_{name}": given[name] for name in flags}
    arguments |= {name: value for name, value in chosen.items() if value not in (None, False)}
    return arguments


@main.command()
@click.argument("outputs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def results(outputs: tuple[Path, ...], as_json: bool) -> None:
    """List the finished runs below OUTPUTS, one line a run."""
    from .evaluation.finished_runs import finished_runs, runs_table

    runs = finished_runs(outputs)
    if not runs:
        raise click.ClickException(
            f"no finished run below {', '.join(map(str, outputs))}; expected *_score.json there"
        )
    if as_json:
        click.echo(json.dumps(to_plain(runs), indent=2))
    else:
        click.echo(runs_table(runs))


@main.command()
@click.argument("predictions", type=click.Path(path_type=Path, exists=True, dir_okay=False))
def repair(predictions: Path) -> None:
    """Mark predictions whose edited image is lost, so that --reuse makes just them again."""
    from .repair import mark_lost_edits

    done = mark_lost_edits(predictions)
    if done.backup is None:
        click.echo(f"{predictions.name}: no edited image is lost, nothing changed")
        return
    click.echo(
        f"{predictions.name}: {len(done.lost)} rows marked as failed: {', '.join(done.lost[:20])}"
    )
    click.echo(f"the file as it was: {done.backup}")
    click.echo("now run the host again with --reuse --mode all")


@main.command(context_settings={"ignore_unknown_options": True, "help_option_names": []})
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def doctor(arguments: tuple[str, ...]) -> None:
    """Say in plain words whether host, hook, data and keys are in order, and what to do.

    With --model NAME, build that model inside VLMEvalKit and let it answer for one picture.
    """
    from . import doctor as doctor_module

    raise SystemExit(doctor_module.main(list(arguments)))


if __name__ == "__main__":
    main()
