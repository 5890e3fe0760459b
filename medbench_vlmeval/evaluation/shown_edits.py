"""What a sample of an editing benchmark showed; the edited image itself is in the scores."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..data import MedEBenchSample
from .edited_rows import EditedSample
from .shown_samples import ShownImage, ShownSample


def shown_edit(row: EditedSample, demonstrations: Sequence[MedEBenchSample] = ()) -> ShownSample:
    """The sample behind a row, with the solved edits that were shown before it."""
    sample = row.sample
    return ShownSample(
        index=sample.id,
        key=str(sample.id),
        kind="edit",
        images=(
            *(_image(sample, role, role) for role in ("previous", "reference", "roi")),
            *_demonstrated(demonstrations),
        ),
        reply=row.prediction,
        about={
            "instruction": sample.instruction,
            "description": sample.description,
            "organ": sample.organ,
            "task": sample.task,
        },
    )


def _demonstrated(shown: Sequence[MedEBenchSample]) -> Iterator[ShownImage]:
    for number, example in enumerate(shown, start=1):
        yield _image(example, "previous", f"demonstration {number} previous")
        yield _image(example, "reference", f"demonstration {number} changed")


def _image(sample: MedEBenchSample, role: str, shown_as: str) -> ShownImage:
    path = getattr(sample, role)
    return ShownImage(shown_as, path, sample.sha256.get(role), sample.sizes_wh.get(role))
