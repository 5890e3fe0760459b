"""Commands that write pages to look at."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..report.collecting import Collected
    from ..report.pages.page import PageWritten
    from ..report.runs import Run


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option("--dataset", default=None, metavar="NAME", help="Only runs of this data set.")
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
    runs: tuple[Path, ...],
    dataset: str | None,
    out: Path | None,
    bundle: Path | None,
    data_root: Path | None,
) -> None:
    """Write one HTML page about RUNS: numbers, plots and every sample to look at.

    RUNS are folders, any file of a run, or .zip files of runs (with --bundle); several are compared
    and must be of one data set.
    """
    from ..data.places import lmu_root
    from ..report.collecting import collecting
    from ..report.pages.page import write_bundle, write_page

    root = data_root or lmu_root()
    with collecting(runs, whole=bundle is not None) as found:
        read = _chosen(found, runs, dataset)
        in_place = out if out is not None or bundle is not None else _default_page(read)
        if in_place is not None:
            _check_stay(found, read)
        if bundle is not None:
            _tell(write_bundle(read, bundle, data_root=root))
        if in_place is not None:
            _tell(write_page(read, in_place, data_root=root))


def _chosen(found: Collected, paths: Sequence[Path], dataset: str | None) -> list[Run]:
    from ..report.safe_text import visible

    for problem in found.problems:
        click.echo(visible(problem), err=True)
    read = [run for run in found.runs if dataset in (None, run.dataset)]
    if read:
        return read
    of = f" of {dataset}" if dataset else ""
    there = ", ".join(sorted({visible(run.dataset) for run in found.runs}))
    raise click.ClickException(
        f"no finished run{of} below {', '.join(map(str, paths))}"
        + (f"; there are runs of {there}" if there else "; evaluate a run first")
    )


def _check_stay(found: Collected, runs: Sequence[Run]) -> None:
    for run in runs:
        if found.is_unpacked(run):
            raise click.ClickException(
                f"{run.place}: a page refers to images where they lie, which is in an archive; "
                "unpack it, or give --bundle and no --out"
            )


def _default_page(runs: Sequence[Run]) -> Path:
    return runs[0].beside("_report.html") if len(runs) == 1 else Path("comparison.html")


def _tell(page: PageWritten) -> None:
    for line in _lines_about(page):
        click.echo(line)


def _lines_about(page: PageWritten) -> Iterator[str]:
    here = Path.cwd()
    path = page.path.relative_to(here) if page.path.is_relative_to(here) else page.path
    yield f"{path}: {page.n_samples:,} samples, {page.n_images:,} images"
    if page.converted:
        yield f"  {page.converted:,} images are 8-bit PNGs instead of the original files"
    if page.missing:
        yield f"  {page.missing:,} images are missing; the page says which and why"
