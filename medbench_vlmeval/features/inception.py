"""The features of FID: the last pooling layer of the Inception network that Heusel et al. used."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .extractor import FID_WEIGHTS_SHA256, INCEPTION
from .resizing import CLEAN_RESIZE, resized_batch
from .weights import WeightsUnusable, fetched_places, read_weights

SIZE_WH = (299, 299)
N_CLASSES = 1008
INSTALL = 'pip install "medbench-vlmeval[fid]"'


class InceptionFeatures:
    """2048 features an image, from the port of TensorFlow's Inception of 2015-12-05 to torch.

    Args:
        weights: the state dict of pytorch-fid or torch-fidelity, which have the same names and
            bytes. None takes what one of these libraries, or torchmetrics, has fetched.
        sha256: expected of the file. Without `weights` it is that of the published file.

    Raises:
        WeightsUnusable: no file, another hash, no plain weights, or those of another network.
        ImportError: torch or torchvision is not installed.
    """

    name = INCEPTION
    dim = 2048
    resize = f"to 299 x 299: {CLEAN_RESIZE}"

    def __init__(self, weights: Path | None = None, sha256: str | None = None) -> None:
        path, expected = (_fetched(), FID_WEIGHTS_SHA256) if weights is None else (weights, sha256)
        tensors, self.sha256 = read_weights(path, expected)
        self._network = _network_with(tensors, path)

    def __call__(self, images: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        pixels = torch.from_numpy(resized_batch(list(images), SIZE_WH))
        with torch.inference_mode():
            features: np.ndarray = self._network((pixels - 128) / 128).numpy()
        return features


def _fetched() -> Path:
    places = list(fetched_places())
    for place in places:
        if place.is_file():
            return place
    raise WeightsUnusable(
        "no Inception weights: expected one of "
        f"{', '.join(map(str, places))}, where torch-fidelity, torchmetrics and pytorch-fid keep "
        "them; this package downloads nothing. Name a file (--weights FILE --weights-sha256 HEX), "
        "or use the features of a package that ships its weights "
        "(--extractor efficientnet_lite0), which are not FID"
    )


def _network_with(tensors: Mapping[str, Any], path: Path) -> Any:
    network = fid_inception()
    try:
        network.load_state_dict(tensors)
    except RuntimeError as error:
        wrong = str(error).splitlines()[1:2] or [str(error)]
        raise WeightsUnusable(
            f"{path}: expected the weights of FID's Inception, got those of another network "
            f"({wrong[0].strip()[:200]})"
        ) from error
    from torch import nn

    network.fc = nn.Identity()
    return network.eval()


def fid_inception() -> Any:
    """FID's Inception with weights yet to be loaded; its forward gives class scores.

    It is torchvision's network but for three things that the port keeps from TensorFlow: average
    pools that leave the padding out of the mean, a maximum pool in the last block, 1008 classes.
    """
    try:
        from torchvision.models import Inception3
        from torchvision.models import inception as blocks
    except ImportError as error:
        raise ImportError(f"torchvision cannot be imported ({error}): {INSTALL}") from error
    network = Inception3(
        num_classes=N_CLASSES,
        aux_logits=False,
        init_weights=False,
        inception_blocks=[
            blocks.BasicConv2d,
            _pooled_anew(blocks.InceptionA, _mean_without_padding),
            blocks.InceptionB,
            _pooled_anew(blocks.InceptionC, _mean_without_padding),
            blocks.InceptionD,
            _pooled_anew(blocks.InceptionE, _mean_without_padding),
            blocks.InceptionAux,
        ],
    )
    network.Mixed_7c = _pooled_anew(blocks.InceptionE, _maximum)(2048)
    return network


def _pooled_anew(block: Any, pool: Any) -> Any:
    """`block` with another pool before its last branch, whose channels come last in its output."""
    import torch

    class Block(block):
        def forward(self, x: Any) -> Any:
            pooled = self.branch_pool(pool(x))
            others = super().forward(x)[:, : -pooled.shape[1]]
            return torch.cat([others, pooled], dim=1)

    return Block


def _mean_without_padding(x: Any) -> Any:
    from torch.nn.functional import avg_pool2d

    return avg_pool2d(x, kernel_size=3, stride=1, padding=1, count_include_pad=False)


def _maximum(x: Any) -> Any:
    from torch.nn.functional import max_pool2d

    return max_pool2d(x, kernel_size=3, stride=1, padding=1)
