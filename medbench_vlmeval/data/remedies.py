"""What a user is told when data is not there: commands, files, addresses, sizes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from .places import RELEASE_NAME, SAMPLE_PACK_NAME, TABLE_NAME, VARIABLE, lmu_root

N_PUBLISHED_SAMPLES = 1182
GITHUB_ADDRESS = "https://github.com/mliuby/MedEBench"
HUB_REPOSITORY = "LIUMinghao/MedEBench"
HUB_ADDRESS = f"https://huggingface.co/datasets/{HUB_REPOSITORY}"

# The size is that of a snapshot of the GitHub repository (556,369,920 bytes), the numbers of files
# are those of a public listing of it; preparing counts what is really there.
_EXPECTED_FILES = f"""\
Files expected in PATH, about 0.55 GB, for {N_PUBLISHED_SAMPLES:,} samples:
  editing/editing_metadata.json       1 file, 0.9 MB
  editing/previous/{{id}}.png           1,148 files known, the pictures to edit
  editing/changed/{{id}}.png            1,144 files known at most, the references
  editing/previous_mask/{{id}}.png      1,162 files known, the ROI masks
Images that are absent are reported by id and do not stop the preparation."""


class DataNotPrepared(FileNotFoundError):
    """The data set is not on this machine, or not whole; the message says how to prepare it."""


def not_prepared_message(name: str, folder: Path) -> str:
    """What to do when `name` is not prepared."""
    option = f" --name {name}" if name != RELEASE_NAME else ""
    return f"""\
{name} is not prepared: there is no {TABLE_NAME} in {folder}. Nothing was downloaded.
Prepare it once, with either
  medbench data prepare medebench --from PATH{option}
      PATH: a copy of {GITHUB_ADDRESS}
  medbench data prepare medebench --hub{option}
      downloads the same data from {HUB_ADDRESS}
{_EXPECTED_FILES}
{data_folder_line()}
To try the package without the data, use {SAMPLE_PACK_NAME}, which is generated on first use."""


def data_folder_line() -> str:
    """Which data folder was looked into, and why."""
    named = os.environ.get(VARIABLE, "").strip()
    if not named:
        return f"The data folder is {lmu_root()}, because {VARIABLE} is not set."
    state = "exists" if lmu_root().is_dir() else "does not exist yet; preparing data creates it"
    return f"The data folder is {lmu_root()}, named by {VARIABLE}; it {state}."


def files_gone_message(name: str, folder: Path, missing: Sequence[Path]) -> str:
    """What to do when images that the table lists are no longer there."""
    files = shortened((str(path.relative_to(folder)) for path in missing), limit=5)
    return (
        f"{name} is not whole: {len(missing)} files listed in {folder / TABLE_NAME} are gone "
        f"({files}). Run the same `medbench data prepare` command again; it copies only what is "
        "missing."
    )


def shortened(items: Iterable[object], *, limit: int = 20) -> str:
    """The first items, separated by commas, and how many there are when some are left out."""
    texts = [str(item) for item in items]
    more = f", … ({len(texts)} in all)" if len(texts) > limit else ""
    return ", ".join(texts[:limit]) + more
