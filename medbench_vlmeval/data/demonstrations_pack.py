"""Solved samples to show before those of the generated sample pack, for trying in-context editing.

Every task of the pack has one sample, so it holds nothing to show. Here the change of a sample is
drawn on another part of the same picture: the same task, another image. The parts overlap, so
that, as with the pack itself, scores say only that a setup works.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from .medebench import MedEBenchData, load_medebench
from .sample_pack import prepare_generated

if TYPE_CHECKING:
    from .sample_recipes import SampleRecipe

DEMONSTRATION_PACK_NAME = "MedEBench_sample_solved"
"""Folder of the generated demonstrations; no data set of the host."""

_FIRST_ID = 100

_CROPS = {
    1: (384, 544, 896, 928),
    2: (384, 504, 896, 1016),
    3: (204, 264, 716, 604),
    4: (704, 764, 1088, 1276),
    5: (416, 424, 928, 808),
    6: (156, 504, 668, 888),
    7: (604, 824, 1116, 1208),
    9: (42, 42, 512, 512),
    10: (42, 42, 512, 512),
    13: (42, 42, 512, 512),
}
"""By the id of a sample: the part its demonstration shows, ``(x1, y1, x2, y2)``. What the other
samples ask for is bound to one place of their picture, so they have none."""


def load_demonstration_pack(root: Path | None = None) -> MedEBenchData:
    """The generated demonstrations; made at first use, as the sample pack is.

    Args:
        root: Data folder; default `lmu_root()`.

    Raises:
        FileNotFoundError: the installed scikit-image carries no such pictures.
    """
    prepare_generated(DEMONSTRATION_PACK_NAME, list(_recipes()), root)
    return load_medebench(DEMONSTRATION_PACK_NAME, root)


def _recipes() -> Iterator[SampleRecipe]:
    from .sample_recipes import RECIPES

    for recipe in RECIPES:
        if recipe.id in _CROPS:
            yield replace(recipe, id=_FIRST_ID + recipe.id, crop=_CROPS[recipe.id])
