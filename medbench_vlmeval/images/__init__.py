"""Image files in, 8-bit RGB pixels and ROI masks out, by stated rules; and the way back.

Every image of a benchmark (input, edited, ground truth) passes through `read_rgb`, so that one rule
holds for all of them, and every mask through `read_roi`.
"""

from __future__ import annotations

from .colour import as_uint8
from .encoding import EncodedImage, encode_for_judge, encode_png
from .opening import DEFAULT_MAX_PIXELS, MAX_PIXELS_VARIABLE, ImageUnreadable
from .png import png_decoder
from .reading import DecodedImage, read_rgb, resize_like, same_aspect
from .roi import RoiMask, likely_inverted, read_roi

__all__ = [
    "DEFAULT_MAX_PIXELS",
    "MAX_PIXELS_VARIABLE",
    "DecodedImage",
    "EncodedImage",
    "ImageUnreadable",
    "RoiMask",
    "as_uint8",
    "encode_for_judge",
    "encode_png",
    "likely_inverted",
    "png_decoder",
    "read_rgb",
    "read_roi",
    "resize_like",
    "same_aspect",
]
