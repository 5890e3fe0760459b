"""Prepares MedQ-Bench: copies a table into our layout, checks it, reports what is wrong."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from ..files import write_json_atomic, write_jsonl_atomic
from .cases import join_cases
from .hub import address_of, commit_of, downloaded
from .image_store import ImageStore
from .medq_files import medq_files_in, table_for
from .medq_records import (
    GUARDED_FIELDS,
    add_id,
    add_indices,
    medq_record_of,
    refuse_new_indices,
)
from .medq_remedies import PUBLISHED_NAMES
from .medq_report import medq_manifest, medq_report_on
from .medq_rows import MedQRelease
from .medq_tables import MEDQ_TABLE_NAMED, Kind, MedQTable
from .medq_tsv import read_medq_tables
from .official_layout import checked_out_commit
from .places import MANIFEST_NAME, TABLE_NAME, dataset_root
from .prepare_report import PrepareReport
from .remedies import DataNotPrepared
from .store import Record, sole_writer


def prepare_medq(
    source: Path | str,
    *,
    name: str,
    root: Path | None = None,
    columns: Mapping[str, str] | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Prepare one table of MedQ-Bench; a killed run is continued by running it again.

    Rows are read one at a time and images stored once however many rows show them; a table never
    is in memory.

    Args:
        source: A folder that holds the table, such as a copy of the Hub repository, or the table
            itself under any file name.
        name: One of `MEDQ_TABLES`; or another name, when the file name tells which table it is.
        root: Data folder; default `lmu_root()`.
        columns: Field to column, where the names of the columns do not tell.
        replace: Allow that an earlier preparation under this name changes or shrinks.
        progress: Show a progress bar.

    Raises:
        FileNotFoundError: `source` is not there, or the folder holds no such table.
        ColumnsUnclear: a column that is needed is not there, or there twice.
        ValueError: the table is cut or damaged, or `name` does not tell which table it is.
        DataWouldChange: an earlier preparation holds other data and `replace` is false.
    """
    path = Path(source).expanduser().absolute()
    table = table_for(name, path)
    folder = path if path.is_dir() else path.parent
    return _prepare_files(
        path,
        table,
        revision=commit_of(folder, "") or checked_out_commit(folder),
        columns=columns,
        name=name,
        root=root,
        replace=replace,
        progress=progress,
    )


def prepare_medq_from_hub(
    name: str,
    revision: str = "main",
    *,
    repo: str | None = None,
    local_dir: Path | None = None,
    root: Path | None = None,
    columns: Mapping[str, str] | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Download one table (two for the robustness benchmark) and prepare it; records the commit.

    Args:
        name: One of `MEDQ_TABLES` that is published.
        revision: Commit, tag or branch. A branch moves: pass the commit of an earlier report to get
            the same data again.
        repo: Data set repository of the Hub; default: the one the table is published in.
        local_dir: An existing snapshot folder; with it nothing is downloaded.
        root: Data folder; default `lmu_root()`.
        columns: Field to column, where the names of the columns do not tell.
        replace: Allow that an earlier preparation under this name changes.
        progress: Show a progress bar.

    Raises:
        DataNotPrepared: the Hub cannot be reached and its cache holds no whole copy, it refuses, or
            the repository has no such file.
        ValueError: `name` is no published table; or see `prepare_medq`.
        ImportError: huggingface_hub is missing.
    """
    table = published_table(name)
    repo = repo or table.repository
    address = "" if local_dir is not None else address_of(repo)
    folder = (
        Path(local_dir).expanduser().absolute()
        if local_dir is not None
        else downloaded(repo, revision, patterns=table.files, benchmark="medq")
    )
    absent = [file for file in table.files if not (folder / file).is_file()]
    if absent:
        raise DataNotPrepared(
            f"expected {', '.join(absent)} in {address or folder} at {revision}, it is not there; "
            "the files may have been renamed: download the repository and run "
            f"medbench data prepare medq --from FILE --name {name}"
        )
    return _prepare_files(
        folder,
        table,
        address=address,
        revision=commit_of(folder, revision),
        columns=columns,
        name=name,
        root=root,
        replace=replace,
        progress=progress,
    )


def published_table(name: str) -> MedQTable:
    """The published table of that name.

    Raises:
        ValueError: there is none; nothing is downloaded for a name that is only nearly right.
    """
    if name not in PUBLISHED_NAMES:
        raise ValueError(
            f"expected a published table of MedQ-Bench, got {name!r}; they are "
            f"{', '.join(PUBLISHED_NAMES)}"
        )
    return MEDQ_TABLE_NAMED[name]


def _prepare_files(
    source: Path,
    table: MedQTable,
    *,
    revision: str | None,
    columns: Mapping[str, str] | None,
    name: str,
    root: Path | None,
    replace: bool,
    progress: bool,
    address: str = "",
) -> PrepareReport:
    paths, warnings = medq_files_in(source, table)
    release = read_medq_tables(
        paths,
        table.kind,
        address=address,
        revision=revision or commit_of(paths[0].parent, ""),
        explicit=columns,
        warnings=warnings,
    )
    return _prepare(release, table, name=name, root=root, replace=replace, progress=progress)


def prepare_medq_release(
    release: MedQRelease,
    *,
    name: str,
    root: Path | None = None,
    replace: bool = False,
    progress: bool = True,
) -> PrepareReport:
    """Store a release that was read or made under one of the names of `MEDQ_TABLES`.

    Raises:
        ValueError: `name` is none of them.
        DataWouldChange: see `prepare_medq`.
    """
    if name not in MEDQ_TABLE_NAMED:
        raise ValueError(
            f"expected one of {', '.join(MEDQ_TABLE_NAMED)}, got {name!r}; use that name"
        )
    table = MEDQ_TABLE_NAMED[name]
    return _prepare(release, table, name=name, root=root, replace=replace, progress=progress)


def _prepare(
    release: MedQRelease,
    table: MedQTable,
    *,
    name: str,
    root: Path | None,
    replace: bool,
    progress: bool,
) -> PrepareReport:
    folder = dataset_root(name, root)
    with sole_writer(folder):
        store = ImageStore(
            folder, replace=replace, guarded=GUARDED_FIELDS, identity="id", keep_unreadable=False
        )
        store.remove_leftovers()
        records = _stored_records(release, table.kind, store, progress)
        index_text = add_indices(records)
        by_id = {record["id"]: record for record in records}
        store.refuse_loss(by_id)
        refuse_new_indices(records, store)
        join_cases(records, _image_hashes, named_by="index")
        report = medq_report_on(release, table, store, records, name=name, index_text=index_text)
        write_jsonl_atomic(folder / TABLE_NAME, records)
        write_json_atomic(folder / MANIFEST_NAME, medq_manifest(report, release, table, store))
        store.remove_stale(by_id)
    return report


def _stored_records(
    release: MedQRelease, kind: Kind, store: ImageStore, progress: bool
) -> list[Record]:
    from tqdm import tqdm

    rows = tqdm(
        release.rows, total=release.count, desc="preparing", unit="row", disable=not progress
    )
    records: list[Record] = []
    seen: Counter[str] = Counter()
    for row in rows:
        record = medq_record_of(row, kind, store)
        add_id(record, seen)
        store.refuse_change(record)
        records.append(record)
    return records


def _image_hashes(record: Record) -> list[str]:
    return [image["sha256"] for image in record["images"] if image]
