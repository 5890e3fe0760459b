"""Weights of FID's Inception, random, as a file: the architecture without what it has learned."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from medbench_vlmeval.features.inception import fid_inception


def save_random_inception(path: Path, seed: int = 0) -> Path:
    """A state dict with the published names and shapes, lively enough to tell images apart."""
    generator = torch.Generator().manual_seed(seed)
    network = fid_inception()
    for name, tensor in network.state_dict().items():
        if tensor.dim() > 1:
            fan_in = tensor[0].numel()
            tensor.normal_(0, (2 / fan_in) ** 0.5, generator=generator)
        elif name.endswith(("running_var", "bn.weight")):
            tensor.uniform_(0.5, 1.5, generator=generator)
        elif tensor.is_floating_point():
            tensor.normal_(0, 0.1, generator=generator)
    torch.save(network.state_dict(), path)
    return path


def pictures(n: int, seed: int = 0, size_wh: tuple[int, int] = (299, 299)) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [
        generator.integers(0, 256, (size_wh[1], size_wh[0], 3), dtype=np.uint8) for _ in range(n)
    ]


def mean_colours(images: list[np.ndarray]) -> np.ndarray:
    """Six features without a network: mean and deviation of each channel."""
    return np.array([[*it.mean(axis=(0, 1)), *it.std(axis=(0, 1))] for it in images])
