"""A small pack of editing tasks made on this machine, to try the package before the data is there.

The pictures are real medical images that scikit-image and pydicom install with themselves; the
change in each is drawn by `drawing`, so the reference and the ROI are exact: outside the ROI the
two pictures are equal. Scores on the pack say that a setup works, not how good a model is.
"""

from __future__ import annotations

import io
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from PIL import Image

from ..files import read_jsonl
from .places import ROLE_FOLDERS, SAMPLE_PACK_NAME, TABLE_NAME, dataset_root
from .prepare import prepare_release
from .prepare_report import PrepareReport
from .prepared import is_prepared, read_manifest
from .releases import Release, SourceImage, SourceSample
from .sample_pictures import picture_path, read_picture

if TYPE_CHECKING:
    from .sample_recipes import SampleRecipe

RECIPE_VERSION = 1
"""Raised whenever a recipe, a picture or a text of the pack changes."""

_SOURCE = "pictures of scikit-image and pydicom, changed by medbench_vlmeval.data.sample_pack"


def prepare_medebench_sample(root: Path | None = None, *, progress: bool = False) -> PrepareReport:
    """Generate ``MedEBench_sample`` unless it is there as the installed packages make it.

    Thirteen samples come from scikit-image, up to two more from pydicom where that is installed and
    carries the pictures. The same id is the same sample either way, and the same package versions
    give the same bytes. A pack in a folder that cannot be written to is used as it is.

    Args:
        root: Data folder; default `lmu_root()`.
        progress: Show a progress bar.

    Raises:
        FileNotFoundError: the installed scikit-image carries no such pictures.
    """
    from .sample_recipes import RECIPES

    return prepare_generated(SAMPLE_PACK_NAME, RECIPES, root, progress=progress)


def prepare_generated(
    name: str, recipes: Sequence[SampleRecipe], root: Path | None, *, progress: bool = False
) -> PrepareReport:
    """Generate a pack from recipes unless it is there as the installed packages make it.

    Args:
        name: of the prepared data set.
        recipes: in the order of their pictures; those without a picture here are left out.
        root: Data folder; default `lmu_root()`.
        progress: Show a progress bar.

    Raises:
        FileNotFoundError: the installed scikit-image carries no such pictures.
    """
    recipes = [recipe for recipe in recipes if _is_available(recipe)]
    revision = generator_revision(f"recipes {RECIPE_VERSION}, {len(recipes)} samples")
    folder = dataset_root(name, root)
    manifest = usable_manifest(folder, revision, _listed_files)
    if manifest is not None:
        return PrepareReport.of_earlier(folder, manifest)
    release = Release(
        source=_SOURCE,
        layout="generated",
        count=len(recipes),
        samples=_samples(recipes),
        revision=revision,
        is_published=False,
    )
    return prepare_release(release, name=name, root=root, replace=True, progress=progress)


def _is_available(recipe: SampleRecipe) -> bool:
    return recipe.package == "skimage" or picture_path(recipe.package, recipe.picture) is not None


def generator_revision(what: str) -> str:
    """What a generated pack depends on: its own version, and the packages that make the pixels."""
    packages = ("scikit-image", "Pillow", "numpy", "scipy")
    versions = ", ".join(f"{package} {metadata.version(package)}" for package in packages)
    return f"{what}, {versions}"


def _listed_files(records: Sequence[Mapping[str, Any]]) -> Iterable[str]:
    return (record[role]["file"] for record in records for role in ROLE_FOLDERS)


def usable_manifest(
    folder: Path,
    revision: str,
    listed_files: Callable[[Sequence[Mapping[str, Any]]], Iterable[str]],
) -> dict[str, Any] | None:
    """The manifest of a generated pack that need not be made again, or `None`.

    It is whole, and made by the same versions unless its folder cannot be written to.

    Args:
        folder: Where the pack lies.
        revision: What `generator_revision` says now.
        listed_files: The files, relative to `folder`, that records list.
    """
    if not is_prepared(folder):
        return None
    stored = read_manifest(folder)
    files = listed_files(read_jsonl(folder / TABLE_NAME)[0])
    is_whole = all((folder / file).is_file() for file in files)
    is_current = stored.get("revision") == revision or not os.access(folder, os.W_OK)
    return stored if is_whole and is_current else None


def _samples(recipes: Sequence[SampleRecipe]) -> Iterator[SourceSample]:
    pictures: dict[str, np.ndarray] = {}
    for recipe in recipes:
        if recipe.picture not in pictures:
            # Recipes are ordered by picture, so that one at a time is kept.
            pictures = {recipe.picture: _whole_picture(recipe)}
        original = _cropped(pictures[recipe.picture], recipe)
        drawn, roi = recipe.draw(original)
        undo = recipe.drawn_in == "previous"
        shown = {
            "previous": drawn if undo else original,
            "reference": original if undo else drawn,
            "roi": np.where(roi, 255, 0).astype(np.uint8),
        }
        yield SourceSample(
            id=recipe.id,
            organ_label=recipe.organ,
            task=recipe.task,
            instruction=recipe.instruction,
            description=recipe.description,
            images={
                role: SourceImage(f"{recipe.id}.png", data=png_bytes(pixels))
                for role, pixels in shown.items()
            },
        )


def _whole_picture(recipe: SampleRecipe) -> np.ndarray:
    return read_picture(recipe.package, recipe.picture, enlarge=recipe.enlarge)


def _cropped(pixels: np.ndarray, recipe: SampleRecipe) -> np.ndarray:
    if recipe.crop is None:
        return pixels
    left, top, right, bottom = recipe.crop
    return pixels[top:bottom, left:right]


def png_bytes(pixels: np.ndarray) -> bytes:
    """The pixels as a PNG file; equal pixels give equal bytes under one Pillow version."""
    stream = io.BytesIO()
    # Level 1: photographic noise hardly compresses, and more effort would triple the waiting time.
    Image.fromarray(pixels).save(stream, format="PNG", compress_level=1)
    return stream.getvalue()
