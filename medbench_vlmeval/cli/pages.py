"""Commands that write pages to look at."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..report.runs import Run


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    help="The page.  [default: beside the run, or ./comparison.html]",
)
@click.option(
    "--bundle",
    type=click.Path(path_type=Path),
    help="A new folder, or a .zip, with the page and copies of its images, to publish.",
)
@click.option(
    "--data-root",
    type=click.Path(path_type=Path, exists=True, file_okay=False),
    help="Where prepared data lies now, for images that moved.  [default: $LMUData or ~/LMUData]",
)
def report(
    runs: tuple[Path, ...], out: Path | None, bundle: Path | None, data_root: Path | None
) -> None:
    """Write one HTML page about RUNS: numbers, plots and every sample to look at.

    RUNS are folders or any file of a run; several are compared and must be of one data set.
    """
    from ..data.places import lmu_root
    from ..report.pages.page import write_bundle, write_page
    from ..report.runs import Run, RunUnreadable, runs_below

    found = [it for path in runs for it in (runs_below([path]) if path.is_dir() else [path])]
    if not found:
        raise RunUnreadable(f"no finished run below {', '.join(map(str, runs))}")
    # one run may be named by several of its files
    read = list({run.manifest_path.resolve(): run for run in map(Run.at, found)}.values())
    root = data_root or lmu_root()
    written = []
    if bundle is not None:
        written.append(write_bundle(read, bundle, data_root=root))
    if out is not None or bundle is None:
        written.append(write_page(read, out or _default_page(read), data_root=root))
    for page in written:
        click.echo(f"{page.path}: {page.n_samples:,} samples, {page.n_images:,} images")
        if page.converted:
            click.echo(f"  {page.converted:,} images are 8-bit PNGs instead of the original files")
        if page.missing:
            click.echo(f"  {page.missing:,} images are missing; the page says which and why")


def _default_page(runs: Sequence[Run]) -> Path:
    return runs[0].beside("_report.html") if len(runs) == 1 else Path("comparison.html")
