"""In-context editing: which solved samples are shown before a sample, and in which words.

The paper of MedEBench (arXiv 2506.01921) shows a model up to three triplets of input, instruction
and reference before the image to edit. It publishes neither how they were chosen nor the wording;
the rule and the words here are ours.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ..files import sha256_bytes
from .medebench import MedEBenchSample

Part = tuple[Literal["text", "image"], str]

RULE = (
    "samples of the same task with input and reference, none of which is the sample itself or "
    "shares an image file with it, in the order of sha256('{seed}|{sample id}|{candidate id}'); "
    "the first ones, never filled from another task"
)
"""What `demonstrations` does, for a manifest."""

_BEFORE = "Example {number}, before the edit:"
_INSTRUCTION = "Example {number}, instruction:"
_AFTER = "Example {number}, after the edit:"
_TEST = "Image to edit:"


@dataclass(frozen=True)
class InContext:
    """Which samples each sample of a data set is shown after."""

    shots: int
    """Demonstrations asked for; a sample may have fewer."""
    seed: int
    shown: Mapping[int, tuple[int, ...]]
    """Sample id to the ids of its demonstrations, in their order."""

    def fewer(self) -> list[int]:
        """Samples with fewer demonstrations than asked for."""
        return [identifier for identifier, ids in self.shown.items() if len(ids) < self.shots]

    def facts(self) -> dict[str, Any]:
        """What a manifest says."""
        return {
            "shots": self.shots,
            "seed": self.seed,
            "rule": RULE,
            "samples_by_shots": Counter(len(ids) for ids in self.shown.values()),
            "demonstrations": {str(identifier): ids for identifier, ids in self.shown.items()},
        }


def demonstrations(
    sample: MedEBenchSample, samples: Iterable[MedEBenchSample], *, shots: int, seed: int = 0
) -> tuple[MedEBenchSample, ...]:
    """The solved samples to show before `sample`; see `RULE`.

    Args:
        sample: the one that is asked.
        samples: to choose from; their order does not matter.
        shots: how many are wanted.
        seed: another one chooses others.

    Returns:
        At most `shots` samples, fewer where the task has no more that may be shown.

    Raises:
        ValueError: `shots` is negative.

    Notes:
        Images are compared by the hashes of their files. A sample may not be shown when its input
        or reference is the input or the reference of `sample`: either would give the answer away.
        Two files that hold the same picture in different bytes count as two pictures.
    """
    if shots < 0:
        raise ValueError(f"expected shots >= 0, got {shots}")
    own = _images(sample)
    candidates = {
        candidate.id: candidate
        for candidate in samples
        if candidate.id != sample.id
        and candidate.task == sample.task
        and is_complete(candidate)
        and not own & _images(candidate)
    }
    order = sorted(candidates, key=lambda identifier: _place(seed, sample.id, identifier))
    return tuple(candidates[identifier] for identifier in order[:shots])


def is_complete(sample: MedEBenchSample) -> bool:
    """Whether a sample can be shown: input, reference and instruction are there and readable."""
    unreadable = any(
        problem.startswith((f"{role} unreadable", f"{role} is a Git LFS pointer"))
        for problem in sample.problems
        for role in ("previous", "reference")
    )
    return (
        sample.previous is not None
        and sample.reference is not None
        and {"previous", "reference"} <= set(sample.sha256)
        and bool(sample.instruction.strip())
        and not unreadable
    )


def _images(sample: MedEBenchSample) -> frozenset[str]:
    return frozenset(
        sample.sha256[role] for role in ("previous", "reference") if role in sample.sha256
    )


def _place(seed: int, sample_id: int, candidate_id: int) -> str:
    return sha256_bytes(f"{seed}|{sample_id}|{candidate_id}".encode())


def demonstrated_prompt(
    sample: MedEBenchSample, shown: Sequence[MedEBenchSample], *, instruction: str
) -> list[Part]:
    """The prompt of a sample: each demonstration, then its own image and instruction.

    Without demonstrations it is image and instruction alone, as when none are asked for.

    Args:
        sample: the one that is asked.
        shown: as `demonstrations` gives them.
        instruction: of `sample`, as it is to be sent.

    Raises:
        ValueError: a sample without the images that are to be shown.
    """
    if sample.previous is None:
        raise ValueError(f"expected a sample with an input image, got {sample.id}")
    own: list[Part] = [("image", str(sample.previous)), ("text", instruction)]
    if not shown:
        return own
    parts: list[Part] = []
    for number, example in enumerate(shown, start=1):
        if example.previous is None or example.reference is None:
            raise ValueError(f"expected demonstrations with both images, got {example.id}")
        # On one line each, so that an instruction can never be read as a mark.
        words = " ".join(example.instruction.split())
        parts += [
            ("text", _BEFORE.format(number=number)),
            ("image", str(example.previous)),
            ("text", f"{_INSTRUCTION.format(number=number)} {words}"),
            ("text", _AFTER.format(number=number)),
            ("image", str(example.reference)),
        ]
    return [*parts, ("text", _TEST), *own]


def split_prompt(text: str, n_images: int) -> tuple[tuple[str, ...], str] | None:
    """The instructions in the texts of a `demonstrated_prompt`, joined by line breaks.

    Args:
        text: all texts of a message in order, as `models.requests.read_message` joins them.
        n_images: images in the message, the one to edit included.

    Returns:
        The demonstrations' instructions and the sample's own; None for a text of another form.
    """
    n_shown, rest = divmod(n_images - 1, 2)
    if n_shown < 1 or rest:
        return None
    *marked, own = text.split("\n", 3 * n_shown + 1)
    if len(marked) != 3 * n_shown + 1 or marked[-1] != _TEST:
        return None
    instructions = []
    for number in range(1, n_shown + 1):
        before, middle, after = marked[3 * number - 3 : 3 * number]
        start = _INSTRUCTION.format(number=number) + " "
        if (before, after) != (_BEFORE.format(number=number), _AFTER.format(number=number)):
            return None
        if not middle.startswith(start):
            return None
        instructions.append(middle[len(start) :])
    return tuple(instructions), own
