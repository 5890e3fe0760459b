"""A small pack of grounding questions made on this machine, a few for each MedSG-Bench task.

The pictures are real ones that scikit-image installs with itself; what is asked for is drawn, cut
out or cropped by `medsg_scenes`, so every answer is exact. Scores on the pack say that a setup
works, not how good a model is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from .image_store import listed_images
from .medsg_prepare import prepare_medsg_release
from .medsg_rows import MedSGRelease, MedSGRow
from .medsg_tasks import MEDSG_SAMPLE_PACK_NAME, TASK_OF_KEY
from .places import dataset_root
from .prepare_report import PrepareReport
from .releases import SourceImage
from .sample_pack import generator_revision, png_bytes, usable_manifest

if TYPE_CHECKING:
    from .medsg_scenes import Scene

SCENES_VERSION = 1
"""Raised whenever a picture, a question or an answer of the pack changes."""
N_SCENES = 17

_SOURCE = "pictures of scikit-image, changed by medbench_vlmeval.data.medsg_scenes"


def prepare_medsg_sample(root: Path | None = None, *, progress: bool = False) -> PrepareReport:
    """Generate ``MedSG_sample`` unless it is there as the installed packages make it.

    The same package versions give the same bytes. A pack in a folder that cannot be written to is
    used as it is.

    Args:
        root: Data folder; default `lmu_root()`.
        progress: Show a progress bar.

    Raises:
        FileNotFoundError: the installed scikit-image carries no such pictures.
    """
    from .medsg_scenes import scenes

    revision = generator_revision(f"scenes {SCENES_VERSION}, {N_SCENES} samples")
    folder = dataset_root(MEDSG_SAMPLE_PACK_NAME, root)
    manifest = usable_manifest(folder, revision, listed_images)
    if manifest is not None:
        return PrepareReport.of_earlier(folder, manifest)
    release = MedSGRelease(
        source=_SOURCE,
        layout="generated",
        count=N_SCENES,
        rows=_rows(scenes()),
        revision=revision,
        is_published=False,
    )
    return prepare_medsg_release(
        release, name=MEDSG_SAMPLE_PACK_NAME, root=root, replace=True, progress=progress
    )


def _rows(made: Iterable[Scene]) -> Iterator[MedSGRow]:
    counted: Counter[str] = Counter()
    for scene in made:
        number = counted[scene.task]
        counted[scene.task] += 1
        names = tuple(
            f"{scene.task}/{number}_{position}.png" for position in range(1, len(scene.images) + 1)
        )
        yield MedSGRow(
            task=TASK_OF_KEY[scene.task],
            number=number,
            fields={
                "question": scene.question,
                "answer": list(scene.answer),
                "size": None if scene.size_wh is None else list(scene.size_wh),
                "additional_info": scene.additional_info,
                "need_format": True,
            },
            images=tuple(
                SourceImage(name, data=png_bytes(pixels))
                for name, pixels in zip(names, scene.images, strict=True)
            ),
            image_names=names,
        )
