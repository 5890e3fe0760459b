"""One rule for each way of storing colour, down to 8-bit RGB."""

from __future__ import annotations

import numpy as np
from PIL import Image

BACKGROUND_RGB = (255, 255, 255)
"""What shows through transparent pixels: white, as in viewers and browsers."""

_PLAIN_MODES = ("RGB", "L", "P", "1")
_ALPHA_MODES = ("RGBA", "LA", "PA", "RGBa", "La")
_CONVERTED_MODES = ("CMYK", "YCbCr", "HSV", "RGBX")
_PREFIX_16_BIT = "I;16"


def as_uint8(image: np.ndarray) -> np.ndarray:
    """An image array as uint8, so that metrics take one kind of number.

    Args:
        image: Any shape. uint8 is returned as it is; floats must lie in [0, 1] and become
            ``round(255 * value)``; booleans become 0 and 255; uint16 is ``round(value / 257)``.

    Raises:
        ValueError: Another dtype, NaN, or floats outside [0, 1]: their scale would be a guess.
    """
    if image.dtype == np.uint8:
        return image
    if image.dtype == np.bool_:
        return image.astype(np.uint8) * 255
    if image.dtype == np.uint16:
        return _from_16_bit(image)
    if not np.issubdtype(image.dtype, np.floating):
        raise ValueError(f"expected uint8, uint16, bool or float in [0, 1], got {image.dtype}")
    if image.size and not (image.min() >= 0 and image.max() <= 1):
        raise ValueError(
            f"expected floats in [0, 1], got {image.min()} to {image.max()}; "
            "scale them to that range first"
        )
    return np.rint(image.astype(np.float64) * 255).astype(np.uint8)


def rgb_pixels(image: Image.Image) -> tuple[np.ndarray, frozenset[str]]:
    """Pixels of a loaded image as (H, W, 3) uint8 RGB, and flags for what had to be decided.

    ``1``, ``L``, ``P`` and ``RGB`` are what Pillow's ``convert("RGB")`` gives. The other rules are
    listed at `reading.read_rgb`.

    Raises:
        ValueError: A mode without a rule, or numbers outside the rule's range.
    """
    mode = image.mode
    if mode.startswith(_PREFIX_16_BIT) or mode in ("I", "F"):
        grey = _grey_levels(image)
        return np.repeat(grey[..., None], 3, axis=2), frozenset({"depth_reduced"})
    if mode in _ALPHA_MODES or "transparency" in image.info:
        return _composited(image)
    if mode in _PLAIN_MODES:
        return np.asarray(image if mode == "RGB" else image.convert("RGB")), frozenset()
    if mode in _CONVERTED_MODES:
        return np.asarray(image.convert("RGB")), frozenset({"colour_converted"})
    raise ValueError(f"colour mode {mode} has no rule; convert the file to 8-bit RGB")


def _composited(image: Image.Image) -> tuple[np.ndarray, frozenset[str]]:
    rgba = image.convert("RGBA")
    if rgba.getchannel("A").getextrema() == (255, 255):
        return np.asarray(rgba.convert("RGB")), frozenset()
    background = Image.new("RGBA", rgba.size, (*BACKGROUND_RGB, 255))
    visible = Image.alpha_composite(background, rgba).convert("RGB")
    return np.asarray(visible), frozenset({"alpha_composited"})


def _grey_levels(image: Image.Image) -> np.ndarray:
    if image.mode != "F":
        # Mode I is how older Pillow opens 16-bit PNGs.
        values = np.asarray(image)
        if values.min() < 0 or values.max() > 65535:
            raise ValueError(
                f"integer samples from {values.min()} to {values.max()} have no stated scale; "
                "convert the file to 8 or 16 bit"
            )
        return _from_16_bit(values)
    values = np.asarray(image)
    low, high = values.min(), values.max()
    if low >= 0 and high <= 1:
        return as_uint8(values)
    if low >= 0 and high <= 255:
        return np.rint(values).astype(np.uint8)
    raise ValueError(
        f"float samples from {low} to {high} have no stated scale; convert the file to 8 bit"
    )


def _from_16_bit(values: np.ndarray) -> np.ndarray:
    # 257 is odd, so no value lies halfway between two levels.
    return ((values.astype(np.uint32) + 128) // 257).astype(np.uint8)
