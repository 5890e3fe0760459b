"""Prepares MedEBench: copies a release into our layout, checks it, reports what is wrong."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import sha256_file, write_json_atomic, write_jsonl_atomic
from ..official.medebench import canonical_organ
from .checks import image_problems, mark_inverted_rois
from .official_layout import find_metadata, read_official
from .places import MANIFEST_NAME, RELEASE_NAME, ROLE_FOLDERS, TABLE_NAME, dataset_root
from .prepare_report import PrepareReport, report_on
from .releases import Release, SourceSample
from .snapshots import read_snapshot
from .store import Record, SampleStore, sole_writer

LAYOUT_VERSION = 1


def prepare_medebench(
    source: Path | str,
    *,
    name: str = RELEASE_NAME,
    root: Path | None = None,
    columns: Mapping[str, str] | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Prepare MedEBench from a folder; a killed run is continued by running it again.

    Args:
        source: A copy of the GitHub repository, its ``editing`` folder, or a Hub snapshot folder.
        name: Name of the prepared data set.
        root: Data folder; default `lmu_root()`.
        columns: Field to column name, where the release's columns are not clear.
        replace: Allow that an earlier preparation under this name changes or shrinks.
        progress: Show a progress bar.

    Raises:
        FileNotFoundError: `source` is no folder.
        ValueError: `source` holds no release, its table is broken, or an id is repeated.
        DataWouldChange: an earlier preparation holds other data and `replace` is false.
    """
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"expected a folder with the release, {folder} is none; give the MedEBench folder"
        )
    folder = folder.resolve()
    if find_metadata(folder):
        release = read_official(folder, columns=columns)
    else:
        release = read_snapshot(folder, source=str(folder), columns=columns)
    return prepare_release(release, name=name, root=root, replace=replace, progress=progress)


def prepare_release(
    release: Release,
    *,
    name: str,
    root: Path | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Store a release that one of the readers has opened; see `prepare_medebench`."""
    folder = dataset_root(name, root)
    with sole_writer(folder):
        store = SampleStore(folder, replace)
        store.remove_leftovers()
        records = _stored_records(release, store, progress)
        store.refuse_loss(records)
        mark_inverted_rois(list(records.values()))
        report = report_on(release, name, store, records)
        write_jsonl_atomic(folder / TABLE_NAME, records.values())
        write_json_atomic(folder / MANIFEST_NAME, _manifest(report, release, records.values()))
        store.remove_stale(records)
    return report


def _stored_records(release: Release, store: SampleStore, progress: bool) -> dict[int, Record]:
    from tqdm import tqdm

    samples = tqdm(
        release.samples, total=release.count, desc="preparing", unit="sample", disable=not progress
    )
    records = {sample.id: _record(sample, store) for sample in samples}
    return dict(sorted(records.items()))


def _record(sample: SourceSample, store: SampleStore) -> Record:
    images = store.add(sample)
    organ = canonical_organ(sample.organ_label)
    problems = list(sample.problems)
    if organ is None:
        problems.append("organ unknown")
    problems += [
        f"{name} empty"
        for name in ("instruction", "description")
        if not getattr(sample, name).strip()
    ]
    problems += [f"{role} missing" for role in ROLE_FOLDERS if role not in images]
    found, measured = image_problems(
        {role: store.root / image["file"] for role, image in images.items()}
    )
    return {
        "id": sample.id,
        "organ": organ or sample.organ_label,
        "source_label": sample.organ_label,
        "task": sample.task,
        "instruction": sample.instruction,
        "description": sample.description,
        "url": sample.url,
        **{
            role: (images[role] | measured.get(role, {})) if role in images else None
            for role in ROLE_FOLDERS
        },
        "problems": problems + found,
    }


def _manifest(report: PrepareReport, release: Release, records: Any) -> dict[str, Any]:
    return {
        "layout_version": LAYOUT_VERSION,
        "name": report.name,
        "source": report.source,
        "source_layout": report.layout,
        "source_columns": dict(release.columns),
        "revision": report.revision,
        "package_version": __version__,
        "prepared_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "n_samples": report.n_samples,
        "images": dict(report.images),
        "bytes": sum(
            record[role]["bytes"] for record in records for role in ROLE_FOLDERS if record[role]
        ),
        "organ_counts": dict(report.organ_counts),
        "organ_differences": {
            organ: list(pair) for organ, pair in report.organ_differences.items()
        },
        "problems": {problem: list(ids) for problem, ids in report.problems.items()},
        "warnings": list(report.warnings),
        "fingerprint": report.fingerprint,
        "table_sha256": sha256_file(report.root / TABLE_NAME),
    }
