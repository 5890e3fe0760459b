"""ROI masks: white is the region that may be edited."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import TypeVar

import numpy as np
from PIL import Image

from .opening import ImageUnreadable, open_image, source_bytes
from .reading import same_aspect

Key = TypeVar("Key", bound=Hashable)

_FEWEST_MASKS = 4
_LARGE_SHARE = 0.75
_TYPICAL_SHARE = 0.4


@dataclass(frozen=True, eq=False)
class RoiMask:
    """A mask as the released MedEBench code sees it, and how it is encoded."""

    values: np.ndarray
    """(H, W) uint8; 255 is ROI, 0 is not, values between count in part. Binary: ``values > 0``."""
    share: float
    """Fraction of the pixels above 0."""
    flags: frozenset[str]
    """``zero_one``: holds 0 and 1 only, so the published masking does next to nothing; ``empty``,
    ``full``: no pixel, every pixel; ``soft``: other values than 0 and 255; ``resized``,
    ``aspect_differs``: compared with the size asked for; ``first_frame``, ``rotated``: as for
    images."""


def read_roi(
    source: Path | str | bytes,
    *,
    size_wh: tuple[int, int] | None = None,
    max_pixels: int | None = None,
) -> RoiMask:
    """Read a mask: grey levels, then nearest-neighbour to the size of the image.

    Args:
        source: A file, or its bytes.
        size_wh: Width and height of the image it belongs to; None keeps the mask's own.
        max_pixels: As for `read_rgb`.

    Raises:
        ImageUnreadable: As for `read_rgb`.
        FileNotFoundError: There is no such file.

    Notes:
        The steps are the released code's: Pillow's ``convert("L")``, which drops transparency and
        cuts at 255, then ``resize(size, NEAREST)``. Nothing is binarised or inverted.
    """
    data, name = source_bytes(source)
    opened = open_image(data, name, max_pixels=max_pixels)
    grey = _grey(opened.image, name)
    flags = set(opened.flags)
    if size_wh is not None and grey.size != tuple(size_wh):
        flags.add("resized")
        if not same_aspect(grey.size, size_wh):
            flags.add("aspect_differs")
        grey = grey.resize(size_wh, Image.Resampling.NEAREST)
    values = np.array(grey)
    values.flags.writeable = False
    return RoiMask(values, np.count_nonzero(values) / values.size, frozenset(flags | _kind(values)))


def likely_inverted(shares: Mapping[Key, float]) -> list[Key]:
    """Masks that cover most of the image in a set whose masks usually do not.

    Args:
        shares: ROI share by sample. Give masks that belong together, e.g. those of one organ.

    Returns:
        The samples whose share is above 0.75 while the median is at most 0.4, in the given order;
        nothing for fewer than four masks. A hint for a person: masks are never flipped.
    """
    if len(shares) < _FEWEST_MASKS or median(shares.values()) > _TYPICAL_SHARE:
        return []
    return [key for key, share in shares.items() if share > _LARGE_SHARE]


def _grey(image: Image.Image, name: str) -> Image.Image:
    if image.mode.startswith("I;16"):
        # Cut at 255 like modes I and F; what Pillow does here depends on its version.
        return Image.fromarray(np.minimum(np.asarray(image), 255).astype(np.uint8))
    # Pillow warns about palettes with transparency, which play no part in grey levels.
    image.info.pop("transparency", None)
    try:
        return image.convert("L")
    except ValueError as error:
        raise ImageUnreadable(name, f"colour mode {image.mode} has no grey levels") from error


def _kind(values: np.ndarray) -> set[str]:
    highest = values.max()
    n_hard = np.count_nonzero(values == 0) + np.count_nonzero(values == 255)
    flags = set()
    if highest == 0:
        flags.add("empty")
    if values.min() > 0:
        flags.add("full")
    if highest == 1:
        flags.add("zero_one")
    elif n_hard < values.size:
        flags.add("soft")
    return flags
