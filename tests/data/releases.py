"""Builds small releases in the layouts that are read: official folders, parquet, tables."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

FOLDERS = {"previous": "previous", "reference": "changed", "roi": "previous_mask"}
KEYS = {"previous": "previous_image", "reference": "changed_image", "roi": "previous_mask"}


def encoded(pixels: np.ndarray, kind: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, format=kind)
    return stream.getvalue()


def picture(seed: int, size_wh: tuple[int, int] = (40, 30)) -> bytes:
    shape = (size_wh[1], size_wh[0], 3)
    return encoded(np.random.default_rng(seed).integers(0, 256, shape, dtype=np.uint8))


def mask(share: float = 0.25, size_wh: tuple[int, int] = (40, 30), white: int = 255) -> bytes:
    pixels = np.zeros(size_wh[::-1], dtype=np.uint8)
    pixels[:, : round(size_wh[0] * share)] = white
    return encoded(pixels)


def images_of(number: int) -> dict[str, bytes]:
    return {"previous": picture(number), "reference": picture(1000 + number), "roi": mask()}


def metadata_row(number: int, **changes: Any) -> dict[str, Any]:
    row = {
        "id": number,
        "Organ": "Teeth",
        "Task": "Remove stains.",
        "prompt": f"Remove stain {number}.",
        "rephrased_prompt": "Erase",
        "detailed_prompt": f"Stain {number} is gone.",
        **{KEYS[role]: f"editing/{FOLDERS[role]}/{number}.png" for role in FOLDERS},
        "url": f"https://example.org/{number}.jpg",
    }
    return row | changes


def write_official(
    folder: Path,
    numbers: Iterable[int] = (1, 2, 3),
    *,
    rows: Mapping[int, Mapping[str, Any]] | None = None,
    images: Mapping[int, Mapping[str, bytes | None]] | None = None,
) -> Path:
    """An official layout; `rows` and `images` change single samples, `None` leaves a file out."""
    samples = []
    for number in numbers:
        samples.append(metadata_row(number, **(rows or {}).get(number, {})))
        for role, data in (images_of(number) | dict((images or {}).get(number, {}))).items():
            if data is not None:
                write(folder / "editing" / FOLDERS[role] / f"{number}.png", data)
    text = json.dumps({"samples": samples})
    write(folder / "editing" / "editing_metadata.json", text.encode("utf-8"))
    return folder


def write(path: Path, data: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data)
