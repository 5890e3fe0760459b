"""What turns images into features, and how a distance of its features may be called."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

INCEPTION = "inception"
FID_WEIGHTS_SHA256 = "6726825d"
"""First digits of the SHA-256 of FID's weights, which the names of the published files end with
(``pt_inception-2015-12-05-6726825d.pth`` and ``weights-inception-2015-12-05-6726825d.pth``)."""


class FeatureExtractor(Protocol):
    """A network, or anything else that gives each image a vector of numbers."""

    @property
    def name(self) -> str:
        """Short, of letters, digits and ``_``; distances are called after it."""

    @property
    def sha256(self) -> str:
        """Of the weights: what else decides the features, apart from `name` and `resize`."""

    @property
    def resize(self) -> str:
        """How images are brought to the size of the network, in words."""

    @property
    def dim(self) -> int:
        """Length of a feature vector."""

    def __call__(self, images: Sequence[np.ndarray], /) -> np.ndarray:
        """Features of shape (N, dim) of N images, each (H, W, 3) uint8 RGB of any size."""


@dataclass(frozen=True)
class FeatureFunction:
    """Any function of images as a `FeatureExtractor`.

    Raises:
        ValueError: a name that no file or column can carry, or one that belongs to FID.
    """

    name: str
    dim: int
    function: Callable[[Sequence[np.ndarray]], np.ndarray]
    sha256: str
    """Of whatever decides its features; cached features are told apart by it."""
    resize: str = "as the function does"

    def __post_init__(self) -> None:
        words = self.name.replace("_", "")
        if not (words.isascii() and words.isalnum()) or self.name.lower() in (INCEPTION, "fid"):
            raise ValueError(
                f"expected a name of letters, digits and '_' that is not {INCEPTION} or fid, "
                f"got {self.name!r}"
            )

    def __call__(self, images: Sequence[np.ndarray]) -> np.ndarray:
        return self.function(images)


def identity_of(extractor: FeatureExtractor) -> dict[str, str | int]:
    """What a result says about the extractor; equal for those whose features may be compared."""
    return {
        "name": extractor.name,
        "sha256": extractor.sha256,
        "resize": extractor.resize,
        "dim": extractor.dim,
    }


def frechet_name(extractor: FeatureExtractor) -> str:
    """``FID`` for Inception with FID's own weights, ``Frechet_<name>`` for everything else."""
    return "FID" if _is_of_fid(extractor) else f"Frechet_{_label(extractor)}"


def kernel_name(extractor: FeatureExtractor) -> str:
    """``KID`` for Inception with FID's own weights, ``MMD2_<name>`` for everything else."""
    return "KID" if _is_of_fid(extractor) else f"MMD2_{_label(extractor)}"


def _is_of_fid(extractor: FeatureExtractor) -> bool:
    return extractor.name == INCEPTION and extractor.sha256.startswith(FID_WEIGHTS_SHA256)


def _label(extractor: FeatureExtractor) -> str:
    if extractor.name == INCEPTION:
        return f"{INCEPTION}_{extractor.sha256[:8]}"
    return extractor.name
