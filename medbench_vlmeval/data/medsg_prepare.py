"""Prepares MedSG-Bench: copies a release into our layout, checks it, reports what is wrong."""

from __future__ import annotations

from pathlib import Path

from ..files import write_json_atomic, write_jsonl_atomic
from .hub import address_of, commit_of, downloaded
from .image_store import ImageStore
from .medsg_cases import assign_cases
from .medsg_official import find_tables, read_official_medsg
from .medsg_parquet import read_parquet_medsg
from .medsg_records import GUARDED_FIELDS, mark_repeated, record_of
from .medsg_remedies import MEDSG_REPOSITORY
from .medsg_report import medsg_manifest, medsg_report_on
from .medsg_rows import MedSGRelease
from .medsg_tasks import MEDSG_RELEASE_NAME
from .places import MANIFEST_NAME, TABLE_NAME, dataset_root
from .prepare_report import PrepareReport
from .remedies import DataNotPrepared, shortened
from .store import Record, sole_writer

_WANTED_FILES = ("MedSG-Bench/Task*.json", "MedSG-Bench/Task*.zip", "*.parquet", "*.md")
_UNWANTED_FILES = ("MedSG-Train/*", "bench_task1.parquet")
"""The training part, and a second copy of the first task that lies beside the tables."""


def prepare_medsg(
    source: Path | str,
    *,
    name: str = MEDSG_RELEASE_NAME,
    root: Path | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Prepare MedSG-Bench from a folder; a killed run is continued by running it again.

    Images are read one at a time and stored once however many rows show them; the whole release
    never is in memory.

    Args:
        source: A copy of the Hub repository, the folder with Task1.json to Task8.json beside their
            zip files or unpacked folders, or the folder of the parquet mirror.
        name: Name of the prepared data set.
        root: Data folder; default `lmu_root()`.
        replace: Allow that an earlier preparation under this name changes or shrinks.
        progress: Show a progress bar.

    Raises:
        FileNotFoundError: `source` is no folder.
        ValueError: `source` holds no release, or one of its tables or zip files is broken.
        DataWouldChange: an earlier preparation holds other data and `replace` is false.
        ImportError: `source` holds parquet files and pyarrow is missing.
    """
    folder = Path(source).expanduser()
    if not folder.is_dir():
        raise FileNotFoundError(
            f"expected a folder with the release, {folder} is none; give the MedSG-Bench folder"
        )
    folder = folder.resolve()
    release = open_medsg_release(folder, revision=commit_of(folder, ""))
    return prepare_medsg_release(release, name=name, root=root, replace=replace, progress=progress)


def prepare_medsg_from_hub(
    repo: str = MEDSG_REPOSITORY,
    revision: str = "main",
    *,
    local_dir: Path | None = None,
    name: str = MEDSG_RELEASE_NAME,
    root: Path | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Download the benchmark part of the release and prepare it; the commit is recorded.

    Args:
        repo: Data set repository of the Hub: the release, or its parquet mirror.
        revision: Commit, tag or branch. A branch moves: pass the commit of an earlier report to get
            the same data again.
        local_dir: An existing snapshot folder; with it nothing is downloaded.
        name: Name of the prepared data set.
        root: Data folder; default `lmu_root()`.
        replace: Allow that an earlier preparation under this name changes.
        progress: Show a progress bar.

    Raises:
        DataNotPrepared: the Hub cannot be reached and its cache holds no whole copy, or it refuses.
        ValueError: see `prepare_medsg`.
        ImportError: huggingface_hub or pyarrow is missing.
    """
    if local_dir is not None:
        folder, address = Path(local_dir), ""
    else:
        folder = downloaded(
            repo,
            revision,
            patterns=_WANTED_FILES,
            ignored=_UNWANTED_FILES,
            benchmark="medsg",
        )
        address = address_of(repo)
    if not folder.is_dir():
        raise DataNotPrepared(
            f"expected a snapshot folder, {folder} is none; give the folder of the release's files"
        )
    release = open_medsg_release(folder, address=address, revision=commit_of(folder, revision))
    return prepare_medsg_release(release, name=name, root=root, replace=replace, progress=progress)


def open_medsg_release(
    folder: Path, *, address: str = "", revision: str | None = None
) -> MedSGRelease:
    """The release in `folder`, whichever of the two layouts it has.

    Raises:
        ValueError: neither layout is recognised; the message lists the files found.
    """
    if find_tables(folder):
        return read_official_medsg(folder, address=address, revision=revision)
    parquet = sorted(folder.rglob("*.parquet"))
    if parquet:
        return read_parquet_medsg(parquet, source=address or str(folder), revision=revision)
    names = sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())
    raise ValueError(
        f"expected Task1.json to Task8.json, or *.parquet, in {folder} or its folder MedSG-Bench, "
        f"found {shortened(names) or 'no files'}; give a copy of the MedSG-Bench repository"
    )


def prepare_medsg_release(
    release: MedSGRelease,
    *,
    name: str,
    root: Path | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Store a release that one of the readers has opened; see `prepare_medsg`."""
    folder = dataset_root(name, root)
    with sole_writer(folder):
        store = ImageStore(folder, replace=replace, guarded=GUARDED_FIELDS)
        store.remove_leftovers()
        records = _stored_records(release, store, progress)
        store.refuse_loss(records)
        mark_repeated(list(records.values()))
        assign_cases(list(records.values()))
        report = medsg_report_on(release, name, store, records)
        write_jsonl_atomic(folder / TABLE_NAME, records.values())
        write_json_atomic(folder / MANIFEST_NAME, medsg_manifest(report, store))
        store.remove_stale(records)
    return report


def _stored_records(release: MedSGRelease, store: ImageStore, progress: bool) -> dict[str, Record]:
    from tqdm import tqdm

    rows = tqdm(
        release.rows, total=release.count, desc="preparing", unit="sample", disable=not progress
    )
    records: list[Record] = []
    for row in rows:
        record = record_of(row, store)
        store.refuse_change(record)
        records.append(record)
    records.sort(key=lambda record: record["index"])
    return {record["key"]: record for record in records}
