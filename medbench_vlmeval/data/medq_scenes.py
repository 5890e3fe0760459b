"""The pictures of the MedQ-Bench sample packs, and the rows that are made of them.

Pictures that scikit-image and pydicom install with themselves: a retina, colon tissue with a brown
immunostain, a head phantom of tomography, a CT of a thoracic vertebra, an MR of the abdomen.
`medq_degradations` degrades them, so kind and level of every degradation are known exactly.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
from PIL import Image

from .medq_degradations import (
    CT,
    DEGRADATIONS,
    FUNDUS,
    HISTOPATHOLOGY,
    MRI,
    Level,
    degrade,
)
from .medq_degradations_general import Pixels
from .sample_pictures import picture_path, read_picture

GRADES: Mapping[Level, str] = {"none": "good", "mild": "usable", "severe": "reject"}
"""The quality that goes with a level, as the benchmark's closing sentences write it."""


@dataclass(frozen=True)
class Subject:
    """A clean picture: where it comes from and which part of it is shown how large."""

    modality: str
    package: Literal["skimage", "pydicom"]
    picture: str
    size_wh: tuple[int, int]
    crop: tuple[int, int, int, int] | None = None
    """``(x1, y1, x2, y2)`` in the picture, right and lower edge excluded."""

    @property
    def is_available(self) -> bool:
        """Whether the installed packages carry it; scikit-image has to."""
        return self.package == "skimage" or picture_path(self.package, self.picture) is not None


SUBJECTS: Mapping[str, Subject] = {
    "retina": Subject(FUNDUS, "skimage", "retina.jpg", (300, 300)),
    "disc": Subject(FUNDUS, "skimage", "retina.jpg", (300, 300), (60, 350, 660, 950)),
    "macula": Subject(FUNDUS, "skimage", "retina.jpg", (300, 300), (400, 390, 1000, 990)),
    "glands": Subject(HISTOPATHOLOGY, "skimage", "ihc.png", (320, 320), (0, 0, 320, 320)),
    "stroma": Subject(HISTOPATHOLOGY, "skimage", "ihc.png", (320, 320), (120, 192, 440, 512)),
    "phantom": Subject(CT, "skimage", "phantom.png", (300, 300)),
    "vertebra": Subject(CT, "pydicom", "CT_small.dcm", (256, 256)),
    "abdomen": Subject(MRI, "pydicom", "examples_overlay.dcm", (320, 198)),
    "liver": Subject(MRI, "pydicom", "examples_overlay.dcm", (300, 300), (0, 0, 300, 300)),
    "kidney": Subject(MRI, "pydicom", "examples_overlay.dcm", (300, 300), (184, 0, 484, 300)),
}


@dataclass(frozen=True)
class View:
    """A subject as one image shows it."""

    subject: str
    degradation: str = ""
    """Key of `DEGRADATIONS`; empty for the clean picture."""
    level: Level = "none"
    seed: int = 0

    @property
    def modality(self) -> str:
        return SUBJECTS[self.subject].modality

    @property
    def label(self) -> str:
        """Name of the degradation, ``none`` where there is none."""
        return "none" if self.level == "none" else DEGRADATIONS[self.degradation].label

    @property
    def scope(self) -> str:
        return "general" if self.level == "none" else DEGRADATIONS[self.degradation].scope

    @property
    def pixels(self) -> Pixels:
        """The image, ``(H, W, 3)`` uint8."""
        clean = clean_picture(self.subject)
        if self.level == "none":
            return clean
        return degrade(clean, self.degradation, self.level, seed=self.seed)


@dataclass(frozen=True)
class MedQScene:
    """One generated row: its images, and its cells by the name of their column."""

    views: tuple[View, ...]
    fields: Mapping[str, str]

    @property
    def is_available(self) -> bool:
        return all(SUBJECTS[view.subject].is_available for view in self.views)


@cache
def clean_picture(subject: str) -> Pixels:
    """The clean picture, not to be written to.

    Raises:
        FileNotFoundError: the installed package carries no such picture.
    """
    chosen = SUBJECTS[subject]
    pixels = read_picture(chosen.package, chosen.picture)
    if chosen.crop is not None:
        left, top, right, bottom = chosen.crop
        pixels = pixels[top:bottom, left:right]
    if pixels.shape[1::-1] != chosen.size_wh:
        image = Image.fromarray(pixels).resize(chosen.size_wh, Image.Resampling.LANCZOS)
        pixels = np.asarray(image).copy()
    pixels.flags.writeable = False
    return pixels


def metadata_of(view: View) -> dict[str, str]:
    """The columns that say what was done to an image."""
    return {
        "modality": view.modality,
        "degradation_type": view.label,
        "degradation_level": view.level,
        "scope": view.scope,
    }
