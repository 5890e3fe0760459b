"""In-context editing with MedEBench: solved edits are shown before the one that is asked for.

The paper (arXiv 2506.01921) shows zero to three of them; `data.demonstrations` says what it leaves
open and which rule and words are used here.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from ..registry import EDITORS, register_dataset
from .base import guarded_text
from .medebench import MedEBench

if TYPE_CHECKING:
    from ..data import MedEBenchData, MedEBenchSample
    from ..data.demonstrations import InContext

logger = logging.getLogger(__name__)

_SEED = 0
_BEHIND = {
    "MedEBench_1shot_test": (1, "MedEBench_test"),
    "MedEBench_2shot_test": (2, "MedEBench_test"),
    "MedEBench_3shot_test": (3, "MedEBench_test"),
    "MedEBench_1shot_sample": (1, "MedEBench_sample"),
}
"""Demonstrations asked for, and the samples that are asked and scored."""


@register_dataset
class MedEBenchInContext(MedEBench):
    """MedEBench with up to three solved edits of the same task before each sample.

    Samples and evaluation are those of `MedEBench`; only the prompt differs. Which samples were
    shown is in the manifest and in each row of the scores.
    """

    NAMES: ClassVar[tuple[str, ...]] = tuple(_BEHIND)

    in_context: InContext
    shown: dict[int, tuple[MedEBenchSample, ...]]
    """Sample id to its demonstrations."""

    def load_samples(self, dataset: str) -> MedEBenchData:
        from ..data import load_medebench

        # Under its own name in manifests and tables; the fingerprint says that samples are equal.
        return replace(load_medebench(_BEHIND[dataset][1]), name=dataset)

    def load_data(self, dataset: str) -> pd.DataFrame:
        from ..data.demonstrations import InContext, demonstrations

        frame = super().load_data(dataset)
        shots, _ = _BEHIND[dataset]
        by_task: dict[str, list[MedEBenchSample]] = {}
        for candidate in self._candidates(dataset):
            by_task.setdefault(candidate.task, []).append(candidate)
        self.shown = {
            sample.id: demonstrations(sample, by_task[sample.task], shots=shots, seed=_SEED)
            for sample in self.medebench.samples
        }
        ids = {number: tuple(it.id for it in shown) for number, shown in self.shown.items()}
        self.in_context = InContext(shots, _SEED, ids)
        fewer = self.in_context.fewer()
        if fewer:
            logger.warning(
                "%s: %d of %d samples have fewer than %d demonstrations of their task: %s",
                dataset,
                len(fewer),
                len(ids),
                shots,
                ", ".join(map(str, fewer[:20])),
            )
        return frame

    def _candidates(self, dataset: str) -> tuple[MedEBenchSample, ...]:
        if _BEHIND[dataset][1] != "MedEBench_sample":
            return self.medebench.samples
        from ..data.demonstrations_pack import load_demonstration_pack

        return self.medebench.samples + load_demonstration_pack().samples

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        from ..data.demonstrations import demonstrated_prompt

        if isinstance(line, int):
            line = self.data.iloc[line]
        number = int(line["index"])
        parts = demonstrated_prompt(
            self.medebench.sample(number),
            self.shown[number],
            instruction=guarded_text(str(line["question"])),
        )
        return [{"type": kind, "value": value} for kind, value in parts]

    def dump_image(self, line: Any) -> list[str]:
        """The images of a prompt in its order; the one to edit is the last."""
        return [part["value"] for part in self.build_prompt(line) if part["type"] == "image"]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float | int]:
        """Score the predictions of one model as `MedEBench` does, and say what it was shown."""
        predictions = self.prediction_file(eval_file)
        model = predictions.stem.removesuffix(f"_{self.dataset_name}")
        takes = takes_demonstrations(model, _editor_classes(predictions))
        facts = {
            "samples_of": _BEHIND[self.dataset_name][1],
            "takes_demonstrations": "unknown" if takes is None else takes,
            **self.in_context.facts(),
        }
        flat = self.evaluated(
            predictions,
            judge_kwargs,
            facts={"in_context": facts},
            demonstrations=self.shown,
        )
        note = _note(model, takes)
        if note:
            logger.warning("%s: %s", self.dataset_name, note)
        return flat


def takes_demonstrations(model: str, classes: Iterable[str] = ()) -> bool | None:
    """Whether an editor makes use of demonstrations; None where that is not known.

    Args:
        model: its name in the model zoo.
        classes: full names of the classes that made the edits, for models of a configuration file.
    """
    if model in EDITORS:
        return _declares(EDITORS[model].editor)
    for full_name in classes:
        module, _, name = full_name.rpartition(".")
        editor = getattr(sys.modules.get(module), name, None)
        if isinstance(editor, type):
            return _declares(editor)
    return None


def _declares(editor: type) -> bool | None:
    takes: bool | None = getattr(editor, "TAKES_DEMONSTRATIONS", False)
    return takes


def _note(model: str, takes: bool | None) -> str:
    if takes:
        return ""
    if takes is None:
        return f"it is not known whether {model} makes use of the demonstrations it was shown"
    return (
        f"{model} takes one image and makes no use of demonstrations; "
        "its numbers are not those of in-context editing"
    )


def _editor_classes(predictions: Path) -> list[str]:
    """Full names of the classes that made the edits, as far as the store knows them."""
    from ..editing import EditStore, read_edit_reply
    from ..predictions import read_predictions

    store = EditStore.default()
    replies = (read_edit_reply(row.get("prediction")) for row in read_predictions(predictions).rows)
    described = (store.description(name) for name in sorted({it.settings for it in replies}))
    return [str(it["class"]) for it in described if it and "class" in it]
