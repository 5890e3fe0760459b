"""Edited images by their content, and a memory of which input made which image."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from ..files import sha256_bytes, sha256_file, write_bytes_atomic, write_json_atomic
from .replies import read_edit_reply
from .stored import SUFFIX_BY_FORMAT, StoredImage, image_format

STORE_VARIABLE = "MEDBENCH_VLMEVAL_STORE"


class EditStore:
    """Edited images by the SHA-256 of their bytes, and a memory of which input made which image.

    Every write is atomic and names its content, so threads, processes and ranks may share a store.

    Args:
        root: folder of the store, made at the first write.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def default(cls) -> EditStore:
        """This user's store: ``$MEDBENCH_VLMEVAL_STORE``, else ``<LMUData>/medbench/edits``."""
        from ..data import lmu_root

        configured = os.environ.get(STORE_VARIABLE)
        return cls(
            Path(configured).expanduser() if configured else lmu_root() / "medbench" / "edits"
        )

    def path(self, image: StoredImage) -> Path:
        return self.root / image.sha256[:2] / image.file_name

    def add(self, data: bytes) -> StoredImage:
        """Store image bytes as they are.

        Raises:
            ValueError: the bytes are not an image of a known format.
        """
        kind = image_format(data)
        if kind is None:
            raise ValueError(
                f"expected the bytes of one of {', '.join(sorted(SUFFIX_BY_FORMAT))}, "
                f"got {len(data)} bytes that start with {data[:8]!r}"
            )
        image = StoredImage(sha256_bytes(data), kind)
        if not self.holds(image):
            write_bytes_atomic(self.path(image), data)
        return image

    def holds(self, image: StoredImage) -> bool:
        """Whether the store has the image, whole."""
        path = self.path(image)
        return path.is_file() and sha256_file(path) == image.sha256

    def remember(self, key: str, line: str) -> None:
        """Keep the reply that editing gave for `key` (see `edit_key`)."""
        write_json_atomic(self._memo(key), {"reply": line})

    def recall(self, key: str) -> str | None:
        """The reply kept for `key`, if its image is still in the store."""
        try:
            line = json.loads(self._memo(key).read_text(encoding="utf-8"))["reply"]
        except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
            return None
        reply = read_edit_reply(line)
        return line if reply.stored is not None and self.holds(reply.stored) else None

    def describe(self, editor: Mapping[str, Any]) -> str:
        """Keep the description of an editor and its settings under a short name for its lines."""
        text = json.dumps(dict(editor), sort_keys=True, default=str)
        name = sha256_bytes(text.encode("utf-8", "replace"))[:12]
        path = self._description(name)
        if not path.is_file():
            write_json_atomic(path, json.loads(text))
        return name

    def description(self, name: str) -> dict[str, Any] | None:
        """What `describe` kept under `name`; None when this store does not know it."""
        try:
            described: dict[str, Any] = json.loads(
                self._description(name).read_text(encoding="utf-8")
            )
        except (OSError, json.JSONDecodeError):
            return None
        return described

    def _description(self, name: str) -> Path:
        return self.root / "editors" / f"{name}.json"

    def _memo(self, key: str) -> Path:
        return self.root / "memo" / key[:2] / f"{key}.json"


def edit_key(
    *, model: str, settings: Mapping[str, Any], instruction: str, images: Iterable[bytes], seed: int
) -> str:
    """The identity of one edit: same model, settings, words, input bytes and seed, same key."""
    identity = {
        "model": model,
        "settings": dict(settings),
        "instruction": instruction,
        "images": [sha256_bytes(data) for data in images],
        "seed": seed,
    }
    return sha256_bytes(
        json.dumps(identity, sort_keys=True, default=str).encode("utf-8", "replace")
    )
