"""Training triplets on disk, as diffusers' InstructPix2Pix script and `datasets` read them.

The script (examples/instruct_pix2pix/train_instruct_pix2pix.py of huggingface/diffusers) takes the
columns ``input_image``, ``edit_prompt`` and ``edited_image`` unless told otherwise.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from ..files import sha256_bytes, write_jsonl_atomic
from .medebench import MedEBenchSample
from .store import remove_parts, stored_once

COLUMNS = {"input_image": "previous", "edited_image": "reference"}
"""Column of the training script to the image role behind it."""
PROMPT_COLUMN = "edit_prompt"
FORMATS = ("imagefolder", "parquet")
TRAIN_FOLDER = "train"
PARQUET_NAME = "train-00000-of-00001.parquet"
METADATA_NAME = "metadata.jsonl"

_ROWS_PER_GROUP = 32
_TEXT = {"dtype": "string", "_type": "Value"}
_FEATURES: dict[str, Any] = {
    "input_image": {"_type": "Image"},
    PROMPT_COLUMN: _TEXT,
    "edited_image": {"_type": "Image"},
    "id": {"dtype": "int64", "_type": "Value"},
    "organ": _TEXT,
    "task": _TEXT,
}


def write_imagefolder(folder: Path, samples: Iterable[MedEBenchSample]) -> list[str]:
    """Write the files' own bytes and ``metadata.jsonl`` below `folder`; gives the names written.

    A picture that is there already, with the right bytes, is not written again.

    Raises:
        ValueError: an image is no longer the one that was prepared.
    """
    rows: list[dict[str, Any]] = []
    names = [f"{TRAIN_FOLDER}/{METADATA_NAME}"]
    for sample in samples:
        row: dict[str, Any] = {}
        for column, role in COLUMNS.items():
            data = prepared_bytes(sample, role)
            inner = f"{column}/{_file_name(sample, role)}"
            stored_once(folder / TRAIN_FOLDER / inner, data, sample.sha256[role])
            names.append(f"{TRAIN_FOLDER}/{inner}")
            # `datasets` makes an image column `x` of every key `x_file_name`.
            row[f"{column}_file_name"] = inner
        rows.append(row | _texts(sample))
    write_jsonl_atomic(folder / names[0], rows)
    return names


def write_parquet(folder: Path, samples: Iterable[MedEBenchSample]) -> list[str]:
    """Write one parquet file with the images inside; gives its name.

    An image is a struct of ``bytes`` and ``path``, and the schema's metadata names the features,
    which is how `datasets` stores images.

    Raises:
        ValueError: an image is no longer the one that was prepared.
        ImportError: pyarrow is not installed.
    """
    pyarrow = _pyarrow()
    path = folder / TRAIN_FOLDER / PARQUET_NAME
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    schema = _schema(pyarrow)
    try:
        with pyarrow.parquet.ParquetWriter(part, schema) as writer:
            for rows in _grouped(samples):
                writer.write_table(pyarrow.Table.from_pylist(rows, schema=schema))
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise
    return [f"{TRAIN_FOLDER}/{PARQUET_NAME}"]


def remove_others(folder: Path, names: Sequence[str]) -> None:
    """Remove what an earlier export left in the training folder and `names` does not list."""
    train = folder / TRAIN_FOLDER
    places = [train, *(train / column for column in COLUMNS)]
    remove_parts(places)
    kept = {folder / name for name in names}
    for place in places:
        for path in place.glob("*") if place.is_dir() else ():
            if path.is_file() and path not in kept:
                path.unlink()


def prepared_bytes(sample: MedEBenchSample, role: str) -> bytes:
    """The bytes of one image, checked against the hash of the preparation.

    Raises:
        ValueError: they differ.
    """
    path: Path = getattr(sample, role)
    data = path.read_bytes()
    if sha256_bytes(data) != sample.sha256[role]:
        raise ValueError(
            f"expected {path} as it was prepared, got other bytes; "
            "`medbench data verify` lists such files, preparing the data again mends them"
        )
    return data


def _file_name(sample: MedEBenchSample, role: str) -> str:
    path: Path = getattr(sample, role)
    return f"{sample.id}{path.suffix.lower()}"


def _texts(sample: MedEBenchSample) -> dict[str, Any]:
    return {
        PROMPT_COLUMN: sample.instruction,
        "id": sample.id,
        "organ": sample.organ,
        "task": sample.task,
    }


def _grouped(samples: Iterable[MedEBenchSample]) -> Iterator[list[dict[str, Any]]]:
    rows: list[dict[str, Any]] = []
    for sample in samples:
        images = {
            column: {"bytes": prepared_bytes(sample, role), "path": _file_name(sample, role)}
            for column, role in COLUMNS.items()
        }
        rows.append(images | _texts(sample))
        if len(rows) == _ROWS_PER_GROUP:
            yield rows
            rows = []
    if rows:
        yield rows


def _schema(pyarrow: Any) -> Any:
    image = pyarrow.struct({"bytes": pyarrow.binary(), "path": pyarrow.string()})
    types = {"Image": image, "string": pyarrow.string(), "int64": pyarrow.int64()}
    fields = [
        pyarrow.field(name, types[feature.get("dtype", feature["_type"])])
        for name, feature in _FEATURES.items()
    ]
    described = json.dumps({"info": {"features": _FEATURES}})
    return pyarrow.schema(fields, metadata={"huggingface": described})


def _pyarrow() -> Any:
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise ImportError(
            'writing parquet files needs pyarrow: pip install "medbench-vlmeval[hub]", '
            "or choose --format imagefolder"
        ) from error
    return pyarrow
