"""Bringing images to a network's size without aliasing and without rounding."""

from __future__ import annotations

import numpy as np
from PIL import Image

CLEAN_RESIZE = "PIL bicubic, antialiased, each channel in float32, clipped to 0-255, not rounded"


def clean_resize(pixels: np.ndarray, size_wh: tuple[int, int]) -> np.ndarray:
    """An image at another size, by the resize that "clean" FID prescribes.

    Args:
        pixels: (H, W, 3) uint8.
        size_wh: width and height wanted; the aspect ratio is not kept.

    Returns:
        (height, width, 3) float32 in [0, 255]; the pixels as they are when the size fits.

    Raises:
        ValueError: another shape or dtype.

    References:
        Parmar et al., "On Aliased Resizing and Surprising Subtleties in GAN Evaluation", CVPR 2022,
        arXiv 2104.11222. Bilinear resizing without a filter, as in earlier FID code, drops pixels
        of large images, and so ranks models by how they were resized.
    """
    if pixels.ndim != 3 or pixels.shape[2] != 3 or pixels.dtype != np.uint8:
        raise ValueError(
            f"expected an image of shape (H, W, 3) and uint8, got {pixels.shape} {pixels.dtype}; "
            "read it with medbench_vlmeval.images.read_rgb"
        )
    channels = [
        np.asarray(
            Image.fromarray(pixels[..., channel].astype(np.float32)).resize(
                size_wh, Image.Resampling.BICUBIC
            )
        )
        for channel in range(3)
    ]
    return np.clip(np.stack(channels, axis=-1), 0, 255)


def resized_batch(
    images: list[np.ndarray] | tuple[np.ndarray, ...], size_wh: tuple[int, int]
) -> np.ndarray:
    """Images of any sizes as one array (N, 3, height, width), float32 in [0, 255]."""
    resized = np.stack([clean_resize(image, size_wh) for image in images])
    return np.ascontiguousarray(resized.transpose(0, 3, 1, 2))
