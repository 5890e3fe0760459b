"""The sets of images that a distance compares: what a run edited, and what it should look like."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data import MedEBenchData
from ..features import FeatureCache, FeatureExtractor, extracted_features
from ..files import sha256_bytes, sha256_file

REFERENCES = {"changed": "reference", "previous": "previous"}
"""What ``--reference`` may say besides a folder, and the field of a sample it means."""
_SUFFIXES = {".png", ".jpg", ".jpeg", ".webp", ".gif", ".tif", ".tiff", ".bmp"}


@dataclass(frozen=True)
class ImageSet:
    """Image files with what they belong to, in the order of `keys`."""

    what: str
    keys: tuple[int | str, ...]
    """Ids of samples, or names of files."""
    paths: tuple[Path, ...]
    hashes: tuple[str, ...]
    """SHA-256 of the files' bytes."""
    groups: tuple[str, ...]
    """The organ of each, empty where unknown."""
    left_out: Mapping[str, tuple[int | str, ...]] = field(default_factory=dict)
    """Keys of images that should be here and are not, by reason."""

    def __len__(self) -> int:
        return len(self.keys)

    @property
    def sha256(self) -> str:
        """One hash over the contents: equal for equal images in the same order."""
        return sha256_bytes("\n".join(self.hashes).encode("ascii"))

    @property
    def n_distinct(self) -> int:
        return len(set(self.hashes))

    def at(self, positions: Sequence[int]) -> ImageSet:
        """The images at some positions."""
        return replace(
            self,
            keys=tuple(self.keys[it] for it in positions),
            paths=tuple(self.paths[it] for it in positions),
            hashes=tuple(self.hashes[it] for it in positions),
            groups=tuple(self.groups[it] for it in positions),
        )

    def without(self, positions: Collection[int], reason: str) -> ImageSet:
        """The set less some images, which are counted under `reason`."""
        gone = set(positions)
        if not gone:
            return self
        keys = tuple(self.keys[position] for position in sorted(gone))
        kept = self.at([position for position in range(len(self)) if position not in gone])
        return replace(kept, left_out={**self.left_out, reason: keys})


ImageFeatures = tuple[ImageSet, np.ndarray]
"""Images, and their features, shape (N, D), row by row."""


def edited_images(rows: Sequence[Mapping[str, Any]], folder: Path) -> ImageSet:
    """The edited images of a finished run.

    Args:
        rows: the lines of its ``_scores.jsonl``.
        folder: its ``<stem>_images``.

    Raises:
        ValueError: rows of another benchmark; an image that is gone or not the one evaluated.
    """
    if not rows or not all(isinstance(row.get("edited"), Mapping) for row in rows):
        raise ValueError(
            "expected rows with edited images, got those of another benchmark; "
            "name a run of MedEBench"
        )
    left_out: dict[str, list[int]] = {}
    for row in rows:
        if row["edited"]["status"] != "answer":
            left_out.setdefault(str(row["edited"]["status"]), []).append(int(row["index"]))
    kept = [row for row in rows if row["edited"]["status"] == "answer"]
    paths = [folder / str(row["edited"]["file"]) for row in kept]
    for row, path in zip(kept, paths, strict=True):
        if not path.is_file() or sha256_file(path) != row["edited"]["sha256"]:
            raise ValueError(
                f"{path}: the edited image of sample {row['index']} is gone or not the one that "
                "was scored; evaluate the run again"
            )
    return ImageSet(
        "edited",
        tuple(int(row["index"]) for row in kept),
        tuple(paths),
        tuple(str(row["edited"]["sha256"]) for row in kept),
        tuple(str(row.get("organ") or "") for row in kept),
        {status: tuple(ids) for status, ids in left_out.items()},
    )


def images_of_data(data: MedEBenchData, ids: Collection[int], reference: str) -> ImageSet:
    """The changed or the previous images of some samples of prepared data.

    Raises:
        ValueError: an unknown kind of reference, or ids that are none of the data's.
    """
    role = REFERENCES.get(reference)
    if role is None:
        raise ValueError(f"expected one of {', '.join(REFERENCES)} or a folder, got {reference!r}")
    wanted = set(ids)
    samples = [sample for sample in data.samples if sample.id in wanted]
    if len(samples) != len(wanted):
        unknown = sorted(wanted - {sample.id for sample in samples})
        raise ValueError(f"expected ids of {data.name}, got {unknown[:10]}; prepare the data again")
    kept = [(sample, path) for sample in samples if (path := getattr(sample, role)) is not None]
    missing = tuple(sample.id for sample in samples if getattr(sample, role) is None)
    return ImageSet(
        reference,
        tuple(sample.id for sample, _ in kept),
        tuple(path for _, path in kept),
        tuple(sha256_file(path) for _, path in kept),
        tuple(sample.organ for sample, _ in kept),
        {"missing": missing} if missing else {},
    )


def images_of_folder(folder: Path) -> ImageSet:
    """All image files directly in a folder, by name.

    Raises:
        ValueError: there is none.
    """
    paths = sorted(it for it in folder.iterdir() if it.suffix.lower() in _SUFFIXES)
    if not paths:
        raise ValueError(f"{folder}: expected image files in it, got none")
    return ImageSet(
        f"folder {folder.name}",
        tuple(path.name for path in paths),
        tuple(paths),
        tuple(map(sha256_file, paths)),
        ("",) * len(paths),
    )


def features_of_set(
    images: ImageSet, extractor: FeatureExtractor, cache: FeatureCache
) -> ImageFeatures:
    """The images that can be decoded, and their features, kept for the next time.

    Raises:
        ValueError: as `extracted_features`.
    """
    found = cache.recall(images.hashes, extractor)
    if found is None:
        found = extracted_features(
            images.paths, extractor, title=f"Features of {images.what} images"
        )
        cache.remember(images.hashes, extractor, found)
    unreadable = set(range(len(images))) - set(found.positions.tolist())
    return images.without(unreadable, "unreadable"), found.values
