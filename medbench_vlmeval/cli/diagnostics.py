"""Commands that say what a score can mean: the distance between sets of images."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ..evaluation.fid_runs import FinishedEdits

_EXTRACTORS = ("inception", "efficientnet_lite0")


@click.command()
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path, exists=True))
@click.option(
    "--extractor",
    type=click.Choice(_EXTRACTORS),
    default="inception",
    show_default=True,
    help="inception: FID and KID; efficientnet_lite0: offline, and not FID.",
)
@click.option(
    "--weights",
    type=click.Path(path_type=Path, dir_okay=False),
    default=None,
    help="Inception weights.  [default: what torch-fidelity or another library has fetched]",
)
@click.option("--weights-sha256", default=None, metavar="HEX", help="Required with --weights.")
@click.option(
    "--reference",
    default="changed",
    show_default=True,
    help="changed, previous, or a folder of images.",
)
@click.option("--common", is_flag=True, help="Only samples for which every run has an image.")
@click.option("--json", "as_json", is_flag=True, help="Machine-readable.")
def fid(
    runs: tuple[Path, ...],
    extractor: str,
    weights: Path | None,
    weights_sha256: str | None,
    reference: str,
    common: bool,
    as_json: bool,
) -> None:
    """Measure how far the edited images of RUNS are, as sets, from the changed images."""
    from ..evaluation.fid_runs import measured_runs, shown_distances
    from ..features import extractor_named

    if (weights is None) != (weights_sha256 is None):
        raise click.UsageError(
            "expected --weights and --weights-sha256 together; print the hash with sha256sum FILE "
            "and compare it with the one published beside the file"
        )
    found = measured_runs(
        [_finished(path) for path in runs],
        lambda: extractor_named(extractor, weights=weights, weights_sha256=weights_sha256),
        reference=reference,
        common=common,
    )
    if as_json:
        from ..files import to_plain

        click.echo(json.dumps(to_plain([it.record() for it in found]), indent=2))
    else:
        click.echo(shown_distances(found))


def _finished(path: Path) -> FinishedEdits:
    from ..editing.collecting import images_folder
    from ..evaluation.fid_runs import FinishedEdits
    from ..report.runs import Run

    run = Run.at(path)
    data = run.manifest.get("data", {})
    return FinishedEdits(run.model, run.predictions, images_folder(run.predictions), run.rows, data)
