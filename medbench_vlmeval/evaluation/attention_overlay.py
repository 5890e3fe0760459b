"""A picture of where a model looked: as in Figure 6 of the paper, four panels side by side."""

from __future__ import annotations

import cv2
import numpy as np
from numpy.typing import ArrayLike, NDArray
from PIL import Image

from ..images import encode_png
from ..metrics.attention import attended_pixels, normalised, resized_map, resized_roi, roi_pixels

Pixels = NDArray[np.uint8]

ROI_ONLY, ATTENDED_ONLY, BOTH = (255, 0, 0), (0, 255, 0), (255, 255, 0)
"""Red, green, yellow; published."""
_STRENGTH = 0.5
_GAP = 8


def attention_panels(
    previous: Pixels, edited: Pixels | None, attention: ArrayLike, roi: ArrayLike
) -> bytes:
    """PNG of input, edit, attention over the edit, and ROI against attended pixels.

    All in the input's size. Without an edited image the second panel is left out and attention
    lies over the input. A map without highest and lowest value leaves the third panel plain and
    attends nothing.

    Args:
        previous: (H, W, 3) uint8 RGB.
        edited: (H, W, 3) uint8 RGB, brought to the input's size, or None.
        attention: map of any size.
        roi: mask of any size.
    """
    size_wh = (previous.shape[1], previous.shape[0])
    looked_at = previous if edited is None else edited
    shown = [previous] if edited is None else [previous, edited]
    shown += [heat_over(looked_at, attention), overlap_over(previous, attention, roi)]
    canvas = Image.new(
        "RGB", (len(shown) * (size_wh[0] + _GAP) - _GAP, size_wh[1]), (255, 255, 255)
    )
    for number, pixels in enumerate(shown):
        canvas.paste(Image.fromarray(pixels), (number * (size_wh[0] + _GAP), 0))
    return encode_png(canvas)


def heat_over(picture: Pixels, attention: ArrayLike) -> Pixels:
    """The normalised map in the colours "magma", half transparent, as in the released notebook."""
    normal = normalised(attention)
    if normal is None:
        return picture
    large = resized_map(normal, (picture.shape[1], picture.shape[0]))
    coloured = cv2.applyColorMap((large * 255).round().astype(np.uint8), cv2.COLORMAP_MAGMA)
    return _blended(picture, coloured[..., ::-1])


def overlap_over(picture: Pixels, attention: ArrayLike, roi: ArrayLike) -> Pixels:
    """Red where only the ROI is, green where only attention is, yellow where both are.

    Over the picture in grey, so that its own colours are not mistaken for these.
    """
    size_wh = (picture.shape[1], picture.shape[0])
    region = resized_roi(roi_pixels(roi), size_wh)
    attended = attended_pixels(attention, size_wh)
    if attended is None:
        attended = np.zeros_like(region)
    grey = cv2.cvtColor(cv2.cvtColor(picture, cv2.COLOR_RGB2GRAY), cv2.COLOR_GRAY2RGB)
    colours = np.array(grey, dtype=np.uint8)
    colours[region & ~attended] = ROI_ONLY
    colours[attended & ~region] = ATTENDED_ONLY
    colours[attended & region] = BOTH
    return _blended(np.asarray(grey, dtype=np.uint8), colours)


def _blended(below: Pixels, above: NDArray[np.uint8]) -> Pixels:
    mixed = (1 - _STRENGTH) * below.astype(np.float64) + _STRENGTH * above
    return np.asarray(mixed.round().astype(np.uint8))
