"""``medbench score``: pictures that were made elsewhere."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import click

from .judge_options import judge_arguments, judge_options


@click.command()
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
@judge_options
@click.option(
    "--only",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="Score only the ids in this file, one a line, e.g. held_out_ids.txt.",
)
@click.option("--scoring-backend", default=None, help="serial, loky, threading, dask or ray.")
@click.option("--scoring-jobs", type=int, default=None, help="Workers.  [default: one a core]")
@click.option("--scoring-scheduler", default=None, help="Address of a Dask scheduler.")
def score(
    dataset: str, folders: tuple[Path, ...], names: tuple[str, ...], out: Path, **given: Any
) -> None:
    """Score edited images that were made elsewhere; no model and no host needed.

    Several folders are scored sample by sample: each input image is decoded once for all.
    """
    from ..data import load_medebench, read_id_list
    from ..evaluation.medebench import evaluate_medebench
    from ..evaluation.options import EvaluationOptions, judge_settings
    from ..evaluation.pictures import predictions_from_folder
    from ..evaluation.report_text import shown_result
    from ..naming import file_stem

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
    only = given["only"]
    results = evaluate_medebench(
        [pictures.predictions for pictures in found],
        prepared,
        expected_ids=None if only is None else read_id_list(only),
        judge_settings=judge_settings(judge_arguments, os.environ),
        options=options,
    )
    for name, result in zip(names, results, strict=True):
        click.echo(shown_result(result, f"{name} on {dataset}"))


def _judge_arguments(given: dict[str, Any]) -> dict[str, Any]:
    flags = ("scoring_backend", "scoring_jobs", "scoring_scheduler")
    chosen = {f"medbench_{name}": given[name] for name in flags if given[name] is not None}
    return judge_arguments(given) | chosen
