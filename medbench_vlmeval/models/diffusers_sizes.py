"""How a picture is brought to a size that a pipeline takes, and its edit back to the picture's."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from PIL import Image

SIZE_RULES = ("pipeline", "resize", "pad")


@dataclass(frozen=True, eq=False)
class Fitted:
    """A picture as a pipeline gets it."""

    image: Image.Image
    original_wh: tuple[int, int]
    content_wh: tuple[int, int]
    """Where the picture lies in `image`, from the top left; smaller only when it was padded."""


def fit(image: Image.Image, *, rule: str, multiple: int, max_side: int | None) -> Fitted:
    """The picture in a size for the pipeline.

    Args:
        image: 8-bit RGB.
        rule: ``pipeline`` hands the picture over in its own size and leaves the rest to the
            pipeline; ``resize`` scales each side to the nearest multiple (Lanczos), which changes
            the aspect a little; ``pad`` repeats the last row and column up to the next multiple.
        multiple: what both sides are divisible by afterwards, except under ``pipeline``.
        max_side: a longer side is scaled down to this first; None for any size.
    """
    scaled = _scaled_wh(image.size, max_side)
    if rule == "resize":
        target = _nearest_multiples(scaled, multiple, max_side)
        return Fitted(_resized(image, target), image.size, target)
    content = _resized(image, scaled)
    if rule == "pad":
        return Fitted(_padded(content, multiple), image.size, scaled)
    return Fitted(content, image.size, scaled)


def restore(edited: Image.Image, fitted: Fitted) -> Image.Image:
    """An edit in the size of the picture that was to be edited (bicubic, as edits are scored)."""
    if fitted.content_wh != fitted.image.size:
        if edited.size != fitted.image.size:
            edited = edited.resize(fitted.image.size, Image.Resampling.BICUBIC)
        edited = edited.crop((0, 0, *fitted.content_wh))
    if edited.size == fitted.original_wh:
        return edited
    return edited.resize(fitted.original_wh, Image.Resampling.BICUBIC)


def _scaled_wh(size_wh: tuple[int, int], max_side: int | None) -> tuple[int, int]:
    longer = max(size_wh)
    if max_side is None or longer <= max_side:
        return size_wh
    width, height = (max(1, round(side * max_side / longer)) for side in size_wh)
    return width, height


def _nearest_multiples(
    size_wh: tuple[int, int], multiple: int, max_side: int | None
) -> tuple[int, int]:
    most = max(multiple, max_side // multiple * multiple) if max_side else None
    sides = [max(multiple, int(side / multiple + 0.5) * multiple) for side in size_wh]
    width, height = (side if most is None else min(side, most) for side in sides)
    return width, height


def _resized(image: Image.Image, size_wh: tuple[int, int]) -> Image.Image:
    return image if image.size == size_wh else image.resize(size_wh, Image.Resampling.LANCZOS)


def _padded(image: Image.Image, multiple: int) -> Image.Image:
    right, bottom = (-side % multiple for side in image.size)
    if not right and not bottom:
        return image
    pixels = np.pad(np.asarray(image), ((0, bottom), (0, right), (0, 0)), mode="edge")
    return Image.fromarray(pixels)
