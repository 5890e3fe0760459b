"""The degradations of the MedQ-Bench sample packs, each at the levels none, mild and severe.

Names and grouping follow the benchmark: five appear in pictures of any kind, the others belong to
one kind of picture. Mild is visible to who looks for it, severe to anyone; the parameters of a
level are stated here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np

from . import medq_degradations_general as general
from . import medq_degradations_scanner as scanner
from . import medq_degradations_slides as slides
from .medq_degradations_general import Pixels

Level = Literal["none", "mild", "severe"]
LEVELS: tuple[Level, ...] = ("none", "mild", "severe")

CT, MRI, FUNDUS, HISTOPATHOLOGY = "CT", "MRI", "Fundus", "Histopathology"


@dataclass(frozen=True)
class Degradation:
    """One kind of degradation and what its levels mean."""

    key: str
    """Its name with underscores."""
    apply: Callable[..., Pixels]
    mild: Mapping[str, float]
    """Parameters of `apply`."""
    severe: Mapping[str, float]
    modality: str = ""
    """The only kind of picture that shows it; empty for any."""
    is_random: bool = False
    """Whether `apply` takes a seed."""

    @property
    def label(self) -> str:
        """Its name as the field writes it."""
        words = self.key.replace("_", " ")
        return words.replace("jpeg", "JPEG").replace("low dose", "low-dose")

    @property
    def scope(self) -> str:
        return "modality-specific" if self.modality else "general"


_ALL = (
    Degradation("gaussian_noise", general.gaussian_noise, {"sigma": 14}, {"sigma": 48}, "", True),
    Degradation("motion_blur", general.motion_blur, {"length": 9}, {"length": 31}),
    Degradation("defocus", general.defocus, {"radius": 3}, {"radius": 8}),
    Degradation("low_contrast", general.low_contrast, {"kept": 0.55}, {"kept": 0.2}),
    Degradation(
        "uneven_illumination",
        general.uneven_illumination,
        {"drop": 0.45},
        {"drop": 0.95},
        is_random=True,
    ),
    Degradation("jpeg_blocking", general.jpeg_blocking, {"quality": 14}, {"quality": 5}),
    Degradation("low_dose_noise", scanner.low_dose_noise, {"sigma": 12}, {"sigma": 42}, CT, True),
    Degradation(
        "sparse_view_streaks", scanner.sparse_view_streaks, {"views": 45}, {"views": 15}, CT
    ),
    Degradation("metal_streaks", scanner.metal_streaks, {"sigma": 12}, {"sigma": 34}, CT, True),
    Degradation(
        "ring_artefacts",
        scanner.ring_artefacts,
        {"amplitude": 32, "rings": 8},
        {"amplitude": 70, "rings": 16},
        CT,
        True,
    ),
    Degradation("aliasing", scanner.aliasing, {"lost": 0.4}, {"lost": 0.9}, MRI),
    Degradation(
        "motion_ghosting",
        scanner.motion_ghosting,
        {"shift": 2.2, "period": 6},
        {"shift": 6, "period": 6},
        MRI,
    ),
    Degradation("bias_field", scanner.bias_field, {"falloff": 1.2}, {"falloff": 9}, MRI, True),
    Degradation(
        "colour_cast",
        general.colour_cast,
        {"red": 0.8, "green": 1.15, "blue": 1.3},
        {"red": 0.45, "green": 1.3, "blue": 1.9},
        FUNDUS,
    ),
    Degradation("out_of_focus", general.defocus, {"radius": 2}, {"radius": 7}, HISTOPATHOLOGY),
    Degradation(
        "air_bubble",
        slides.air_bubble,
        {"radius_share": 0.13},
        {"radius_share": 0.42},
        HISTOPATHOLOGY,
        True,
    ),
    Degradation(
        "dark_spot",
        slides.dark_spot,
        {"radius_share": 0.05},
        {"radius_share": 0.2},
        HISTOPATHOLOGY,
        True,
    ),
    Degradation(
        "tissue_fold",
        slides.tissue_fold,
        {"width_share": 0.09, "layers": 1},
        {"width_share": 0.36, "layers": 2},
        HISTOPATHOLOGY,
        True,
    ),
)

DEGRADATIONS: Mapping[str, Degradation] = {degradation.key: degradation for degradation in _ALL}


def degrade(pixels: Pixels, key: str, level: Level, *, seed: int = 0) -> Pixels:
    """The picture with one degradation at one level; the same arguments give the same pixels.

    Args:
        pixels: ``(H, W, 3)`` uint8, RGB, any size from 1 x 1.
        key: One of `DEGRADATIONS`.
        level: One of `LEVELS`; ``none`` gives a copy.
        seed: Of what is drawn by chance; degradations without chance ignore it.

    Raises:
        ValueError: `pixels` is no such array, or `key` or `level` is unknown.
    """
    if pixels.ndim != 3 or pixels.shape[-1] != 3 or pixels.dtype != np.uint8 or not pixels.size:
        raise ValueError(
            f"expected pixels of shape (H, W, 3) and type uint8, got {pixels.shape} "
            f"{pixels.dtype}; convert the picture to 8-bit RGB"
        )
    if key not in DEGRADATIONS:
        raise ValueError(f"expected one of {', '.join(DEGRADATIONS)}, got {key!r}")
    if level not in LEVELS:
        raise ValueError(f"expected one of {', '.join(LEVELS)}, got {level!r}")
    if level == "none":
        return pixels.copy()
    degradation = DEGRADATIONS[key]
    parameters = dict(degradation.mild if level == "mild" else degradation.severe)
    if degradation.is_random:
        parameters["seed"] = seed
    return degradation.apply(pixels, **parameters)
