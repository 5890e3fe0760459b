"""What a pipeline handed back, read as pictures, or as the reason why there is none."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

import numpy as np
from PIL import Image

from .base import declined, no_image

if TYPE_CHECKING:
    from ..editing import NoImageReturned

Picture = Union[Image.Image, "NoImageReturned"]

NAN = "NaN: the pipeline's numbers are not finite; another dtype often helps (bfloat16, float32)"


def pictures(output: Any, inputs: Sequence[Image.Image]) -> list[Picture]:
    """One picture for each input, or why there is none.

    Args:
        output: what the call of a pipeline returned.
        inputs: the pictures that were to be edited.

    Raises:
        TypeError: the pipeline gave another number of images than it was given.
    """
    images = _images(output)
    if len(images) != len(inputs):
        raise TypeError(
            f"expected {len(inputs)} image(s) of the pipeline, got {len(images)}; if it does not "
            'take a list of images as a batch, give "batched": false'
        )
    flags = getattr(output, "nsfw_content_detected", None)
    flagged = flags if isinstance(flags, (list, tuple)) and len(flags) == len(images) else None
    return [
        _picture(image, before, flagged=bool(flagged and flagged[position]))
        for position, (image, before) in enumerate(zip(images, inputs, strict=True))
    ]


def _images(output: Any) -> list[Any]:
    images = getattr(output, "images", None)
    if images is None:
        images = output[0] if isinstance(output, tuple) and output else output
    if isinstance(images, (Image.Image, str)) or images is None:
        return [images]
    if isinstance(images, np.ndarray) and images.ndim == 3:
        return [images]
    return list(images)


def _picture(image: Any, before: Image.Image, *, flagged: bool) -> Picture:
    if flagged:
        return declined("the pipeline's safety filter flagged the result and returned no image")
    if isinstance(image, Image.Image):
        picture = image if image.mode == "RGB" else image.convert("RGB")
    elif isinstance(image, np.ndarray):
        if not np.isfinite(image).all():
            return no_image(NAN)
        read = _from_array(image)
        if read is None:
            return no_image(f"an array of shape {image.shape} instead of an image")
        picture = read
    else:
        return no_image(f"a {type(image).__name__} instead of an image: {str(image)[:200]}")
    if picture.getbbox() is None and before.getbbox() is not None:
        return declined("an all-black image, as safety filters return, from an input that is not")
    return picture


def _from_array(pixels: Any) -> Image.Image | None:
    if pixels.ndim != 3 or pixels.shape[2] not in (1, 3, 4) or 0 in pixels.shape:
        return None
    if pixels.dtype != np.uint8:
        # As diffusers itself turns its results into pictures.
        pixels = (np.clip(pixels.astype(np.float32), 0.0, 1.0) * 255).round().astype(np.uint8)
    if pixels.shape[2] == 1:
        pixels = np.repeat(pixels, 3, axis=2)
    return Image.fromarray(np.ascontiguousarray(pixels[..., :3]))
