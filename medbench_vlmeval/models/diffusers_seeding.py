"""Torch's global state around one call of a pipeline."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def seeded(seed: int, *, gradients: bool = False) -> Iterator[None]:
    """Runs a block with torch's global generators seeded; their states come back afterwards.

    Args:
        seed: for the draws that a pipeline makes without the generator it was given.
        gradients: whether they are recorded, whatever the surroundings say.
    """
    import torch

    in_use = torch.cuda.is_available() and torch.cuda.is_initialized()
    devices = list(range(torch.cuda.device_count())) if in_use else []
    with (
        torch.random.fork_rng(devices=devices),
        torch.inference_mode(False),
        torch.set_grad_enabled(gradients),
    ):
        torch.manual_seed(seed)
        yield
