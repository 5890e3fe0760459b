"""MedQ-Bench in VLMEvalKit: how well models see the technical quality of medical images.

Liu et al., "MedQ-Bench: Evaluating and Exploring Medical Image Quality Assessment Abilities in
MLLMs", arXiv 2510.01691. MedQ-Deg, the robustness benchmark beside it: arXiv 2603.07769.
"""

from __future__ import annotations

import logging
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from ..hosting.medq_classes import (
    host_choice_prompt,
    host_description_prompt,
    host_templates_of,
)
from ..registry import register_dataset
from .base import MedBenchDataset, guarded_text, plain_frame

if TYPE_CHECKING:
    from ..data import MedQData, MedQQuestion
    from ..evaluation.medq_prompt import AskedPrompt
    from ..evaluation.options import EvaluationOptions
    from ..judging.medq import MedQTemplates

logger = logging.getLogger(__name__)

PUBLISHED_JUDGING = {"temperature": 0, "max_tokens": 2048}
"""What the published runs sent to their judge; arguments of the command come before it."""
PUBLISHED_JUDGE = "gpt-4o-2024-05-13"
"""What VLMEvalKit takes ``gpt-4o`` to mean."""


class MedQDataset(MedBenchDataset):
    """What the parts of MedQ-Bench share: data, prompts, and what a run records of its images."""

    # Models may ask multiple-choice questions in their own way, as in the published runs.
    force_use_dataset_prompt = False

    medq: MedQData

    def load_data(self, dataset: str) -> pd.DataFrame:
        self.medq = self._prepared(dataset)
        whole = [sample for sample in self.medq.samples if sample.is_whole]
        self._samples = {sample.index: sample for sample in whole}
        if len(whole) < len(self.medq.samples):
            n_absent = len(self.medq.samples) - len(whole)
            logger.warning("%s: %d rows lack an image and cannot be asked", dataset, n_absent)
        self._asked = {sample.index: self.asked_prompt(sample) for sample in whole}
        return plain_frame([self.row(sample) for sample in whole])

    def _prepared(self, dataset: str) -> MedQData:
        """The data, downloaded on first use: one table of a recorded commit, nothing else."""
        from ..data import DataNotPrepared, load_medq, prepare_medq_from_hub

        try:
            return load_medq(dataset)
        except DataNotPrepared:
            logger.info("%s is not prepared yet; asking the Hub for its table", dataset)
            for line in prepare_medq_from_hub(dataset).lines():
                logger.info("%s", line)
            return load_medq(dataset)

    def row(self, sample: MedQQuestion) -> dict[str, Any]:
        """A sample as VLMEvalKit's table holds it."""
        return {
            "index": sample.index,
            "question": self._asked[sample.index].text if not sample.options else sample.question,
            **sample.options,
            "answer": sample.answer,
            "description": sample.description,
            "modality": sample.modality or None,
            "question_type": sample.question_type or None,
            "category": sample.question_type or sample.modality or None,
        }

    def asked_prompt(self, sample: MedQQuestion) -> AskedPrompt:
        """The words a sample is asked in, and whose they are."""
        raise NotImplementedError

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        if isinstance(line, int):
            line = self.data.iloc[line]
        index = int(line["index"])
        images = [{"type": "image", "value": str(path)} for path in self._samples[index].images]
        return [*images, {"type": "text", "value": guarded_text(self._asked[index].text)}]

    def dump_image(self, line: Any) -> list[str]:
        # The released bytes themselves: a question about noise must not be asked about a copy.
        return [str(path) for path in self._samples[int(line["index"])].images]

    def expected_indices(self) -> list[int]:
        """The samples a run is answerable for; fewer than all when the host limited them."""
        asked = [int(index) for index in self.data["index"]]
        if len(asked) < len(self._samples):
            return asked
        return [sample.index for sample in self.medq.samples]

    def facts(self, model: str) -> dict[str, Any]:
        """What the manifest says about the host, the prompts and the images of a run."""
        from ..evaluation.medq_prompt import prompts_sha256
        from ..hosting.image_fidelity import image_fidelity

        images = [path for sample in self._samples.values() for path in sample.images if path]
        texts = {str(index): asked.text for index, asked in self._asked.items()}
        return self.environment() | {
            "asked": {
                "wording": Counter(asked.origin for asked in self._asked.values()),
                "sha256": prompts_sha256({"all": "\0".join(texts.values())}),
                "model_may_ask_its_own_way": self.TYPE == "MCQ",
            },
            "images": image_fidelity(list(dict.fromkeys(images)), model),
        }

    def model_of(self, predictions: Path) -> str:
        """The model's name, as far as the file's name tells."""
        return predictions.stem.removesuffix(f"_{self.dataset_name}")


class MedQChoices(MedQDataset):
    """Multiple-choice parts: letters by the published rule and strictly, no judge needed."""

    TYPE = "MCQ"
    HEADLINE: ClassVar[tuple[str, ...]] = ("Overall",)
    DEFAULT_JUDGE = "gpt-4o"
    WITH_HOST_NUMBERS = False
    """Whether the numbers of VLMEvalKit's class stand beside ours, under its names."""

    def asked_prompt(self, sample: MedQQuestion) -> AskedPrompt:
        from ..evaluation.medq_prompt import AskedPrompt, choice_prompt

        text = host_choice_prompt(sample.kind, sample.question, sample.options)
        if text is not None:
            return AskedPrompt(text, "host")
        return AskedPrompt(choice_prompt(sample.question, sample.options), "own")

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float | int]:
        """Score the replies of one model; see `evaluation.medq_perception`.

        Args:
            eval_file: the host's prediction file, in any of its formats.
            judge_kwargs: the host's and our ``medbench_*`` options. With
                ``medbench_extract_choices`` a judge reads letters that no rule can read;
                ``medbench_trials`` names further prediction files of the same model.
        """
        from ..evaluation.medq_perception import evaluate_medq_perception
        from ..evaluation.medq_perception_metrics import GROUP_METRICS
        from ..evaluation.options import EvaluationOptions
        from ..evaluation.report_text import shown_summaries
        from ..judging import refuse_unknown_options

        options, rest = EvaluationOptions.from_host(judge_kwargs)
        refuse_unknown_options(rest)
        path = self.prediction_file(eval_file)
        facts = self.facts(self.model_of(path))
        result = evaluate_medq_perception(
            path,
            self.medq,
            expected=self.expected_indices(),
            judge=self.judge(options, rest) if options.extract_choices else None,
            options=options,
            environment=facts,
            with_host_numbers=self.WITH_HOST_NUMBERS,
            asked=self.asked_prompts(self.model_of(path)),
        )
        shown = shown_summaries(
            result.summaries,
            result.metrics,
            result.files,
            title=self.dataset_name,
            group_by="level" if self.medq.kind == "deg" else "question_type",
            group_metrics=GROUP_METRICS,
            notes=[*result.notes, *result.warnings, *facts["images"]["notes"]],
        )
        logger.info("\n%s", shown)
        return result.flat


class MedQReasoning(MedQDataset):
    """Described and compared images, judged in four dimensions of 0 to 2."""

    TYPE = "Caption"
    HEADLINE: ClassVar[tuple[str, ...]] = ("Overall",)
    DEFAULT_JUDGE = PUBLISHED_JUDGE
    force_use_dataset_prompt = True

    def asked_prompt(self, sample: MedQQuestion) -> AskedPrompt:
        from ..evaluation.medq_prompt import CAPTION, PAIRED, AskedPrompt

        if sample.question:
            return AskedPrompt(sample.question, "release")
        text = self._default_prompt(sample.kind)
        if text is not None:
            return AskedPrompt(text, "host")
        return AskedPrompt(PAIRED if sample.kind == "paired" else CAPTION, "own")

    def _default_prompt(self, kind: str) -> str | None:
        if not hasattr(self, "_host_prompt"):
            self._host_prompt = host_description_prompt(kind)
        return self._host_prompt

    def templates(self, options: EvaluationOptions) -> MedQTemplates:
        """The judge's templates: VLMEvalKit's where it has them, else, or on request, ours.

        Raises:
            ValueError: VLMEvalKit's are not the published ones.
        """
        from ..judging.medq import host_templates, own_templates

        kind = self.medq.kind
        found = host_templates_of(kind) if options.judge_wording == "host" else None
        return own_templates(kind) if found is None else host_templates(kind, found)

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float | int]:
        """Judge the replies of one model; see `evaluation.medq_reasoning`.

        Args:
            eval_file: the host's prediction file, in any of its formats.
            judge_kwargs: the host's judge arguments and our ``medbench_*`` options;
                ``n_rounds`` and ``medbench_judge_repeats`` ask for more rounds.
        """
        from ..evaluation.medq_reasoning import evaluate_medq_reasoning
        from ..evaluation.medq_reasoning_metrics import GROUP_METRICS, METRICS
        from ..evaluation.options import EvaluationOptions
        from ..evaluation.report_text import shown_summaries

        options, rest = EvaluationOptions.from_host(_with_rounds(judge_kwargs))
        path = self.prediction_file(eval_file)
        facts = self.facts(self.model_of(path))
        result = evaluate_medq_reasoning(
            path,
            self.medq,
            templates=self.templates(options),
            expected=self.expected_indices(),
            judge=self.judge(options, _as_published(rest)),
            options=options,
            environment=facts,
            asked=self.asked_prompts(self.model_of(path)),
        )
        notes = [result.judge_note, *result.notes, *result.warnings, *facts["images"]["notes"]]
        shown = shown_summaries(
            result.summaries,
            METRICS,
            result.files,
            title=self.dataset_name,
            group_by="modality",
            group_metrics=GROUP_METRICS,
            notes=[note for note in notes if note],
        )
        logger.info("\n%s", shown)
        return result.flat

    @classmethod
    def report_judge_err(
        cls,
        prediction_file: str | Path | None,
        *,
        total_samples: int | None = None,
        judge_model: str | None = None,
        error_message: str | None = None,
    ) -> dict[str, int | None]:
        """Verdicts without a value, counted from our own statuses and not by words in texts."""
        from ..evaluation.run_files import RunFiles
        from ..files import read_jsonl
        from ..types import Status

        if prediction_file is None:
            return {"failed": 0, "total": total_samples}
        scores = RunFiles(Path(prediction_file)).scores
        if not scores.is_file():
            return {"failed": (total_samples or 0) if error_message else 0, "total": total_samples}
        rows, _ = read_jsonl(scores)
        statuses = [it["status"] for row in rows for it in row.get("judge", {}).values()]
        failed = sum(1 for status in statuses if not Status(status).has_value)
        return {"failed": failed, "total": len(statuses) or total_samples}


def _as_published(judge_kwargs: dict[str, Any]) -> dict[str, Any]:
    arguments = PUBLISHED_JUDGING | judge_kwargs
    if arguments.get("model") in (None, "gpt-4o"):
        arguments["model"] = PUBLISHED_JUDGE
    return arguments


def _with_rounds(judge_kwargs: dict[str, Any]) -> dict[str, Any]:
    """VLMEvalKit's class calls further rounds ``n_rounds``; the rest of its options goes away."""
    kwargs = {
        name: value
        for name, value in judge_kwargs.items()
        if name not in ("sleep", "use_threading")
    }
    rounds = kwargs.pop("n_rounds", None)
    return kwargs if rounds is None else {"medbench_judge_repeats": rounds, **kwargs}


@register_dataset
class MedQMCQ(MedQChoices):
    """MedQ-Bench perception: Yes-or-No, What and How questions about one image."""

    NAMES: ClassVar[tuple[str, ...]] = ("MedQ_MCQ_dev", "MedQ_MCQ_test", "MedQ_MCQ_sample")


@register_dataset
class MedQCaption(MedQReasoning):
    """MedQ-Bench no-reference reasoning: describe one image and grade it."""

    NAMES: ClassVar[tuple[str, ...]] = (
        "MedQ_Caption_dev",
        "MedQ_Caption_test",
        "MedQ_Caption_sample",
    )


@register_dataset
class MedQPaired(MedQReasoning):
    """MedQ-Bench comparative reasoning: compare two images and name the better one."""

    NAMES: ClassVar[tuple[str, ...]] = (
        "MedQ_Paired_dev",
        "MedQ_Paired_test",
        "MedQ_Paired_sample",
    )


@register_dataset
class MedQDEG(MedQChoices):
    """MedQ-Deg: the same kind of questions on clean (L0) and degraded (L1, L2) images.

    Robustness, not quality assessment; its numbers belong on no board of MedQ-Bench.
    """

    NAMES: ClassVar[tuple[str, ...]] = ("MedQDEG_dev", "MedQDEG_test", "MedQDEG_sample")
