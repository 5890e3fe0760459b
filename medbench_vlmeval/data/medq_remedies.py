"""What a user is told when MedQ-Bench data is not there: commands, files, addresses, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .medq_tables import MEDQ_TABLE_NAMED, MEDQ_TABLES, MedQTable
from .places import TABLE_NAME
from .remedies import data_folder_line, shortened

MEDQ_NAMES = tuple(table.name for table in MEDQ_TABLES)
PUBLISHED_NAMES = tuple(table.name for table in MEDQ_TABLES if not table.is_sample)


def medq_not_prepared_message(name: str, folder: Path) -> str:
    """What to do when `name` is not prepared."""
    table = MEDQ_TABLE_NAMED.get(name)
    cause = f"{name} is not prepared: there is no {TABLE_NAME} in {folder}. Nothing was downloaded."
    if table is None:
        return f"""\
{cause}
Data sets of MedQ-Bench are {", ".join(MEDQ_NAMES)}.
A table of your own is prepared under another name with
  medbench data prepare medq --from TABLE.tsv --name {name}
where TABLE.tsv has the file name of a published table.
{data_folder_line()}"""
    if table.is_sample:
        return f"""\
{cause}
It is generated on first use, or now with
  medbench data prepare medq-sample
{data_folder_line()}"""
    return f"{cause}\n{_commands(table)}\n{data_folder_line()}\n{_sample_line(table)}"


def _commands(table: MedQTable) -> str:
    address = f"https://huggingface.co/datasets/{table.repository}"
    size = f", {table.n_published} rows" if table.n_published else ""
    files = "\n".join(f"  {file}" for file in table.files)
    return f"""\
Prepare it once, with either
  medbench data prepare medq --from PATH --name {table.name}
      PATH: a copy of {address}, or the table itself
  medbench data prepare medq --hub --name {table.name}
      downloads the same from there, nothing else
Expected in PATH, a table with the images inside{size}:
{files}"""


def _sample_line(table: MedQTable) -> str:
    sample = next(
        other.name for other in MEDQ_TABLES if other.is_sample and other.kind == table.kind
    )
    return f"To try the package without the data, use {sample}, which is generated on first use."


def medq_files_gone_message(name: str, folder: Path, missing: Sequence[Path]) -> str:
    """What to do when images that the table lists are no longer there."""
    files = shortened((path.relative_to(folder).as_posix() for path in missing), limit=3)
    return (
        f"{name} is not whole: {len(missing)} files listed in {folder / TABLE_NAME} are gone "
        f"({files}). Run the same `medbench data prepare` command again; it copies only what is "
        "missing."
    )
