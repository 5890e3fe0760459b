"""The extractors that a command can name."""

from __future__ import annotations

from pathlib import Path

from .efficientnet_lite import EfficientNetLite0Features
from .extractor import INCEPTION, FeatureExtractor
from .inception import InceptionFeatures

EXTRACTORS = (INCEPTION, EfficientNetLite0Features.name)


def extractor_named(
    name: str, *, weights: Path | None = None, weights_sha256: str | None = None
) -> FeatureExtractor:
    """The extractor of that name, ready to use.

    Args:
        name: one of `EXTRACTORS`.
        weights: for ``inception``: the weight file; None looks where other libraries keep it.
        weights_sha256: of `weights`, required with it.

    Raises:
        ValueError: an unknown name, weights for a network that has its own, or without their hash.
        WeightsUnusable: as `InceptionFeatures` and `EfficientNetLite0Features`.
        ImportError: what the extractor needs is not installed.
    """
    if name not in EXTRACTORS:
        raise ValueError(f"expected an extractor among {', '.join(EXTRACTORS)}, got {name!r}")
    if (weights is None) != (weights_sha256 is None):
        raise ValueError(
            "expected a weight file and its SHA-256 together; print the hash with sha256sum FILE "
            "and compare it with the one published beside the file"
        )
    if name == INCEPTION:
        return InceptionFeatures(weights, weights_sha256)
    if weights is not None:
        raise ValueError(f"expected no weight file for {name}, which comes with its own")
    return EfficientNetLite0Features()
