"""Asking an image editor of the zoo from a test, one row or many at the same time."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image

from medbench_vlmeval.editing import EditReply, read_edit_reply
from medbench_vlmeval.files import read_jsonl, sha256_bytes

from .image_servers import KEY, Request

QUICK = {"api_key": KEY, "backoff_s": 0.01, "timeout_s": 20.0}


@dataclass(frozen=True)
class Pictures:
    """One small picture per row, and a store of their edits."""

    folder: Path

    @property
    def store(self) -> Path:
        return self.folder / "store"

    def message(self, row: int, *earlier: Path) -> list[dict[str, str]]:
        path = self.folder / f"{row}.png"
        if not path.exists():
            pixels = np.random.default_rng(row).integers(0, 256, (12, 16, 3), dtype=np.uint8)
            Image.fromarray(pixels).save(path)
        images = [{"type": "image", "value": str(it)} for it in (*earlier, path)]
        return [*images, {"type": "text", "value": f"Remove the clip in row {row}."}]

    def ask(self, editor: Any, row: int) -> EditReply:
        return read_edit_reply(editor.generate(self.message(row), "MedEBench_sample"))

    def ask_all(self, editor: Any, rows: Iterable[int], threads: int = 16) -> list[EditReply]:
        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(lambda row: self.ask(editor, row), rows))

    def records(self, name: str) -> list[dict[str, Any]]:
        return read_jsonl(self.store / "api" / f"{name}.jsonl")[0]


def by_arrival() -> Callable[[Request], int]:
    """Numbers edits from 1 in the order in which they first came."""
    known: dict[tuple[str, str], int] = {}

    def row_of(request: Request) -> int:
        edit = (request.words, sha256_bytes(request.images[-1]))
        return known.setdefault(edit, len(known) + 1)

    return row_of


def files_with(text: str, folder: Path) -> list[Path]:
    """Files below `folder` that hold `text`, in UTF-8 or as JSON writes it."""
    wanted = (text.encode(), json.dumps(text)[1:-1].encode())
    paths = [path for path in folder.rglob("*") if path.is_file()]
    return [path for path in paths if any(it in path.read_bytes() for it in wanted)]
