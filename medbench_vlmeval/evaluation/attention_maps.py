"""Files of attention maps: one a sample, written when an editor is watched, or by anybody else.

``34.npz`` holds the maps of the words asked of sample 34, ``34.png`` one grey map (brighter is more
attention). docs/attention.md describes both.
"""

from __future__ import annotations

import io
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from PIL import Image, UnidentifiedImageError

from ..files import to_plain, write_bytes_atomic

Maps = NDArray[np.float32]

WHOLE = (1.0, 1.0)
"""The picture fills the frame that the maps cover."""


class MapsUnreadable(ValueError):
    """A file of attention maps that is damaged or holds something else."""


@dataclass(frozen=True, eq=False)
class AttentionMaps:
    """Attention of one edit."""

    maps: Maps
    """(T, H, W) float32, one map a token; not negative."""
    tokens: tuple[str, ...]
    """T tokens as the tokenizer names them; empty for one map whose word its maker chose."""
    content_wh: tuple[float, float] = WHOLE
    """Where the picture lies in the frame that the maps cover, from the top left, as fractions of
    width and height; smaller than 1 only where an editor pads."""
    truncated: bool = False
    """The prompt was longer than what the text encoder reads."""
    edited_sha256: str = ""
    """Of the image file that the edit gave, where known."""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def mean_of(self, positions: Sequence[int]) -> Maps:
        """The map of a word of several pieces: the mean over them, cut to the picture.

        Args:
            positions: of the word's tokens; ignored for a map without tokens.
        """
        chosen = self.maps[list(positions)] if self.tokens else self.maps
        width, height = self.content_wh
        rows = max(1, round(chosen.shape[1] * height))
        columns = max(1, round(chosen.shape[2] * width))
        return np.asarray(chosen[:, :rows, :columns].mean(axis=0), dtype=np.float32)


def write_maps(path: Path, maps: AttentionMaps) -> Path:
    """Write an npz, atomically.

    Each token's map is stored as float16 between its lowest and highest value, which stand beside
    it in float32: raw attention of a word is often a few thousandths with little contrast, and
    float16 alone would round the contrast away.
    """
    low = maps.maps.min(axis=(1, 2))
    spread = maps.maps.max(axis=(1, 2)) - low
    scale = np.where(spread > 0, spread, 1.0)[:, None, None]
    stream = io.BytesIO()
    np.savez_compressed(
        stream,
        maps=((maps.maps - low[:, None, None]) / scale).astype(np.float16),
        low=low.astype(np.float32),
        high=(low + spread).astype(np.float32),
        tokens=np.array(maps.tokens, dtype=np.str_),
        content_wh=np.array(maps.content_wh, dtype=np.float64),
        truncated=np.array(maps.truncated),
        edited_sha256=np.array(maps.edited_sha256),
        settings=np.array(json.dumps(to_plain(maps.settings), sort_keys=True)),
    )
    return write_bytes_atomic(path, stream.getvalue())


def read_maps(path: Path) -> AttentionMaps:
    """Maps of a file, npz or png.

    Raises:
        MapsUnreadable: damaged, or not of the documented form; the message names the file.
        FileNotFoundError: there is no such file.
    """
    try:
        if path.suffix.lower() == ".png":
            return AttentionMaps(_grey(path)[None], ())
        with np.load(path, allow_pickle=False) as archive:
            return _from_archive({name: archive[name] for name in archive.files})
    except FileNotFoundError:
        raise
    # numpy and Pillow tell of damage in many ways
    except (ValueError, OSError, KeyError, TypeError, EOFError, zipfile.BadZipFile) as error:
        raise MapsUnreadable(f"{path}: {error}") from error
    except (zlib.error, UnidentifiedImageError) as error:
        raise MapsUnreadable(f"{path}: {error}") from error


def _grey(path: Path) -> Maps:
    with Image.open(path) as image:
        if image.mode not in ("L", "I;16", "I", "F", "1"):
            raise ValueError(
                f"expected a grey picture of one channel, got mode {image.mode}; a coloured heat "
                "map does not say how much attention its colours mean"
            )
        return np.asarray(image, dtype=np.float32)


def _from_archive(held: Mapping[str, Any]) -> AttentionMaps:
    if "maps" not in held and "map" not in held:
        raise ValueError(f"expected an array 'maps' or 'map', got {sorted(held)}")
    maps = np.asarray(held["maps"] if "maps" in held else held["map"][None], dtype=np.float32)
    tokens = tuple(str(token) for token in held.get("tokens", ()))
    if maps.ndim != 3 or 0 in maps.shape or len(maps) != max(1, len(tokens)):
        raise ValueError(
            f"expected maps of shape (tokens, H, W), got {maps.shape} with {len(tokens)} tokens"
        )
    if "low" in held:
        low, high = (np.asarray(held[it], np.float32)[:, None, None] for it in ("low", "high"))
        maps = low + maps * (high - low)
    width, height = (float(it) for it in held.get("content_wh", WHOLE))
    if not (0 < width <= 1 and 0 < height <= 1):
        raise ValueError(f"expected content_wh to be fractions in (0, 1], got {width}, {height}")
    return AttentionMaps(
        maps=maps,
        tokens=tokens,
        content_wh=(width, height),
        truncated=bool(held.get("truncated", False)),
        edited_sha256=str(held.get("edited_sha256", "")),
        settings=json.loads(str(held.get("settings", "{}"))),
    )


def maps_folder(folder: Path) -> dict[int, Path]:
    """The files of a folder by the sample they belong to; other names are left alone.

    Raises:
        NotADirectoryError: there is no such folder.
        ValueError: two files for one sample.
    """
    if not folder.is_dir():
        raise NotADirectoryError(f"expected a folder of attention maps, got {folder}")
    found: dict[int, Path] = {}
    for path in sorted(folder.iterdir()):
        if path.suffix.lower() not in (".npz", ".png") or not path.stem.isdecimal():
            continue
        other = found.setdefault(int(path.stem), path)
        if other is not path:
            raise ValueError(
                f"{folder}: expected one file a sample, got {other.name} and {path.name}; "
                "remove one of them"
            )
    return found
