"""Which samples a fine-tuning may train on, and which may then still be tested.

MedEBench has no published training split. The paper's Table 7 fine-tunes on 4, 8 and 16 samples of
tasks that hold 30 to 36 samples and says it tests 30, so its training and test images may overlap;
here no image that was trained on is tested.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from ..files import sha256_bytes
from .medebench import MedEBenchSample

RULE = (
    "Per task the first n samples by SHA-256 are trained on, n being the shots asked for but never "
    "more than half of the task's samples, rounded down. Samples that share an image stand "
    "together in that order: by sha256('SEED\\nGROUP'), GROUP being the smallest SHA-256 of an "
    "image of the samples linked by shared images, then by sha256('SEED\\nID'). A sample that "
    "shares an image (SHA-256 of previous or reference) with a training sample is neither trained "
    "on nor tested."
)
"""The choice in words, as exports record it."""

_PICTURES = ("previous", "reference")


@dataclass(frozen=True)
class TaskSplit:
    """How many samples of one task go where."""

    task: str
    n_samples: int
    n_usable: int
    """Samples with an instruction and two readable pictures."""
    n_train: int
    n_held_out: int
    n_leaked: int


@dataclass(frozen=True)
class FineTuneSplit:
    """Ids in ascending order; `train`, `held_out` and `leaked` have none in common."""

    train: tuple[int, ...]
    held_out: tuple[int, ...]
    """Samples of the chosen tasks that may be tested."""
    leaked: Mapping[int, str]
    """Samples of any task that must not be tested, with the reason."""
    unusable: Mapping[int, str]
    """Samples of the chosen tasks that cannot be trained on, with the reason."""
    tasks: tuple[TaskSplit, ...]


def split_samples(
    samples: Sequence[MedEBenchSample], chosen: Iterable[int], *, shots: int | None, seed: int = 0
) -> FineTuneSplit:
    """Choose training samples task by task; see `RULE`.

    Args:
        samples: the whole data set, since an image may be shared across tasks; in any order.
        chosen: ids of the samples that may be trained on and tested.
        shots: training samples per task; None for as many as the half allows.
        seed: another seed draws other samples; with one seed, fewer shots are a part of more.

    Raises:
        ValueError: `shots` is below 1.
    """
    if shots is not None and shots < 1:
        raise ValueError(f"expected at least one shot, got {shots}; leave it out for all")
    wanted = set(chosen)
    order = _order(samples, seed)
    by_task: dict[str, list[MedEBenchSample]] = {}
    for sample in sorted(samples, key=lambda sample: order[sample.id]):
        if sample.id in wanted:
            by_task.setdefault(sample.task, []).append(sample)
    unusable = {
        sample.id: reason
        for members in by_task.values()
        for sample in members
        if (reason := _why_unusable(sample))
    }
    train = {
        sample.id for members in by_task.values() for sample in _first(members, unusable, shots)
    }
    leaked = _leaked(samples, train)
    held_out = wanted - train - set(leaked)
    return FineTuneSplit(
        train=tuple(sorted(train)),
        held_out=tuple(sorted(held_out)),
        leaked=leaked,
        unusable=dict(sorted(unusable.items())),
        tasks=tuple(
            TaskSplit(
                task,
                n_samples=len(members),
                n_usable=sum(1 for sample in members if sample.id not in unusable),
                n_train=sum(1 for sample in members if sample.id in train),
                n_held_out=sum(1 for sample in members if sample.id in held_out),
                n_leaked=sum(1 for sample in members if sample.id in leaked),
            )
            for task, members in sorted(by_task.items())
        ),
    )


def _first(
    members: Sequence[MedEBenchSample], unusable: Mapping[int, str], shots: int | None
) -> list[MedEBenchSample]:
    half = len(members) // 2
    usable = [sample for sample in members if sample.id not in unusable]
    return usable[: half if shots is None else min(shots, half)]


def _why_unusable(sample: MedEBenchSample) -> str:
    if not sample.instruction.strip():
        return "instruction empty"
    for role in _PICTURES:
        if getattr(sample, role) is None:
            return f"{role} missing"
        for problem in sample.problems:
            if problem.startswith((f"{role} unreadable", f"{role} is a Git LFS pointer")):
                return problem
    return ""


def _hashes(sample: MedEBenchSample) -> dict[str, str]:
    return {role: sample.sha256[role] for role in _PICTURES if role in sample.sha256}


def _order(samples: Sequence[MedEBenchSample], seed: int) -> dict[int, tuple[str, str]]:
    groups = _groups(samples)
    return {
        sample.id: (_draw(seed, groups[sample.id]), _draw(seed, str(sample.id)))
        for sample in samples
    }


def _draw(seed: int, words: str) -> str:
    return sha256_bytes(f"{seed}\n{words}".encode())


def _groups(samples: Sequence[MedEBenchSample]) -> dict[int, str]:
    """The smallest image hash among the samples that shared images link to each one, by id."""
    smallest: dict[str, str] = {}

    def root(digest: str) -> str:
        while smallest.setdefault(digest, digest) != digest:
            digest = smallest[digest]
        return digest

    for sample in samples:
        roots = sorted({root(digest) for digest in _hashes(sample).values()})
        smallest.update((other, roots[0]) for other in roots[1:])
    return {
        sample.id: root(min(_hashes(sample).values())) if _hashes(sample) else ""
        for sample in samples
    }


def _leaked(samples: Sequence[MedEBenchSample], train: set[int]) -> dict[int, str]:
    seen: dict[str, int] = {}
    for sample in sorted(samples, key=lambda sample: sample.id):
        if sample.id in train:
            for digest in _hashes(sample).values():
                seen.setdefault(digest, sample.id)
    return {
        sample.id: f"{shared[0]} image is one of training sample {shared[1]}"
        for sample in sorted(samples, key=lambda sample: sample.id)
        if sample.id not in train and (shared := _shared(sample, seen))
    }


def _shared(sample: MedEBenchSample, seen: Mapping[str, int]) -> tuple[str, int] | None:
    for role, digest in _hashes(sample).items():
        if digest in seen:
            return role, seen[digest]
    return None
