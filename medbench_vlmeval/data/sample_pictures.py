"""Reads the medical pictures that scikit-image and pydicom install with themselves; no network."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

if TYPE_CHECKING:
    from .drawing import Pixels

_FOLDERS = {"skimage": "data", "pydicom": "data/test_files"}

_WINDOWS = {"CT_small.dcm": (100, 1800), "examples_overlay.dcm": (0, 620)}
"""Stored values shown as black and as white."""


def picture_path(package: str, picture: str) -> Path | None:
    """The file inside the installed package, which is not imported; `None` when it is not there."""
    found = importlib.util.find_spec(package)
    for folder in (found.submodule_search_locations or ()) if found else ():
        path = Path(folder) / _FOLDERS[package] / picture
        if path.is_file():
            return path
    return None


def read_picture(package: str, picture: str, *, enlarge: int = 1) -> Pixels:
    """The picture as ``(H, W, 3)`` uint8, enlarged by a whole factor (bicubic).

    Raises:
        FileNotFoundError: the installed package carries no such picture.
    """
    path = picture_path(package, picture)
    if path is None:
        raise FileNotFoundError(
            f"expected {picture} inside the installed package {package}, it is not there; "
            "reinstall it from its wheel: pip install --force-reinstall scikit-image"
        )
    image = _dicom_image(path) if path.suffix == ".dcm" else Image.open(path)
    with image:
        size_wh = (image.width * enlarge, image.height * enlarge)
        shown = image if enlarge == 1 else image.resize(size_wh, Image.Resampling.BICUBIC)
        return np.asarray(shown.convert("RGB")).copy()


def _dicom_image(path: Path) -> Image.Image:
    import pydicom

    low, high = _WINDOWS[path.name]
    stored = pydicom.dcmread(path).pixel_array.astype(np.int64)
    grey = np.clip((stored - low) * 255 // (high - low), 0, 255).astype(np.uint8)
    return Image.fromarray(grey)
