"""Finds the tables of MedQ-Bench on this machine by the file names they are published under."""

from __future__ import annotations

from pathlib import Path

from .medq_remedies import PUBLISHED_NAMES
from .medq_tables import MEDQ_TABLE_NAMED, MEDQ_TABLES, MedQTable
from .remedies import shortened


def medq_names_in(source: Path) -> list[str]:
    """Names of the published tables that a folder holds, or of the one that a file is.

    Raises:
        FileNotFoundError: there is none; the message lists the files looked for and found.
    """
    names = [table.name for table in MEDQ_TABLES if any(_found(source, f) for f in table.files)]
    if not names:
        files = (file for table in MEDQ_TABLES for file in table.files)
        raise FileNotFoundError(
            f"expected one of {', '.join(files)} in {source}, found {_names_in(source)}; give a "
            "copy of the MedQ-Bench repository, or a table with --name to say which one it is"
        )
    return names


def table_for(name: str, source: Path) -> MedQTable:
    """Which table is meant: the one of that name, else the only one that `source` holds.

    Raises:
        FileNotFoundError: `source` is not there.
        ValueError: the name is a sample pack's, or tells nothing and `source` holds several tables.
    """
    if not source.exists():
        raise FileNotFoundError(
            f"expected a folder or a table, {source} is not there; give the MedQ-Bench folder"
        )
    if name in PUBLISHED_NAMES:
        return MEDQ_TABLE_NAMED[name]
    if name in MEDQ_TABLE_NAMED:
        raise ValueError(
            f"{name} is generated, not prepared from files; run medbench data prepare medq-sample"
        )
    names = medq_names_in(source)
    if len(names) > 1:
        raise ValueError(
            f"expected a table for {name!r}, {source} holds {', '.join(names)}; give the file of "
            "one of them"
        )
    return MEDQ_TABLE_NAMED[names[0]]


def medq_files_in(source: Path, table: MedQTable) -> tuple[list[Path], list[str]]:
    """The files of a table, and a warning for each that is absent while another is there.

    Raises:
        FileNotFoundError: none is there.
        ValueError: a folder holds several files of one name.
    """
    if source.is_file():
        others = [file for file in table.files if file != source.name]
        known = source.name in table.files
        return [source], [_absent(file) for file in others] if known else []
    paths = {file: _found(source, file) for file in table.files}
    for file, found in paths.items():
        if len(found) > 1:
            raise ValueError(
                f"expected one {file} in {source}, found {shortened(map(str, found))}; "
                "give the folder of one of them"
            )
    if not any(paths.values()):
        raise FileNotFoundError(
            f"expected {', '.join(table.files)} in {source}, found {_names_in(source)}; give a "
            f"copy of the {table.repository} repository, or the table itself"
        )
    return (
        [found[0] for found in paths.values() if found],
        [_absent(file) for file, found in paths.items() if not found],
    )


def _absent(file: str) -> str:
    return f"{file} is not there: its rows are missing"


def _found(source: Path, file: str) -> list[Path]:
    if source.is_file():
        return [source] if source.name == file else []
    if (source / file).is_file():
        return [source / file]
    return sorted(path for path in source.rglob(file) if path.is_file())


def _names_in(source: Path) -> str:
    if source.is_file():
        return source.name
    files = (path for path in source.rglob("*") if path.is_file())
    return shortened(sorted(str(path.relative_to(source)) for path in files)) or "no files"
