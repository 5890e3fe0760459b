"""Made boards: scores of several models for samples that share images."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def made_board(
    n_samples: int = 120, n_models: int = 5, n_clusters: int = 40, seed: int = 0
) -> tuple[Floats, list[str]]:
    """Graded scores with an effect of the image, and a label a sample; every cluster occurs."""
    generator = np.random.default_rng(seed)
    positions = np.concatenate(
        [np.arange(n_clusters), generator.integers(n_clusters, size=n_samples - n_clusters)]
    )
    of_image = generator.normal(0, 0.15, (n_clusters, n_models))
    noise = generator.normal(0, 0.15, (n_samples, n_models))
    values = 0.5 + np.linspace(0, 0.1, n_models) + of_image[positions] + noise
    return values, [f"image {it}" for it in positions]


def with_gaps(values: Floats, share: float, seed: int = 0) -> Floats:
    """The board without a random share of its scores."""
    holed = values.copy()
    holed[np.random.default_rng(seed).random(values.shape) < share] = np.nan
    return holed


def cluster_sums(differences: Floats, clusters: list[str]) -> Floats:
    """Sums over clusters in order of appearance, one sample after the other."""
    sums: dict[str, float] = {}
    for label, difference in zip(clusters, differences, strict=True):
        sums[label] = sums.get(label, 0.0) + float(difference)
    return np.array([*sums.values()])
