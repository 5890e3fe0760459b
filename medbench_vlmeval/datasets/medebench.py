"""MedEBench in VLMEvalKit: text-guided editing of medical images.

Liu et al., "Diagnosing Reliability in Text-Guided Medical Image Editing" (MedEBench), Findings of
EMNLP 2025, arXiv:2506.01921.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import pandas as pd

from ..registry import register_dataset
from .base import MedBenchDataset, guarded_text, plain_frame

if TYPE_CHECKING:
    from ..data import MedEBenchData, MedEBenchSample

logger = logging.getLogger(__name__)


@register_dataset
class MedEBench(MedBenchDataset):
    """MedEBench: 1,182 medical images to be edited by an instruction.

    The prompt is the published instruction (`prompt`) and the image. Predictions are edited images
    (see `editing`); `evaluate` writes the run's files and gives EA, CP and VQ with their strict
    companions.
    """

    # Contains EDIT, which VLMEvalKit's own editing model looks for, and nothing that makes a model
    # build a prompt of its own.
    TYPE = "IMAGE_EDIT"
    NAMES: ClassVar[tuple[str, ...]] = ("MedEBench_test", "MedEBench_sample")
    HEADLINE: ClassVar[tuple[str, ...]] = ("EA", "CP", "VQ")

    medebench: MedEBenchData
    unasked: tuple[int, ...] = ()
    """Samples without an input image: no model is asked, and they are counted as data errors."""

    def load_data(self, dataset: str) -> pd.DataFrame:
        self.medebench = self.load_samples(dataset)
        self.unasked = tuple(s.id for s in self.medebench.samples if s.previous is None)
        if self.unasked:
            logger.warning(
                "%s: %d samples have no input image and cannot be asked: %s",
                dataset,
                len(self.unasked),
                ", ".join(map(str, self.unasked[:20])),
            )
        return plain_frame(
            [
                {
                    "index": sample.id,
                    "image_path": str(sample.previous),
                    "question": sample.instruction,
                    "organ": sample.organ,
                    "task": sample.task,
                    "category": sample.organ,
                }
                for sample in self.medebench.samples
                if sample.previous is not None
            ]
        )

    def load_samples(self, dataset: str) -> MedEBenchData:
        """The prepared benchmark behind a data set's name."""
        from ..data import load_medebench

        return load_medebench(dataset)

    def build_prompt(self, line: Any) -> list[dict[str, str]]:
        if isinstance(line, int):
            line = self.data.iloc[line]
        return [
            {"type": "image", "value": str(line["image_path"])},
            {"type": "text", "value": guarded_text(str(line["question"]))},
        ]

    def dump_image(self, line: Any) -> list[str]:
        return [str(line["image_path"])]

    def evaluate(self, eval_file: str, **judge_kwargs: Any) -> dict[str, float | int]:
        """Score the predictions of one model; see `evaluation.medebench.evaluate_medebench`.

        Args:
            eval_file: the host's prediction file, in any of its formats.
            judge_kwargs: the host's judge arguments and our ``medbench_*`` options.

        Returns:
            Flat plain numbers; EA and VQ only when a judge was configured.
        """
        return self.evaluated(self.prediction_file(eval_file), judge_kwargs)

    def evaluated(
        self,
        predictions: Path,
        judge_kwargs: Mapping[str, Any],
        *,
        facts: Mapping[str, Any] | None = None,
        demonstrations: Mapping[int, Sequence[MedEBenchSample]] | None = None,
    ) -> dict[str, float | int]:
        """Score one prediction file and show the result.

        Args:
            predictions: the file.
            judge_kwargs: as the host gives them.
            facts: more for the manifest.
            demonstrations: the solved samples shown before each sample, if any are.
        """
        from ..evaluation.medebench import evaluate_medebench
        from ..evaluation.options import EvaluationOptions
        from ..evaluation.report_text import shown_result

        options, rest = EvaluationOptions.from_host(judge_kwargs)
        result = evaluate_medebench(
            [predictions],
            self.medebench,
            expected_ids=self.expected_ids(),
            judge=self.judge(options, rest),
            options=options,
            environment={**self.environment(), **(facts or {})},
            demonstrations=demonstrations,
            asked=self.asked_prompts(predictions.stem.removesuffix(f"_{self.dataset_name}")),
        )[0]
        logger.info("\n%s", shown_result(result, self.dataset_name))
        return result.flat

    def expected_ids(self) -> list[int]:
        """The samples a run is answerable for; fewer than all when the host limited them."""
        asked = [int(index) for index in self.data["index"]]
        is_limited = len(asked) + len(self.unasked) < len(self.medebench.samples)
        return asked if is_limited else sorted({*asked, *self.unasked})

    @classmethod
    def report_infer_err(cls, prediction_file: str | Path | None) -> dict[str, int]:
        """Rows without an image, and a chance to copy images: the one hook of ``--mode infer``."""
        from ..editing import EditCollector, EditStore
        from ..predictions import read_predictions
        from ..types import Status

        if prediction_file is None or not Path(prediction_file).is_file():
            return {"failed": 0, "total": 0}
        table = read_predictions(Path(prediction_file))
        collector = EditCollector(Path(prediction_file), EditStore.default())
        edits = [collector.collect(row.get("prediction")) for row in table.rows]
        collector.write_index(
            (row.get("index", ""), edit) for row, edit in zip(table.rows, edits, strict=True)
        )
        failed = sum(1 for edit in edits if edit.status is not Status.ANSWER)
        return {"failed": failed, "total": len(edits)}

    @classmethod
    def report_judge_err(
        cls,
        prediction_file: str | Path | None,
        *,
        total_samples: int | None = None,
        judge_model: str | None = None,
        error_message: str | None = None,
    ) -> dict[str, int | None]:
        """Verdicts that are no answer, counted from our own statuses and not by words in texts."""
        from ..evaluation.run_files import RunFiles
        from ..files import read_jsonl
        from ..types import Status

        if prediction_file is None:
            return {"failed": 0, "total": total_samples}
        scores = RunFiles(Path(prediction_file)).scores
        if not scores.is_file():
            return {"failed": (total_samples or 0) if error_message else 0, "total": total_samples}
        rows, _ = read_jsonl(scores)
        verdicts = [row["judge"]["status"] for row in rows if row.get("judge")]
        failed = sum(1 for status in verdicts if not Status(status).has_value)
        return {"failed": failed, "total": total_samples if total_samples else len(rows)}
