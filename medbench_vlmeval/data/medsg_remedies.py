"""What a user is told when MedSG-Bench data is not there: commands, files, addresses, sizes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from .medsg_tasks import (
    MEDSG_RELEASE_NAME,
    MEDSG_SAMPLE_PACK_NAME,
    MEDSG_TASKS,
    N_PUBLISHED_MEDSG,
    prepared_name,
)
from .places import TABLE_NAME
from .remedies import data_folder_line, shortened

MEDSG_REPOSITORY = "MedSG-Bench/MedSG-Bench"
MEDSG_ADDRESS = f"https://huggingface.co/datasets/{MEDSG_REPOSITORY}"


def medsg_not_prepared_message(name: str, folder: Path) -> str:
    """What to do when `name` is not prepared, or the task it names is not in what was prepared."""
    whole = prepared_name(name)
    option = f" --name {whole}" if whole != MEDSG_RELEASE_NAME else ""
    there = (folder / TABLE_NAME).is_file()
    cause = (
        f"{folder} holds no samples of it"
        if there
        else f"there is no {TABLE_NAME} in {folder}. Nothing was downloaded"
    )
    counts = ", ".join(f"{task.number} {task.key} {task.n_published}" for task in MEDSG_TASKS)
    return f"""\
{name} is not prepared: {cause}.
Prepare it once, with either
  medbench data prepare medsg --from PATH{option}
      PATH: a copy of {MEDSG_ADDRESS}, or of its parquet mirror
  medbench data prepare medsg --hub{option}
      downloads the benchmark part of the same data
Files expected in PATH, for {N_PUBLISHED_MEDSG:,} samples (the whole repository, with the training
part that is not read, has about 7.1 GB):
  MedSG-Bench/Task1.json … Task8.json   the questions and answers
  MedSG-Bench/Task1.zip … Task8.zip     the images; folders Task1 … Task8 will do as well
Samples by task: {counts}.
Images that are absent are reported by id and do not stop the preparation.
{data_folder_line()}
To try the package without the data, use {MEDSG_SAMPLE_PACK_NAME}, which is generated on first use.\
"""


def medsg_files_gone_message(name: str, folder: Path, missing: Sequence[Path]) -> str:
    """What to do when images that the table lists are no longer there."""
    files = shortened((path.relative_to(folder).as_posix() for path in missing), limit=3)
    return (
        f"{name} is not whole: {len(missing)} files listed in {folder / TABLE_NAME} are gone "
        f"({files}). Run the same `medbench data prepare medsg` command again; it copies only what "
        "is missing."
    )
