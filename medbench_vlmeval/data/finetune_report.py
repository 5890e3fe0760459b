"""What a fine-tuning export says about itself: a report for people, a manifest for programs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from .. import __version__
from .finetune_files import COLUMNS, PROMPT_COLUMN
from .finetune_split import RULE, FineTuneSplit
from .medebench import MedEBenchData, MedEBenchSample

KIND = "medbench fine-tuning export"
LAYOUT_VERSION = 1
_SHOWN_TASKS = 20


@dataclass(frozen=True)
class FineTuneReport:
    """What an export holds."""

    folder: Path
    split: FineTuneSplit
    shots: int | None
    n_outside: int
    """Samples outside the chosen tasks and organs; they are in no list unless leaked."""

    def lines(self) -> Iterator[str]:
        """The report for people."""
        split = self.split
        yield f"{self.folder}: {len(split.train)} training triplets of {len(split.tasks)} tasks"
        yield (
            f"to test: {len(split.held_out)} samples (held_out_ids.txt); not to test: "
            f"{len(split.train)} trained on, {len(split.leaked)} that share an image with them"
        )
        if self.n_outside:
            yield f"{self.n_outside} samples of other tasks or organs were left aside"
        if split.unusable:
            yield f"{len(split.unusable)} samples cannot be trained on, see manifest.json"
        yield from _limited("fewer shots than asked for", self._short_tasks())
        yield from _limited("nothing left to test", self._untestable_tasks())

    def _short_tasks(self) -> list[str]:
        return [
            f"{it.task} ({it.n_train} of {self.shots}: {it.n_samples} samples, "
            f"{it.n_usable} usable, at most half are trained on)"
            for it in self.split.tasks
            if self.shots is not None and it.n_train < self.shots
        ]

    def _untestable_tasks(self) -> list[str]:
        return [f"{it.task} ({it.n_leaked} leaked)" for it in self.split.tasks if not it.n_held_out]


def _limited(what: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield f"{what}, {len(items)} tasks:"
        yield from (f"  {item}" for item in items[:_SHOWN_TASKS])
        if len(items) > _SHOWN_TASKS:
            yield f"  and {len(items) - _SHOWN_TASKS} more, see manifest.json"


def finetune_manifest(
    data: MedEBenchData,
    chosen: Sequence[MedEBenchSample],
    split: FineTuneSplit,
    *,
    shots: int | None,
    seed: int,
    format: str,
) -> dict[str, Any]:
    """What an export records about itself; ``complete`` is set when all of it is written."""
    return {
        "kind": KIND,
        "complete": False,
        "request": {
            "layout_version": LAYOUT_VERSION,
            "data": data.name,
            "data_fingerprint": data.fingerprint,
            "shots": "all" if shots is None else shots,
            "seed": seed,
            "format": format,
            "tasks": sorted({sample.task for sample in chosen}),
            "organs": sorted({sample.organ for sample in chosen}),
        },
        "data_revision": data.revision,
        "rule": RULE,
        "columns": {**COLUMNS, PROMPT_COLUMN: "instruction"},
        "package_version": __version__,
        "n_train": len(split.train),
        "n_held_out": len(split.held_out),
        "n_leaked": len(split.leaked),
        "n_outside": len(data.samples) - len(chosen),
        "tasks": [asdict(task) for task in split.tasks],
        "unusable": {str(number): reason for number, reason in split.unusable.items()},
    }
