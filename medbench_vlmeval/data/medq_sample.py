"""Small packs of MedQ-Bench questions made on this machine, one for each kind of table.

The pictures are real medical ones that scikit-image and pydicom install with themselves, and a
head phantom; what is wrong with them is added by `medq_degradations`, so every answer is known.
Scores on the packs say that a setup works, not how good a model is.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .image_store import listed_images
from .medq_rows import MedQRelease, MedQRow
from .medq_tables import MEDQ_TABLE_NAMED, MEDQ_TABLES, Kind
from .places import dataset_root
from .prepare_report import PrepareReport
from .releases import SourceImage
from .sample_pack import generator_revision, png_bytes, usable_manifest

if TYPE_CHECKING:
    from .medq_scenes import MedQScene

MEDQ_SCENES_VERSION = 1
"""Raised whenever a picture, a degradation, a question or a text of the packs changes."""

_SOURCE = "pictures of scikit-image and pydicom, changed by medbench_vlmeval.data.medq_degradations"


def prepare_medq_sample(
    name: str, root: Path | None = None, *, progress: bool = False
) -> PrepareReport:
    """Generate one of the MedQ sample packs unless it is there as the installed packages make it.

    The same package versions give the same bytes. A pack in a folder that cannot be written to is
    used as it is.

    Args:
        name: ``MedQ_MCQ_sample``, ``MedQ_Caption_sample``, ``MedQ_Paired_sample`` or
            ``MedQDEG_sample``.
        root: Data folder; default `lmu_root()`.
        progress: Show a progress bar.

    Raises:
        ValueError: `name` is no sample pack of MedQ-Bench.
        FileNotFoundError: the installed scikit-image carries no such pictures.
    """
    from .medq_prepare import prepare_medq_release

    release = medq_sample_release(name)
    folder = dataset_root(name, root)
    manifest = usable_manifest(folder, release.revision or "", listed_images)
    if manifest is not None:
        return PrepareReport.of_earlier(folder, manifest)
    return prepare_medq_release(release, name=name, root=root, replace=True, progress=progress)


def medq_sample_release(name: str) -> MedQRelease:
    """A sample pack as a release; its images are made while its rows are read.

    Rows whose picture comes with pydicom are left out where that is not installed or carries no
    such picture; the other rows keep their numbers.

    Raises:
        ValueError: `name` is no sample pack of MedQ-Bench.
    """
    table = MEDQ_TABLE_NAMED.get(name)
    if table is None or not table.is_sample:
        packs = ", ".join(table.name for table in MEDQ_TABLES if table.is_sample)
        raise ValueError(f"expected a sample pack of MedQ-Bench, got {name!r}; take one of {packs}")
    scenes = _scenes_of(table.kind)
    shown = [scene for scene in scenes if scene.is_available]
    n_missing = len(scenes) - len(shown)
    warnings = (
        (
            f"{n_missing} rows left out: their pictures come with pydicom; "
            "pip install 'medbench-vlmeval[sample]' and prepare again",
        )
        if n_missing
        else ()
    )
    return MedQRelease(
        source=_SOURCE,
        layout="generated",
        count=len(shown),
        rows=_rows(shown),
        revision=generator_revision(f"scenes {MEDQ_SCENES_VERSION}, {len(shown)} rows"),
        warnings=warnings,
    )


def _scenes_of(kind: Kind) -> tuple[MedQScene, ...]:
    from .medq_scenes_deg import deg_scenes
    from .medq_scenes_mcq import mcq_scenes
    from .medq_scenes_texts import caption_scenes, paired_scenes

    scenes = {
        "mcq": mcq_scenes,
        "caption": caption_scenes,
        "paired": paired_scenes,
        "deg": deg_scenes,
    }
    return scenes[kind]()


def _rows(scenes: Sequence[MedQScene]) -> Iterator[MedQRow]:
    for number, scene in enumerate(scenes):
        index = scene.fields["index"]
        yield MedQRow(
            number=number,
            fields=scene.fields,
            images=tuple(
                SourceImage(f"{index}_{position}.png", data=png_bytes(view.pixels))
                for position, view in enumerate(scene.views, start=1)
            ),
        )
