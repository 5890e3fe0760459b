"""How far the edited images of a run are, as a set, from their references: FID, KID, and kin."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from ..features import (
    FeatureExtractor,
    frechet_name,
    identity_of,
    kernel_name,
)
from ..metrics import (
    FrechetMeasurement,
    KernelSpread,
    kernel_distance,
    kernel_distance_spread,
    measured_frechet,
    paired_kernel_distance,
)
from .image_sets import ImageFeatures, ImageSet

LEAST_FOR_FRECHET = 500
"""Images that each set must have for a Fréchet distance: below, what it says is mostly how few
images there are (docs/fid.md shows by how much)."""
LEAST_FOR_KERNEL = 100
"""The same for the kernel distance, which few images leave unbiased but make uncertain."""


class TooFewImages(ValueError):
    """Sets so small that no distance of theirs would be about the model."""


@dataclass(frozen=True)
class KernelMeasurement:
    """A kernel distance with its spread."""

    value: float
    """Over all images, the estimate that is unbiased for sets drawn apart."""
    paired: float | None
    """The estimate that compares no edit with its own reference; None without pairs."""
    spread: KernelSpread


@dataclass(frozen=True)
class GroupDistance:
    """The distances of one group of images."""

    group_by: str
    group: str
    n_edited: int
    n_reference: int
    n_edited_distinct: int
    """Files of different content."""
    n_reference_distinct: int
    frechet: FrechetMeasurement | None
    """None where `refused` says why."""
    kernel: KernelMeasurement
    refused: str = ""


@dataclass(frozen=True)
class RunDistances:
    """All distances of one run, and what they rest on."""

    model: str
    extractor: dict[str, str | int]
    frechet_name: str
    kernel_name: str
    edited: ImageSet
    reference: ImageSet
    groups: tuple[GroupDistance, ...]
    """The whole set first."""

    @property
    def overall(self) -> GroupDistance:
        return self.groups[0]

    @property
    def basis(self) -> tuple[Any, ...]:
        """Distances of two runs may be compared exactly when this is equal."""
        return (
            tuple(self.extractor.values()),
            self.reference.sha256,
            len(self.reference),
            len(self.edited),
        )

    def record(self) -> dict[str, Any]:
        """What a result file holds."""
        return {
            "model": self.model,
            "extractor": self.extractor,
            "names": {"frechet": self.frechet_name, "kernel": self.kernel_name},
            "least_images": {"frechet": LEAST_FOR_FRECHET, "kernel": LEAST_FOR_KERNEL},
            "edited": _facts(self.edited),
            "reference": _facts(self.reference),
            "distances": self.groups,
        }


def _facts(images: ImageSet) -> dict[str, Any]:
    return {
        "what": images.what,
        "n": len(images),
        "n_distinct": images.n_distinct,
        "left_out": images.left_out,
        "sha256": images.sha256,
    }


def check_enough(edited: ImageSet, reference: ImageSet) -> None:
    """Raise TooFewImages unless at least the kernel distance of the whole sets is worth something.

    Cheap, so that nobody waits for features only to be refused.
    """
    if min(len(edited), len(reference)) < LEAST_FOR_KERNEL:
        raise TooFewImages(
            f"expected at least {LEAST_FOR_KERNEL} images in each set ({LEAST_FOR_FRECHET} for a "
            f"Fréchet distance), got n={len(edited)} edited and n={len(reference)} reference; "
            "a distance of so few images says how few they are, see docs/fid.md"
        )


def measured_run(
    model: str,
    edited: ImageFeatures,
    reference: ImageFeatures,
    extractor: FeatureExtractor,
) -> RunDistances:
    """The distances of a run's edited images from the reference: the whole set, then by organ.

    Groups that are too small for any distance are left out.

    Args:
        model: what the run is called.
        edited: the decodable images, and a row of features for each, see `features_of_set`.
        reference: as `edited`.
        extractor: that made both.

    Raises:
        TooFewImages: the whole sets are.
    """
    check_enough(edited[0], reference[0])
    organs = sorted(set(filter(None, reference[0].groups)))
    parts = [
        _group("organ", organ, _part(edited, organ), _part(reference, organ))
        for organ in organs
        if _smaller(edited[0], reference[0], organ) >= LEAST_FOR_KERNEL and len(organs) > 1
    ]
    return RunDistances(
        model,
        identity_of(extractor),
        frechet_name(extractor),
        kernel_name(extractor),
        edited[0],
        reference[0],
        (_group("overall", "Overall", edited, reference), *parts),
    )


def _group(
    group_by: str, group: str, edited: ImageFeatures, reference: ImageFeatures
) -> GroupDistance:
    images, references = edited[0], reference[0]
    smaller = min(len(images), len(references))
    enough = smaller >= LEAST_FOR_FRECHET
    return GroupDistance(
        group_by,
        group,
        len(images),
        len(references),
        images.n_distinct,
        references.n_distinct,
        measured_frechet(edited[1], reference[1]) if enough else None,
        _kernel(edited, reference),
        "" if enough else f"n={smaller} < {LEAST_FOR_FRECHET}",
    )


def _kernel(edited: ImageFeatures, reference: ImageFeatures) -> KernelMeasurement:
    values = edited[1], reference[1]
    smaller = min(map(len, values))
    # As published with 2,000 images or more; below, half of them, so that subsets differ.
    spread = kernel_distance_spread(*values, subset_size=min(1000, smaller // 2))
    pairs = _pairs(edited[0], reference[0])
    paired = None
    if len(pairs) >= LEAST_FOR_KERNEL:
        first, second = (list(positions) for positions in zip(*pairs, strict=True))
        paired = paired_kernel_distance(values[0][first], values[1][second])
    return KernelMeasurement(kernel_distance(*values), paired, spread)


def _pairs(edited: ImageSet, reference: ImageSet) -> list[tuple[int, int]]:
    at = {key: position for position, key in enumerate(reference.keys)}
    return [(number, at[key]) for number, key in enumerate(edited.keys) if key in at]


def _part(features: ImageFeatures, group: str) -> ImageFeatures:
    images, values = features
    positions = [number for number, it in enumerate(images.groups) if it == group]
    return images.at(positions), values[positions]


def _smaller(edited: ImageSet, reference: ImageSet, group: str) -> int:
    return min(images.groups.count(group) for images in (edited, reference))


def comparable_runs(runs: Sequence[RunDistances]) -> list[list[RunDistances]]:
    """Runs sorted into those whose distances may stand in one table, in order of appearance."""
    tables: dict[tuple[Any, ...], list[RunDistances]] = {}
    for run in runs:
        tables.setdefault(run.basis, []).append(run)
    return list(tables.values())


def check_comparable(a: RunDistances, b: RunDistances) -> None:
    """Raise ValueError, naming what differs, unless two runs' distances may be compared."""
    facts = {
        "extractor": (a.extractor, b.extractor),
        "reference images": (a.reference.sha256[:12], b.reference.sha256[:12]),
        "n of the reference": (len(a.reference), len(b.reference)),
        "n of edited images": (len(a.edited), len(b.edited)),
    }
    differing = [f"{what} {x} and {y}" for what, (x, y) in facts.items() if x != y]
    if differing:
        raise ValueError(
            f"expected distances of {a.model} and {b.model} on the same basis, got "
            f"{'; '.join(differing)}; measure both on the samples they share (--common)"
        )
