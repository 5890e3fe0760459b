"""What the samples of a finished run showed: lines of ``_samples.jsonl``, images found again."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any

from .lines import read_whole
from .runs import Run, RunUnreadable

SAMPLES_SUFFIX = "_samples.jsonl"


class SamplesAbsent(RunUnreadable):
    """A run that an earlier version evaluated: it has scores, and nothing says what was shown."""


@dataclass(frozen=True)
class ShownImage:
    """One image of a sample, where it was and where it is."""

    role: str
    """What it is to the sample, e.g. ``previous`` or ``image 2``."""
    recorded: Path | None
    """Where it was at the evaluation; None for one that the data set lacks."""
    found: Path | None
    """The file, where it was or below the data root; None where neither is there."""
    sha256: str | None = None
    size_wh: tuple[int, int] | None = None

    @property
    def exists(self) -> bool:
        return self.found is not None


@dataclass(frozen=True)
class ShownSample:
    """One sample of a run: what it showed, how it was asked and what came back."""

    index: int
    key: str
    kind: str
    """``edit``, ``boxes``, ``choice`` or ``description``."""
    prompt: tuple[int | str, ...] | None
    """Texts, and positions in `images`, in the order sent; None where it is not known."""
    prompt_note: str
    """Why the prompt is not known, or what may have become of it on the way."""
    images: tuple[ShownImage, ...]
    reply: str | None
    about: Mapping[str, Any]


def sample_lines(run: Run) -> tuple[Mapping[str, Any], ...]:
    """The lines of ``_samples.jsonl`` as they are written, in the order of the scores.

    Raises:
        SamplesAbsent: there is no such file.
        RunUnreadable: it is damaged.
    """
    path = run.beside(SAMPLES_SUFFIX)
    if not path.is_file():
        raise SamplesAbsent(
            f"{path}: is not there, the run was evaluated by an earlier version; "
            "evaluate again to see images and prompts"
        )
    return tuple(read_whole(path))


def shown_sample(line: Mapping[str, Any], data_root: Path | None = None) -> ShownSample:
    """A line of ``_samples.jsonl`` with its images looked for; none is opened.

    Args:
        line: as `sample_lines` gives it.
        data_root: where prepared data lies now, for images that are no longer where they were.

    Raises:
        RunUnreadable: the line lacks something, or is of another form.
    """
    try:
        prompt = line["prompt"]
        return ShownSample(
            index=line["index"],
            key=str(line["key"]),
            kind=str(line["kind"]),
            prompt=None if prompt is None else tuple(map(_part, prompt)),
            prompt_note=line.get("prompt_note", ""),
            images=tuple(_image(image, data_root) for image in line["images"]),
            reply=line["reply"],
            about=dict(line["about"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise RunUnreadable(
            f"expected a line of {SAMPLES_SUFFIX} with prompt, images and reply, got "
            f"{str(line)[:200]}; evaluate again"
        ) from error


def shown_samples(run: Run, data_root: Path | None = None) -> tuple[ShownSample, ...]:
    """What every sample of a run showed, in the order of the scores; see `shown_sample`.

    Raises:
        SamplesAbsent: the run has no such file.
        RunUnreadable: it is damaged.
    """
    return tuple(shown_sample(line, data_root) for line in sample_lines(run))


def _part(part: Mapping[str, Any]) -> int | str:
    return int(part["image"]) if "image" in part else str(part["text"])


def _image(image: Mapping[str, Any], data_root: Path | None) -> ShownImage:
    recorded = Path(image["path"]) if image.get("path") else None
    size = image.get("size_wh")
    return ShownImage(
        role=str(image["role"]),
        recorded=recorded,
        found=_found(recorded, image.get("stored"), data_root),
        sha256=image.get("sha256"),
        size_wh=None if size is None else (int(size[0]), int(size[1])),
    )


def _found(recorded: Path | None, stored: str | None, data_root: Path | None) -> Path | None:
    if recorded is not None and recorded.is_file():
        return recorded
    if data_root is None or not stored:
        return None
    below = PurePosixPath(stored)
    if below.is_absolute() or ".." in below.parts:
        # A run may come from elsewhere; its files must not point out of the data root.
        return None
    path = data_root / below
    return path if path.is_file() else None
