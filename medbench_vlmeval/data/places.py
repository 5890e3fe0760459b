"""Where prepared data lies on disk, and which folder an image belongs to."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..files import sha256_bytes

VARIABLE = "LMUData"
TABLE_NAME = "samples.jsonl"
MANIFEST_NAME = "manifest.json"
RELEASE_NAME = "MedEBench_test"
"""Name under which the full release is prepared."""
SAMPLE_PACK_NAME = "MedEBench_sample"
"""Name of the generated pack, see `sample_pack`."""

ROLE_FOLDERS = {"previous": "previous", "reference": "changed", "roi": "previous_mask"}
"""Folder of each image role; the folder names are those of the released MedEBench data."""

IMAGES_FOLDER = "images"
"""Holds every image once, named by the hash of its bytes, in 256 folders; not for MedEBench."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]*")


def lmu_root() -> Path:
    """The folder that VLMEvalKit and this package keep data in: `$LMUData`, or `~/LMUData`.

    Nothing is created here. Where the variable names a folder that does not exist, VLMEvalKit
    silently uses `~/LMUData`; this package does not: preparing data creates the named folder, and
    loading data says that it is not there.
    """
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser() if named else Path.home() / "LMUData"


def dataset_root(name: str, root: Path | None = None) -> Path:
    """Folder of the prepared data set `name` under `root` (default: `lmu_root()`).

    Raises:
        ValueError: the name could leave the data folder.
    """
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"expected a data set name of letters, digits, '_', '-', '.', got {name!r}"
        )
    return (root if root is not None else lmu_root()) / "medbench" / name


def data_root_of(image_path: Path | str) -> Path | None:
    """The prepared data set an image lies in, or `None`.

    Works on the text of the path: ``…/MedEBench_test/previous/34.png`` gives ``…/MedEBench_test``
    when that folder holds a sample table.
    """
    path = Path(os.path.abspath(image_path))  # noqa: PTH100 - resolve() would follow links out of the data set
    if path.parent.name not in ROLE_FOLDERS.values():
        return None
    root = path.parent.parent
    return root if (root / TABLE_NAME).is_file() else None


def stamp_of(path: Path) -> str:
    """A short text that changes when the file is replaced; the key of cached readings."""
    state = path.stat()
    return sha256_bytes(f"{path}|{state.st_mtime_ns}|{state.st_size}|{state.st_ino}".encode())[:16]
