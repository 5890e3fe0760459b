"""What each sample of a run showed, how it was asked and what came back: ``_samples.jsonl``.

Scores say how a reply was read; beside them these lines let a reader look at the sample itself.
Nothing is decoded for them, and nothing that is missing stops an evaluation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from ..data import MedQQuestion, lmu_root

SampleKind = Literal["edit", "boxes", "choice", "description"]
Size = tuple[int, int]
Part = tuple[str, str]
"""``("image", path)`` or ``("text", words)``."""

NOT_KNOWN = "scored outside VLMEvalKit: how the model was asked is not known"
NOT_ASKED = "the model was not asked: an image of the sample is missing"


@dataclass(frozen=True)
class AskedPrompts:
    """What a data set hands to the host, for the samples of one run."""

    of: Callable[[int], Sequence[Part] | None]
    """The prompt of a sample by its index; None for one that no model is asked."""
    note: str = ""
    """What may have become of the prompts on the way to the model."""


@dataclass(frozen=True)
class ShownImage:
    """One image of a sample."""

    role: str
    """What it is to the sample, e.g. ``previous`` or ``image 2``."""
    path: Path | None
    """None keeps the place of one that is absent."""
    sha256: str | None = None
    size_wh: Size | None = None
    """None where nobody has measured it."""


@dataclass(frozen=True)
class ShownSample:
    """A sample with what was answered to it."""

    index: int
    key: str
    """The release's own id, or the index as text."""
    kind: SampleKind
    images: tuple[ShownImage, ...]
    reply: str | None
    """As the prediction file holds it."""
    about: Mapping[str, Any]
    """What else a reader must know of the sample, by kind."""


def sample_records(
    samples: Iterable[ShownSample], folder: Path, asked: AskedPrompts | None
) -> Iterator[dict[str, Any]]:
    """The lines of ``_samples.jsonl``.

    Args:
        samples: in the order of the scores.
        folder: of the prepared data set.
        asked: None for predictions that no data set of the host asked for.
    """
    # A table of one's own is prepared in a root of its own, which itself lies below the data root.
    roots = [f"{_absolute(root).as_posix()}/" for root in (lmu_root(), folder.parent.parent)]
    for sample in samples:
        prompt, images, note = _asked(sample, asked)
        yield {
            "index": sample.index,
            "key": sample.key,
            "kind": sample.kind,
            "prompt": prompt,
            "prompt_note": note,
            "images": [_image_record(image, roots) for image in images],
            "reply": sample.reply,
            "about": sample.about,
        }


def numbered_images(
    paths: Sequence[Path | None], hashes: Sequence[str | None], sizes_wh: Sequence[Size | None]
) -> tuple[ShownImage, ...]:
    """A sequence as ``image 1``, ``image 2``, …, with hashes and sizes where they are known."""
    return tuple(
        ShownImage(f"image {position + 1}", path, _at(hashes, position), _at(sizes_wh, position))
        for position, path in enumerate(paths)
    )


def question_images(sample: MedQQuestion) -> tuple[ShownImage, ...]:
    """The image of a question of MedQ-Bench, or the two that it compares."""
    numbered = numbered_images(sample.images, sample.sha256, sample.sizes_wh)
    roles = {1: ("image",), 2: ("first", "second")}.get(len(numbered))
    if roles is None:
        return numbered
    return tuple(replace(image, role=role) for image, role in zip(numbered, roles, strict=True))


def _at(values: Sequence[Any], position: int) -> Any:
    return values[position] if position < len(values) else None


def _asked(
    sample: ShownSample, asked: AskedPrompts | None
) -> tuple[list[dict[str, Any]] | None, Sequence[ShownImage], str]:
    if asked is None:
        return None, sample.images, NOT_KNOWN
    try:
        parts = asked.of(sample.index)
    except (OSError, ValueError) as error:
        return None, sample.images, f"the prompt cannot be made again: {error}"
    if parts is None:
        return None, sample.images, NOT_ASKED
    prompt, images = _located(parts, sample.images)
    return prompt, images, asked.note


def _located(
    parts: Sequence[Part], images: Sequence[ShownImage]
) -> tuple[list[dict[str, Any]], list[ShownImage]]:
    """A prompt whose images are positions among the sample's; one that is not there is added."""
    known = list(images)
    places: dict[str, list[int]] = {}
    for position, image in enumerate(known):
        if image.path is not None:
            places.setdefault(str(image.path), []).append(position)
    prompt: list[dict[str, Any]] = []
    for kind, value in parts:
        if kind != "image":
            prompt.append({"text": value})
            continue
        if value not in places:
            places[value] = [len(known)]
            known.append(ShownImage("sent", Path(value)))
        # One file may stand for two images of a sequence: each place is taken in its turn.
        of_file = places[value]
        prompt.append({"image": of_file.pop(0) if len(of_file) > 1 else of_file[0]})
    return prompt, known


def _image_record(image: ShownImage, roots: Sequence[str]) -> dict[str, Any]:
    path = None if image.path is None else _absolute(image.path)
    return {
        "role": image.role,
        "path": path,
        "stored": None if path is None else _below(path.as_posix(), roots),
        "sha256": image.sha256,
        "size_wh": image.size_wh,
    }


def _absolute(path: Path) -> Path:
    # Not resolved: a link inside the data folder is part of the layout.
    return path if path.is_absolute() else Path.cwd() / path


def _below(path: str, roots: Sequence[str]) -> str | None:
    return next((path.removeprefix(root) for root in roots if path.startswith(root)), None)
