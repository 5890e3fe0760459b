"""Weight files: the right bytes, read as numbers and never as a program."""

from __future__ import annotations

import pickle
import warnings
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..files import sha256_file
from .extractor import FID_WEIGHTS_SHA256

FETCHED_NAMES = (
    f"weights-inception-2015-12-05-{FID_WEIGHTS_SHA256}.pth",  # torch-fidelity, torchmetrics
    f"pt_inception-2015-12-05-{FID_WEIGHTS_SHA256}.pth",  # pytorch-fid, clean-fid's legacy modes
)
"""The names under which other libraries keep FID's weights in the checkpoints of torch.hub."""


_UNREADABLE = (
    pickle.UnpicklingError,
    RuntimeError,
    EOFError,
    ValueError,
    LookupError,
    AttributeError,
    TypeError,
    AssertionError,
)
"""What torch's reader of weights raises on bytes that are none."""


class WeightsUnusable(ValueError):
    """A weight file that is absent, of other bytes than promised, or no plain set of weights."""


def read_weights(path: Path, sha256: str | None = None) -> tuple[Mapping[str, Any], str]:
    """The tensors of a weight file by name, and the SHA-256 of its bytes.

    The hash is compared before the file is opened as anything, and then only tensors are read:
    whatever else a pickle could hold is refused.

    Args:
        path: of a state dict as ``torch.save`` writes it.
        sha256: expected, 64 hex digits or their first 8 or more; None takes the file as it is.

    Raises:
        WeightsUnusable: no such file, another hash, or something else than tensors by name.
    """
    import torch

    if not path.is_file():
        raise WeightsUnusable(f"{path}: no such weight file; give the path of the file itself")
    found = sha256_file(path)
    if sha256 is not None:
        _check_hash(path, found, sha256.strip().lower())
    try:
        with warnings.catch_warnings():
            # That the file is TorchScript, or of another pickle protocol: if it matters, it fails.
            warnings.simplefilter("ignore", UserWarning)
            weights = torch.load(path, map_location="cpu", weights_only=True)
    except _UNREADABLE as error:
        # torch's own message advises how to run the code in the file: not to be repeated here.
        raise WeightsUnusable(
            f"{path}: expected a file of tensors by name, got something that cannot be read "
            "without running code from it, or is cut; use the .pth of pytorch-fid or "
            "torch-fidelity (TorchScript files are programs)"
        ) from error
    if not isinstance(weights, Mapping) or not all(map(torch.is_tensor, weights.values())):
        raise WeightsUnusable(f"{path}: expected tensors by name, got {type(weights).__name__}")
    return weights, found


def _check_hash(path: Path, found: str, expected: str) -> None:
    if not 8 <= len(expected) <= 64 or set(expected) - set("0123456789abcdef"):
        raise WeightsUnusable(
            f"expected a SHA-256 as 64 hex digits, or its first 8 or more, got {expected!r}"
        )
    if not found.startswith(expected):
        raise WeightsUnusable(
            f"{path}: expected SHA-256 {expected}, got {found}; fetch the file again, or correct "
            "the hash if you know this file"
        )


def fetched_places() -> Iterator[Path]:
    """Where installed libraries keep FID's weights once they have fetched them."""
    import torch

    checkpoints = Path(torch.hub.get_dir()) / "checkpoints"
    yield from (checkpoints / name for name in FETCHED_NAMES)
