"""Features of image files, in batches, and kept by content so that a set is run through once."""

from __future__ import annotations

import io
import json
import logging
import os
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from platformdirs import user_cache_path
from tqdm import tqdm

from ..files import json_line, sha256_bytes, write_bytes_atomic
from ..images import ImageUnreadable, read_rgb
from .extractor import FeatureExtractor, identity_of

logger = logging.getLogger(__name__)

CACHE_VARIABLE = "MEDBENCH_FEATURE_CACHE"
"""Environment variable for the folder that features are kept in."""
BATCH_SIZE = 16
_LAYOUT = 1


@dataclass(frozen=True, eq=False)
class ExtractedFeatures:
    """Features of those images of a set that could be decoded."""

    values: np.ndarray
    """(N, dim) float32, or float64 where the extractor gives that."""
    positions: np.ndarray
    """(N,) positions of their images in the set, ascending."""


class FeatureCache:
    """Features by the content of the images and the extractor's identity.

    Files are written atomically and name what they hold; all of them can be deleted at any time.

    Args:
        root: their folder, made at the first write; by default ``$MEDBENCH_FEATURE_CACHE``, else
            a part of this user's cache folder.
    """

    def __init__(self, root: Path | None = None) -> None:
        configured = os.environ.get(CACHE_VARIABLE, "").strip()
        default = (
            Path(configured).expanduser()
            if configured
            else user_cache_path("medbench_vlmeval") / "features"
        )
        self.root = root or default

    def path(self, hashes: Sequence[str], extractor: FeatureExtractor) -> Path:
        """Where the features of images with these SHA-256, in this order, are kept."""
        identity = {"layout": _LAYOUT, **identity_of(extractor), "images": list(hashes)}
        key = sha256_bytes(json.dumps(identity, sort_keys=True).encode("utf-8"))
        return self.root / f"{extractor.name}-{key[:32]}.npz"

    def recall(
        self, hashes: Sequence[str], extractor: FeatureExtractor
    ) -> ExtractedFeatures | None:
        """What `remember` kept; None when there is nothing, or not what it should be."""
        path = self.path(hashes, extractor)
        try:
            with np.load(path, allow_pickle=False) as stored:
                found = ExtractedFeatures(stored["values"], stored["positions"])
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile):
            logger.warning("%s is damaged and is made again", path)
            return None
        return found if _fits(found, len(hashes), extractor.dim) else None

    def remember(
        self, hashes: Sequence[str], extractor: FeatureExtractor, found: ExtractedFeatures
    ) -> Path:
        stream = io.BytesIO()
        about = json_line(identity_of(extractor))
        np.savez(stream, values=found.values, positions=found.positions, about=np.array(about))
        return write_bytes_atomic(self.path(hashes, extractor), stream.getvalue())


def extracted_features(
    paths: Sequence[Path],
    extractor: FeatureExtractor,
    *,
    batch_size: int = BATCH_SIZE,
    title: str = "Extracting features",
) -> ExtractedFeatures:
    """The features of image files, each decoded by the rules of `images.read_rgb`.

    Files that cannot be decoded are left out; `positions` says which remain.

    Raises:
        ValueError: the extractor gives another shape than it says, or NaN or infinity.
        FileNotFoundError: there is no such file.
    """
    values: list[np.ndarray] = []
    positions: list[int] = []
    starts = range(0, len(paths), batch_size)
    for start in tqdm(starts, desc=title, unit="batch", disable=len(paths) < 50):
        batch = {
            start + number: pixels
            for number, path in enumerate(paths[start : start + batch_size])
            if (pixels := _pixels(path)) is not None
        }
        if batch:
            values.append(_checked(extractor(list(batch.values())), len(batch), extractor))
            positions += batch
    found = np.concatenate(values) if values else np.empty((0, extractor.dim))
    return ExtractedFeatures(found, np.array(positions, dtype=np.int64))


def _pixels(path: Path) -> np.ndarray | None:
    try:
        return read_rgb(path).pixels
    except ImageUnreadable as error:
        logger.warning("left out: %s", error)
        return None


def _checked(features: np.ndarray, n: int, extractor: FeatureExtractor) -> np.ndarray:
    values = np.asarray(features)
    if values.dtype not in (np.float32, np.float64):
        values = values.astype(np.float64)
    if values.shape != (n, extractor.dim):
        raise ValueError(
            f"expected features of shape {(n, extractor.dim)} from {extractor.name}, "
            f"got {values.shape}"
        )
    if not np.isfinite(values).all():
        raise ValueError(f"expected finite features from {extractor.name}, got NaN or infinity")
    return values


def _fits(found: ExtractedFeatures, n: int, dim: int) -> bool:
    rows = len(found.positions)
    return (
        found.values.shape == (rows, dim)
        and rows <= n
        and bool(np.isfinite(found.values).all())
        and bool((np.diff(found.positions) > 0).all())
        and (not rows or (found.positions[0] >= 0 and found.positions[-1] < n))
    )
