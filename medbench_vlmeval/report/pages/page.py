"""``medbench report``: one HTML page for a run, or for several runs of one data set."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib import metadata, resources
from pathlib import Path
from typing import Any

from ...files import write_text_atomic
from ...types import MetricInfo
from ..html_text import asset, needed_for_reports, rendered
from ..plots import plots_of
from ..plots.kinds import labels_of
from ..runs import Run, RunUnreadable
from .bundle import PAGE_NAME, bundle_at, without_paths
from .head import group_tables, headline, metrics_of
from .images import ImageShelf, ImagesInPlace
from .provenance import differences_of, provenance_of
from .samples import RunSamples, joined_samples, kind_of, samples_of_run

_SCRIPTS = ("dom", "state", "pictures", "stage", "boxes", "sample", "list", "page")
_EXPORTS = re.compile(r"export\s*\{([^}]*)\};?")


@dataclass(frozen=True)
class PageWritten:
    """Where a page is, and what a user should know of it."""

    path: Path
    n_samples: int
    n_images: int
    """References to images that are there."""
    missing: int
    """Images that should be there and are not."""
    converted: int
    """Images of a bundle that are not the original file."""


def write_page(runs: Sequence[Run], out: Path, *, data_root: Path | None = None) -> PageWritten:
    """Write a page that refers to the images where they lie.

    Args:
        runs: at least one, all of the same data set; the first decides the order of samples.
        out: the HTML file.
        data_root: where the folders of prepared data lie now, for images that moved.

    Raises:
        RunUnreadable: files of a run are damaged, or the runs are of several data sets.
        ImportError: the extra ``report`` is not installed.
    """
    contents = page_contents(runs, ImagesInPlace(out.parent), data_root, links_from=out.parent)
    write_text_atomic(out, html_page(contents))
    return _written(out, contents, converted=0)


def write_bundle(runs: Sequence[Run], out: Path, *, data_root: Path | None = None) -> PageWritten:
    """Write a folder or zip with the page and copies of its images, free of this machine's paths.

    Args and errors: those of `write_page`.

    Raises:
        FileExistsError: `out` is a folder that holds something.
    """
    with bundle_at(out) as bundle:
        contents = page_contents(runs, bundle, data_root, links_from=None)
        folders = [*bundle.folders, *_folders_of(runs, data_root)]
        contents = without_paths(contents, folders)
        contents |= {
            name: without_paths(contents[name], folders, every=True)
            for name in ("provenance", "differences")
        }
        bundle.write(PAGE_NAME, html_page(contents).encode("utf-8"))
    return _written(out, contents, converted=bundle.converted)


def page_contents(
    runs: Sequence[Run], shelf: ImageShelf, data_root: Path | None, *, links_from: Path | None
) -> dict[str, Any]:
    """All that a page shows, as plain values for its template and script.

    Args:
        runs: at least one, all of the same data set.
        shelf: where the page finds its images.
        data_root: where prepared data lies now, for images that moved.
        links_from: folder of the page, for links to the files of the runs; None for none.

    Raises:
        RunUnreadable: files of a run are damaged, or the runs are of several data sets.
    """
    _refuse_mixed(runs)
    metrics = metrics_of(runs)
    names = labels_of(runs)
    read = [samples_of_run(run, data_root) for run in runs]
    data = _data(read, names, metrics, shelf)
    return {
        "dataset": runs[0].dataset,
        "names": names,
        "headline": headline(runs, metrics),
        "groups": group_tables(runs, metrics),
        "plots": [asdict(plot) for plot in plots_of(runs)],
        "provenance": [
            provenance_of(run, name, links_from) for run, name in zip(runs, names, strict=True)
        ],
        "differences": list(differences_of(runs)) if len(runs) > 1 else [],
        "without_samples": [
            name for name, one in zip(names, read, strict=True) if not one.has_samples
        ],
        "n_samples": len(data["samples"]),
        "data": data,
    }


def _data(
    read: Sequence[RunSamples],
    names: Sequence[str],
    metrics: Sequence[MetricInfo],
    shelf: ImageShelf,
) -> dict[str, Any]:
    """What the page's script reads."""
    groupings = dict.fromkeys(
        name for one in read for row in one.rows.values() for name in row.get("groups", {})
    )
    columns = [metric.name for metric in metrics]
    return {
        "kind": kind_of(read),
        "runs": names,
        "metrics": [_metric_facts(metric) for metric in metrics],
        "groupings": list(groupings),
        "samples": list(joined_samples(read, list(groupings), columns, shelf)),
    }


def _refuse_mixed(runs: Sequence[Run]) -> None:
    datasets = sorted({run.dataset for run in runs})
    if len(datasets) != 1:
        raise RunUnreadable(
            f"expected runs of one data set, got {', '.join(datasets) or 'none'}; "
            "write one page for each (--dataset)"
        )


def _metric_facts(metric: MetricInfo) -> dict[str, Any]:
    kept = ("name", "label", "unit", "protocol", "higher_is_better", "bounds", "judged", "source")
    return {name: getattr(metric, name) for name in kept}


def html_page(contents: Mapping[str, Any]) -> str:
    """The page of `page_contents`.

    Raises:
        ImportError: the extra ``report`` is not installed.
    """
    bundle_js, bundle_css = _datatables()
    shown = {name: value for name, value in contents.items() if name != "data"}
    return rendered(
        "report.html",
        styles=[bundle_css, asset("report.css")],
        scripts=[bundle_js, "\n".join(asset(f"report_{name}.js") for name in _SCRIPTS)],
        data={"report-data": contents["data"]},
        licence=_licence("itables"),
        **shown,
    )


def _datatables() -> tuple[str, str]:
    """DataTables as `itables` packs it, made a script that leaves `DataTable` to the next ones."""
    folder = resources.files(needed_for_reports("itables")) / "html"
    source = (folder / "dt_bundle.js").read_text(encoding="utf-8")
    exports = _EXPORTS.findall(source)
    default = re.search(r"([\w$]+) as default", exports[0]) if len(exports) == 1 else None
    if default is None:
        raise ImportError(
            "expected one export list with a default in dt_bundle.js of itables, got another form; "
            "pip install 'medbench-vlmeval[report]'"
        )
    source = _EXPORTS.sub(f"globalThis.DataTable = {default[1]};", source)
    return source, (folder / "dt_bundle.css").read_text(encoding="utf-8")


def _licence(distribution: str) -> str:
    """The licence text that a distribution brings, to stand in pages that hold its code."""
    for path in metadata.files(distribution) or ():
        if path.name.upper().startswith("LICEN") and ".dist-info" in str(path):
            return path.read_text(encoding="utf-8")
    return ""


def _folders_of(runs: Sequence[Run], data_root: Path | None) -> list[Path]:
    folders = [run.manifest_path.parent for run in runs]
    folders += [it.resolve() for it in folders]
    folders += [Path.cwd(), Path.home(), Path(tempfile.gettempdir())]
    return [*folders, data_root.absolute()] if data_root else folders


def _written(path: Path, contents: Mapping[str, Any], *, converted: int) -> PageWritten:
    images = list(_images_in(contents["data"]["samples"]))
    return PageWritten(
        path,
        contents["n_samples"],
        sum("src" in it for it in images),
        sum("missing" in it for it in images),
        converted,
    )


def _images_in(samples: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    found: list[Mapping[str, Any]] = []
    for sample in samples:
        found += sample["images"]
        for made in filter(None, sample["runs"]):
            found += [made["edited"]] if "edited" in made else []
            found += made.get("replicas", ())[1:]
    return found
