"""``medbench fid``: set distances of finished runs, each written beside its run, shown together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data import load_medebench
from ..features import FeatureCache, FeatureExtractor
from ..files import write_json_atomic
from .image_sets import (
    REFERENCES,
    ImageFeatures,
    ImageSet,
    edited_images,
    features_of_set,
    images_of_data,
    images_of_folder,
)
from .run_files import base_manifest
from .set_distances import (
    GroupDistance,
    RunDistances,
    check_enough,
    comparable_runs,
    measured_run,
)
from .tables import plain_table

SUFFIX = "_fid.json"


@dataclass(frozen=True)
class FinishedEdits:
    """A finished run of an editing benchmark, as far as the distance of its images needs it."""

    model: str
    predictions: Path
    images: Path
    """The folder with its edited images."""
    rows: Sequence[Mapping[str, Any]]
    """The lines of ``_scores.jsonl``."""
    data: Mapping[str, Any]
    """What its manifest says about the data: name and fingerprint."""

    @property
    def output(self) -> Path:
        return self.predictions.with_name(self.predictions.stem + SUFFIX)


def measured_runs(
    runs: Sequence[FinishedEdits],
    load_extractor: Callable[[], FeatureExtractor],
    *,
    reference: str = "changed",
    common: bool = False,
    cache: FeatureCache | None = None,
) -> list[RunDistances]:
    """The distances of several runs, in order; each is written to ``<stem>_fid.json``.

    Args:
        runs: finished and unchanged since.
        load_extractor: called once, after it is clear that no run is too small.
        reference: ``changed``, ``previous``, or a folder of images.
        common: take only the samples for which every run has an image.
        cache: of features; this user's by default.

    Raises:
        TooFewImages: a run is too small for any distance; nothing is written.
        ValueError: a run of another benchmark or of other data than are prepared, images gone.
        DataNotPrepared: the data of a run are not there.
    """
    edited = [edited_images(run.rows, run.images) for run in runs]
    references = _references(runs, reference)
    for pair in zip(edited, references, strict=True):
        check_enough(*pair)
    extractor, cache = load_extractor(), cache or FeatureCache()
    features = [features_of_set(images, extractor, cache) for images in edited]
    if common:
        features = _shared(features)
    compared = {
        key: features_of_set(images, extractor, cache)
        for key, images in {id(it): it for it in references}.items()
    }
    found = [
        measured_run(run.model, images, compared[id(reference_set)], extractor)
        for run, images, reference_set in zip(runs, features, references, strict=True)
    ]
    for run, distances in zip(runs, found, strict=True):
        facts = {"data": run.data, "common": common, **distances.record()}
        write_json_atomic(run.output, {**base_manifest(run.predictions), **facts})
    return found


def _shared(features: Sequence[ImageFeatures]) -> list[ImageFeatures]:
    """The images of those samples that all sets have."""
    keys = set.intersection(*(set(images.keys) for images, _ in features))
    shared = []
    for images, values in features:
        is_shared = np.array([key in keys for key in images.keys], dtype=bool)
        others = np.flatnonzero(~is_shared).tolist()
        shared.append((images.without(others, "not in every run"), values[is_shared]))
    return shared


def _references(runs: Sequence[FinishedEdits], reference: str) -> list[ImageSet]:
    """What each run is held against; runs of the same samples share one set, hashed once."""
    sets: dict[tuple[Any, ...], ImageSet] = {}
    keys = [
        (run.data.get("name"), run.data.get("fingerprint"), *(row["index"] for row in run.rows))
        for run in runs
    ]
    for key, run in zip(keys, runs, strict=True):
        if key not in sets:
            sets[key] = _reference(run, reference)
    return [sets[key] for key in keys]


def _reference(run: FinishedEdits, reference: str) -> ImageSet:
    if reference not in REFERENCES:
        if not Path(reference).is_dir():
            raise ValueError(
                f"expected {', '.join(REFERENCES)} or a folder as reference, got {reference!r}"
            )
        return images_of_folder(Path(reference))
    data = load_medebench(str(run.data.get("name")))
    if data.fingerprint != run.data.get("fingerprint"):
        raise ValueError(
            f"{run.predictions.name}: expected the data it was scored on, got other data under the "
            f"name {data.name}; evaluate the run again, or prepare the data it used"
        )
    return images_of_data(data, [int(row["index"]) for row in run.rows], reference)


def shown_distances(found: Sequence[RunDistances]) -> str:
    """Tables of distances, one for each basis, with what they rest on and what was left out."""
    tables = comparable_runs(found)
    parts = [_table(runs) for runs in tables]
    if len(tables) > 1:
        parts.append(
            f"{len(tables)} tables, because n, reference or extractor differ: do not compare "
            "between them; --common measures all runs on the samples they share"
        )
    return "\n\n".join(parts)


def _table(runs: Sequence[RunDistances]) -> str:
    first = runs[0]
    is_fid = first.frechet_name == "FID"
    frechet, kernel = ("FID", "KID") if is_fid else ("Fréchet", "MMD²")
    header = ("model", "images", frechet, "floor", "rank", f"1000 {kernel}", "paired")
    rows = [_row(run.model, group) for run in runs for group in run.groups]
    extractor = first.extractor
    notes = [
        f"{first.edited.what} against {first.reference.what} images, lower is better; floor: "
        "between two halves of the reference, n images each; ±: over subsets; paired: no edit with "
        "its own reference",
        *_inflated(runs),
        f"extractor: {extractor['name']}, {extractor['dim']} features, sha256 "
        f"{extractor['sha256']}",
        f"resize: {extractor['resize']}",
        *(line for run in runs for line in _left_out(run)),
    ]
    title = f"{first.frechet_name} and {first.kernel_name}"
    return "\n".join([plain_table(header, rows, title=title), *notes])


def _row(model: str, group: GroupDistance) -> tuple[str, ...]:
    frechet, kernel = group.frechet, group.kernel
    floor = None if frechet is None else frechet.noise_floor
    return (
        model if group.group_by == "overall" else f"  {group.group}",
        f"{group.n_edited} / {group.n_reference}",
        f"refused: {group.refused}" if frechet is None else f"{frechet.value:.2f}",
        "–" if floor is None else f"{floor.mean:.2f}, n={floor.n_half}",
        "–" if frechet is None else f"{frechet.rank_a} / {frechet.rank_b}",
        f"{1000 * kernel.value:.2f} ±{1000 * kernel.spread.deviation:.2f}",
        "–" if kernel.paired is None else f"{1000 * kernel.paired:.2f}",
    )


def _inflated(runs: Sequence[RunDistances]) -> list[str]:
    measured = [group.frechet for run in runs for group in run.groups if group.frechet]
    if not any("n<d" in it.flags for it in measured):
        return []
    return [
        f"fewer images than {measured[0].dim} features: {runs[0].frechet_name} is inflated; "
        "compare it at equal n only"
    ]


def _left_out(run: RunDistances) -> list[str]:
    lines = []
    for images in (run.edited, run.reference):
        if images.left_out:
            by_reason = sorted(images.left_out.items())
            reasons = ", ".join(f"{len(keys)} {why}" for why, keys in by_reason)
            lines.append(f"{run.model}: {images.what} images left out: {reasons}")
        if images.n_distinct < len(images):
            lines.append(
                f"{run.model}: {len(images)} {images.what} images are {images.n_distinct} "
                "different files"
            )
    return lines
