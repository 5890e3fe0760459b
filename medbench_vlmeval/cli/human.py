"""``medbench human``: blinded sheets for raters, and their agreement with the judge."""

from __future__ import annotations

from pathlib import Path

import click

from .groups import Plain


@click.group(cls=Plain)
def human() -> None:
    """Let people rate a sample of what the judge rated."""


@human.command("export")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    required=True,
    help="A new folder: OUT/for_raters/ is handed out, OUT/key.json is not.",
)
@click.option(
    "--samples",
    "n_samples",
    type=click.IntRange(min=1),
    default=40,
    show_default=True,
    help="Samples, the same for every model, drawn from organs and tasks (modalities) in turn.",
)
@click.option(
    "--rater",
    "raters",
    multiple=True,
    default=("A",),
    show_default=True,
    help="Name of a rater; may be given several times, each gets an order of their own.",
)
@click.option("--seed", default=0, show_default=True, help="The same seed gives the same sheets.")
@click.option("--hide-reference", is_flag=True, help="Edits: show no picture of a real result.")
@click.option(
    "--semicolon", is_flag=True, help="Separate the table by semicolons, as many Excels expect."
)
@click.option(
    "--data-root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    default=None,
    help="Where the data lies, if it moved since the evaluation.  [default: the LMUData folder]",
)
def human_export(
    runs: tuple[Path, ...],
    out: Path,
    n_samples: int,
    raters: tuple[str, ...],
    seed: int,
    hide_reference: bool,
    semicolon: bool,
    data_root: Path | None,
) -> None:
    """Write blinded sheets about RUNS: one finished run a model, all of the same data."""
    from ..data import lmu_root
    from ..human.export import ExportChoices, export_sheets
    from ..report.runs import Run

    choices = ExportChoices(n_samples, raters, seed, hide_reference, ";" if semicolon else ",")
    exported = export_sheets(
        [Run.at(run) for run in runs], out, choices, data_root=data_root or lmu_root()
    )
    for line in exported.lines():
        click.echo(line)


@human.command("import")
@click.argument(
    "sheets", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True, dir_okay=False)
)
@click.option(
    "--key",
    "key_path",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    required=True,
    help="The key.json of the export.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=None,
    help="Where human_check.json and human_check.md go.  [default: beside the key]",
)
def human_import(sheets: tuple[Path, ...], key_path: Path, out: Path | None) -> None:
    """Hold filled-in SHEETS (CSV) against the judge; list every entry that cannot be used."""
    from ..human.check import human_check
    from ..human.entries import Entries
    from ..human.key import SheetKey
    from ..human.page import short_lines, write_check

    found = human_check(Entries.read(sheets, SheetKey.read(key_path)))
    for line in short_lines(found):
        click.echo(line)
    for path in write_check(out or key_path.parent, found):
        click.echo(f"written: {path}")
