"""Builds small MedSG-Bench releases: tables with zip files or folders, and the parquet mirror."""

from __future__ import annotations

import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from medbench_vlmeval.data import MEDSG_TASKS

from .releases import encoded, write

Rows = Mapping[str, Sequence[Mapping[str, Any]]]
"""Rows by task key."""

WH = (336, 336)
NUMBER_OF = {task.key: task.number for task in MEDSG_TASKS}
N_IMAGES = {
    "Registered_Diff": 2,
    "Non_Registered_Diff": 2,
    "multi_view": 3,
    "object_tracking": 4,
    "concept": 2,
    "patch": 3,
    "crossmodal": 2,
    "referring": 3,
}
QUESTIONS = {
    "Registered_Diff": "Compare these two images carefully.",
    "Non_Registered_Diff": "Compare these two images carefully.",
    "multi_view": "These images share one object in common(the object marked with red bounding box "
    "in the first image(<|box_start|>(15,12),(20,17)<|box_end|>). Recognize and locate this object "
    "in the third image.",
    "object_tracking": "Track the object of the first image. Where is it in the fourth image?",
    "concept": "Find and locate where does the object in image-1 locate in the image-2.",
    "patch": "You are given a source image followed by its several regions. Please locate the "
    "second region picture in the source image.",
    "crossmodal": "For the area marked by the red bounding box in the first image, identify the "
    "corresponding area in the second image.",
    "referring": "Please find the bounding box coordinates for the area described by: "
    "<|object_ref_start|>Skin<|object_ref_end|>.",
}


def row(key: str, number: int = 0, /, **changes: Any) -> dict[str, Any]:
    """One row as published; its images are named by task, row and position."""
    made: dict[str, Any] = {
        "task": key,
        "images": [
            f"MedSG-Bench/MedSG-Bench/Task{NUMBER_OF[key]}/set/{number}_{position}.png"
            for position in range(1, N_IMAGES[key] + 1)
        ],
        "question": QUESTIONS[key],
        "answer": [10, 11 + number, 100, 120],
        "additional_info": None,
        "need_format": True,
    }
    if key == "multi_view":
        made["size"] = list(WH)
    return made | changes


def rows_of_all_tasks(per_task: int = 1) -> dict[str, list[dict[str, Any]]]:
    return {key: [row(key, number) for number in range(per_task)] for key in NUMBER_OF}


@cache
def image_bytes(name: str) -> bytes:
    """A picture that depends on the name alone."""
    noise = np.random.default_rng(zlib.crc32(name.encode())).integers(0, 256, (12, 12, 3))
    return encoded(np.tile(noise.astype(np.uint8), (28, 28, 1)))


def members(rows: Rows, images: Mapping[str, bytes | None]) -> dict[str, dict[str, bytes]]:
    """Zip members by task, named as in the release; `None` in `images` leaves one out."""
    found: dict[str, dict[str, bytes]] = {}
    for key, of_task in rows.items():
        for each in of_task:
            for name in each["images"] or ():
                member = name.removeprefix("MedSG-Bench/MedSG-Bench/")
                data = images.get(member, b"") if member in images else image_bytes(member)
                if data is not None:
                    found.setdefault(key, {})[member] = data
    return found


def write_tables(folder: Path, rows: Rows) -> Path:
    for key, of_task in rows.items():
        text = json.dumps(list(of_task))
        write(folder / "MedSG-Bench" / f"Task{NUMBER_OF[key]}.json", text.encode("utf-8"))
    return folder


def write_zipped(
    folder: Path, rows: Rows, *, images: Mapping[str, bytes | None] | None = None
) -> Path:
    """Tables with one zip file a task; `images` replaces members, `None` leaves one out."""
    write_tables(folder, rows)
    for key, of_task in members(rows, images or {}).items():
        with zipfile.ZipFile(folder / "MedSG-Bench" / f"Task{NUMBER_OF[key]}.zip", "w") as archive:
            for member, data in of_task.items():
                archive.writestr(member, data)
    return folder


def write_unpacked(
    folder: Path, rows: Rows, *, images: Mapping[str, bytes | None] | None = None
) -> Path:
    """The same with the zip files unpacked."""
    write_tables(folder, rows)
    for of_task in members(rows, images or {}).values():
        for member, data in of_task.items():
            write(folder / "MedSG-Bench" / member, data)
    return folder


def mirror_row(published: Mapping[str, Any], **changes: Any) -> dict[str, Any]:
    """A published row as the parquet mirror holds it."""
    names = published["images"]
    cells: dict[str, Any] = {
        "split": "bench",
        "id": None,
        "task": published["task"],
        "question": published["question"],
        "answer_xyxy": published["answer"],
        "answer_raw_json": json.dumps(published["answer"]),
        "additional_info": published["additional_info"],
        "need_format": published["need_format"],
        "images_json": json.dumps(names),
        "raw_json": json.dumps(dict(published)),
        "num_images": len(names),
    }
    for position in range(1, 7):
        name = names[position - 1] if position <= len(names) else None
        member = name and name.removeprefix("MedSG-Bench/MedSG-Bench/")
        cells[f"image_path_{position}"] = name
        cells[f"image_bytes_{position}"] = image_bytes(member) if member else None
    return cells | changes


def write_mirror(
    folder: Path,
    rows: Sequence[Mapping[str, Any]],
    name: str = "bench-0",
    *,
    row_group_size: int | None = None,
) -> Path:
    import pyarrow as pa
    import pyarrow.parquet

    folder.mkdir(parents=True, exist_ok=True)
    types = {f"image_bytes_{position}": pa.binary() for position in range(1, 7)} | {
        f"image_path_{position}": pa.string() for position in range(1, 7)
    }
    columns = {
        column: pa.array([each.get(column) for each in rows], type=types.get(column))
        for column in rows[0]
    }
    path = folder / f"{name}.parquet"
    pa.parquet.write_table(pa.table(columns), path, row_group_size=row_group_size)
    return folder
