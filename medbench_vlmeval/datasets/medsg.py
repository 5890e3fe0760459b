"""MedSG-Bench in VLMEvalKit: grounding in sequences of medical images.

Yue et al., "MedSG-Bench: A Benchmark for Medical Image Sequences Grounding", NeurIPS 2025 Datasets
and Benchmarks, arXiv:2505.11852.
"""

from __future__ import annotations

import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from ..registry import register_dataset
from .base import MedBenchDataset, guarded_text, plain_frame

if TYPE_CHECKING:
    from ..conventions import Convention
    from ..data import MedSGData, MedSGSample
    from ..evaluation.grounded_boxes import SentSize
    from ..evaluation.shown_samples import AskedPrompts

logger = logging.getLogger(__name__)


@register_dataset
class MedSG(MedBenchDataset):
    """MedSG-Bench: 9,630 questions about sequences of two to six images, answered by a box.

    Which coordinates a model writes is declared, never guessed: by ``MEDBENCH_MEDSG_CONVENTION``,
    else by the family of the model that the command names, else the prompt states it. What was
    asked travels in the prediction file, and replies are read by it.
    """

    TYPE = "SEQUENCE_GROUNDING"
    NAMES: ClassVar[tuple[str, ...]] = (
        "MedSG_test",
        "MedSG_RegisteredDiff_test",
        "MedSG_NonRegisteredDiff_test",
        "MedSG_MultiView_test",
        "MedSG_ObjectTracking_test",
        "MedSG_Concept_test",
        "MedSG_Patch_test",
        "MedSG_CrossModal_test",
        "MedSG_Referring_test",
        "MedSG_sample",
    )
    HEADLINE: ClassVar[tuple[str, ...]] = ("IoU", "ACC@0.5")
    DEFAULT_JUDGE = "exact_matching"

    medsg: MedSGData
    convention: Convention

    def load_data(self, dataset: str) -> pd.DataFrame:
        from ..data import load_medsg
        from ..evaluation.medsg_prompt import chosen_convention

        self.medsg = load_medsg(dataset)
        self.convention = chosen_convention(os.environ, sys.argv)
        logger.info(
            "%s: boxes are asked for and read as %s (by the %s)",
            dataset,
            self.convention.name,
            self.convention.source,
        )
        whole = [sample for sample in self.medsg.samples if sample.is_whole]
        self._samples = {sample.index: sample for sample in whole}
        if len(whole) < len(self.medsg.samples):
            n_absent = len(self.medsg.samples) - len(whole)
            logger.warning("%s: %d samples lack an image and cannot be asked", dataset, n_absent)
        return plain_frame(
            [
                {
                    "index": sample.index,
                    "question": sample.question,
                    "task": sample.task,
                    "category": sample.task,
                    "convention": self.convention.name,
                    "convention_source": self.convention.source,
                    "convention_family": self.convention.family or "",
                }
                for sample in whole
            ]
        )

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        if isinstance(line, int):
            line = self.data.iloc[line]
        parts = _message(self._samples[int(line["index"])], self.convention)
        return [{"type": kind, "value": value} for kind, value in parts]

    def dump_image(self, line: Any) -> list[str]:
        return [str(path) for path in self._samples[int(line["index"])].images]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float | int]:
        """Score the replies of one model; see `evaluation.medsg.evaluate_medsg`.

        Args:
            eval_file: the host's prediction file, in any of its formats.
            judge_kwargs: the host's; of ours, ``medbench_sent_size_wh`` ([width, height]) says at
                which size images reached the model, where it resizes them.
        """
        from ..evaluation.medsg import evaluate_medsg, medsg_metrics
        from ..evaluation.medsg_metrics import GROUP_METRICS
        from ..evaluation.options import EvaluationOptions
        from ..evaluation.report_text import shown_summaries
        from ..judging import refuse_unknown_options

        options, rest = EvaluationOptions.from_host(judge_kwargs)
        refuse_unknown_options(rest)
        path = self.prediction_file(eval_file)
        model = path.stem.removesuffix(f"_{self.dataset_name}")
        convention = self.asked_convention(path)
        limits = options.sent_size_wh or _pixel_limits_of(model)
        result = evaluate_medsg(
            path,
            self.medsg,
            convention=convention,
            expected=self.expected_indices(),
            sent_size_wh=_sent_size(options.sent_size_wh, model),
            environment=self.environment()
            | {"sent_size": limits, "takes_one_image_only": _takes_one_image_only(model)},
            asked=self.prompts_asked_in(convention, model),
        )
        shown = shown_summaries(
            result.summaries,
            medsg_metrics(result.rows),
            result.files,
            title=self.dataset_name,
            group_by="task",
            group_metrics=GROUP_METRICS,
            notes=[result.trivial_note(), *result.warnings, *_single_image_note(model)],
        )
        logger.info("\n%s", shown)
        return result.flat

    def asked_convention(self, predictions: Path) -> Convention:
        """The convention in which the rows of a prediction file were asked.

        Raises:
            ValueError: rows that were asked in different ways.
        """
        from ..conventions import convention_for
        from ..predictions import read_predictions

        asked = {
            (row.get("convention"), row.get("convention_source"), row.get("convention_family"))
            for row in read_predictions(predictions).rows
        }
        if len(asked) > 1:
            raise ValueError(
                f"{predictions.name}: expected rows asked in one convention, got "
                f"{sorted(str(it[0]) for it in asked)}; infer again without --reuse"
            )
        name, source, family = next(iter(asked), (None, None, None))
        if name is None:
            return self.convention
        if source == "prompt":
            return convention_for("")
        declared = convention_for("", explicit=family) if family else None
        return declared if declared and declared.name == name else convention_for("", explicit=name)

    def prompts_asked_in(self, convention: Convention, model: str) -> AskedPrompts:
        """What the host was handed for each sample of a run that was asked in `convention`."""
        from ..evaluation.shown_samples import AskedPrompts

        def prompt(index: int) -> list[tuple[str, str]] | None:
            sample = self._samples.get(index)
            return None if sample is None else _message(sample, convention)

        return AskedPrompts(prompt, self._prompt_note(model))

    def expected_indices(self) -> list[int]:
        """The samples a run is answerable for; fewer than all when the host limited them."""
        asked = [int(index) for index in self.data["index"]]
        if len(asked) < len(self._samples):
            return asked
        return [sample.index for sample in self.medsg.samples]


def _message(sample: MedSGSample, convention: Convention) -> list[tuple[str, str]]:
    from ..evaluation.medsg_prompt import message_parts

    return [
        (kind, str(value) if kind == "image" else guarded_text(str(value)))
        for kind, value in message_parts(sample, convention)
    ]


def _zoo_entry(model: str) -> Any:
    from vlmeval.config import supported_VLM

    return supported_VLM.get(model)


def _takes_one_image_only(model: str) -> bool:
    """Whether the host's wrapper of a model drops all images but the first."""
    return getattr(getattr(_zoo_entry(model), "func", None), "INTERLEAVE", True) is False


def _single_image_note(model: str) -> list[str]:
    if not _takes_one_image_only(model):
        return []
    return [
        f"{model} takes one image only in VLMEvalKit: it saw the first image of each sequence, so "
        "these numbers say nothing about grounding in sequences"
    ]


def _pixel_limits_of(model: str) -> tuple[int, int] | None:
    from ..sent_size import pixel_limits

    return pixel_limits(getattr(_zoo_entry(model), "keywords", None) or {})


def _sent_size(given: tuple[int, int] | None, model: str) -> SentSize | None:
    """How large images reach a model: as the user says, else by the limits of its zoo entry."""
    if given:
        return lambda _: given
    limits = _pixel_limits_of(model)
    if limits is None:
        return None
    from ..sent_size import patch_aligned_size_wh

    smallest, largest = limits
    return lambda sample: patch_aligned_size_wh(
        sample.size_wh, min_pixels=smallest, max_pixels=largest
    )
