"""Finished runs made of given scores, for the tests of what is drawn of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from medbench_vlmeval.evaluation import (
    medebench_metrics,
    medq_perception_metrics,
    medq_reasoning_metrics,
    medsg_metrics,
)
from medbench_vlmeval.evaluation.run_files import RunFiles
from medbench_vlmeval.report.runs import Run
from medbench_vlmeval.report.verify import recomputed
from medbench_vlmeval.types import MetricInfo

METRICS: Mapping[str, Sequence[MetricInfo]] = {
    "MedEBench_test": medebench_metrics.METRICS,
    "MedSG_test": medsg_metrics.METRICS,
    "MedQ_MCQ_test": medq_perception_metrics.METRICS[:2],
    "MedQ_caption_test": medq_reasoning_metrics.METRICS,
}

Value = float | str
"""A number, or a status: with ``judge`` before it our fault, else the model's."""


def score(value: Value) -> dict[str, Any]:
    if not isinstance(value, str):
        return {"value": value, "status": "answer"}
    if value == "not judged":
        return {"value": None, "status": "missing", "note": "not judged"}
    if value.startswith("judge ") or value == "data_error":
        return {"value": None, "status": value.removeprefix("judge ")}
    return {"value": None, "status": value, "model_fault": True}


def row(index: int | str, groups: Mapping[str, str], /, **facts: Any) -> dict[str, Any]:
    """A line of ``_scores.jsonl``; `scores` in `facts` are values or statuses by metric."""
    scores = {name: score(value) for name, value in facts.pop("scores", {}).items()}
    return {
        "index": index, "cluster": str(index), "groups": dict(groups), **groups, **facts,
        "scores": scores,
    }  # fmt: skip


def edit(index: int, ea: Value, cp: Value, organ: str = "Teeth") -> dict[str, Any]:
    official = {"EA": ea, "CP": cp, "VQ": ea}
    strict = {f"{name}_strict": value for name, value in official.items()}
    return row(index, {"organ": organ}, scores={**official, **strict})


def box(
    index: int, iou: Value, task: str = "patch", official: Value | None = None
) -> dict[str, Any]:
    """A grounded sample; a failed strict reading is 0 by the published rule, without a box."""
    failed = isinstance(iou, str) and iou != "data_error"
    counted = (0.0 if failed else iou) if official is None else official
    hit = counted if isinstance(counted, str) else float(counted >= 0.5)
    return row(
        index,
        {"task": task},
        official_boxes=[] if failed and official is None else [[0, 0, 1, 1]],
        status=iou if isinstance(iou, str) else "answer",
        scores={
            "IoU": counted,
            "ACC@0.5": hit,
            "IoU_strict": iou,
            "ACC@0.5_strict": iou if failed else hit,
        },
    )  # fmt: skip


def choice(index: int, hit: Value, kind: str = "What", modality: str = "CT") -> dict[str, Any]:
    failed = isinstance(hit, str)
    return row(
        index,
        {"question_type": kind, "modality": modality},
        official_letter="I do not know" if failed else "A",
        status=hit if failed else "answer",
        scores={"accuracy": 0.0 if failed else hit, "accuracy_strict": hit},
    )


def description(
    index: int, reference: str | None, given: str | None, judged: Value = "not judged"
) -> dict[str, Any]:
    grades = ("good", "usable", "reject")
    if reference is None:
        read: Value = "data_error"
    elif given is None:
        read = "unparsed"
    else:
        read = 2.0 - abs(grades.index(reference) - grades.index(given))
    names = ("completeness", "preciseness", "consistency", "quality_accuracy")
    total = judged if isinstance(judged, str) else 4 * judged
    scores = {"quality_accuracy_read": read, "Overall": total, "Overall_strict": total}
    scores |= {f"{name}{end}": judged for name in names for end in ("", "_strict")}
    facts = {"reference_conclusion": reference, "conclusion": given}
    return row(index, {"modality": "CT"}, **facts, scores=scores)


def made_run(
    folder: Path, dataset: str, rows: Sequence[Mapping[str, Any]], model: str = "M"
) -> Run:
    """A run whose table follows from its rows, as an evaluation writes it."""
    folder.mkdir(parents=True, exist_ok=True)
    files = RunFiles(folder / f"{model}_{dataset}.jsonl")
    files.write_scores(rows)
    files.write_manifest(
        {
            "schema": 1,
            "data": {"name": dataset, "n_expected": len(rows)},
            "predictions": {"file": files.predictions.name, "sha256": ""},
            "metrics": [asdict(metric) for metric in METRICS[dataset]],
        }
    )
    run = Run.at(files.manifest)
    files.write_groups(list(recomputed(run)), run.metrics)
    return Run.at(files.manifest)
