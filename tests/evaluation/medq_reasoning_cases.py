"""Questions, predictions and a judge for the tests of MedQ-Bench's reasoning tasks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medbench_vlmeval.data.medq import MedQData, MedQQuestion
from medbench_vlmeval.evaluation.medq_reasoning import MedQReasoningResult, evaluate_medq_reasoning
from medbench_vlmeval.files import sha256_file
from medbench_vlmeval.judging import JudgeSettings, PromptTemplate
from medbench_vlmeval.judging.medq import (
    DIMENSIONS,
    MedQTemplate,
    MedQTemplates,
    ReasoningKind,
)

from ..data.releases import picture
from ..judging.asking import FastClock, judge_at
from ..judging.server import Answer, JudgeServer, Request
from ..shared import shared_path

REFERENCE = {
    "caption": "Sharp, a little noise. Overall, the quality of this image is usable.",
    "paired": "The first is sharp. Overall, the first image is of higher quality.",
}
CLOSINGS = {
    grade: f"Overall, the quality of this image is {grade}."
    for grade in ("good", "usable", "reject")
}
FAILED = "Failed to obtain answer via API."


def host_like(kind: ReasoningKind = "caption") -> MedQTemplates:
    """Templates with the markers of VLMEvalKit's, in other words."""
    markers = {"candidate": "MLLM DESC", "reference": "GOLDEN DESC"}
    texts = {d: f"Rate the {d} of [MLLM DESC], given [GOLDEN DESC]. Score:" for d in DIMENSIONS}
    chosen = {d: MedQTemplate(PromptTemplate(text, markers)) for d, text in texts.items()}
    return MedQTemplates(kind, "host", chosen)


def question(folder: Path, index: int, kind: ReasoningKind = "caption", **changes: Any) -> Any:
    images = []
    for number in range(2 if kind == "paired" else 1):
        images.append(folder / f"{index}_{number}.png")
        images[-1].write_bytes(picture(2 * index + number, (8, 6)))
    facts: dict[str, Any] = {
        "index": index,
        "key": f"k{index}",
        "kind": kind,
        "question": "",
        "images": tuple(images),
        "sha256": tuple(map(sha256_file, images)),
        "case": str(index),
        "description": REFERENCE[kind],
        "modality": "CT",
    }
    return MedQQuestion(**(facts | changes))


def table(
    folder: Path,
    n: int = 1,
    kind: ReasoningKind = "caption",
    changes: Mapping[int, Mapping[str, Any]] | None = None,
) -> MedQData:
    """Questions 1 to n; `changes` alters single ones."""
    changes = changes or {}
    samples = tuple(question(folder, i, kind, **changes.get(i, {})) for i in range(1, n + 1))
    return MedQData("MedQ_test", kind, folder, samples, "f" * 64, "abc", "made for a test")


def text(index: int, grade: str = "usable") -> str:
    """A description that the judge recognises as belonging to row `index`."""
    return f"Row {index} of noise, row {index}. {CLOSINGS[grade]}"


def predict(folder: Path, replies: Mapping[int, str | None]) -> Path:
    path = folder / "run" / "M_MedQ_test.jsonl"
    path.parent.mkdir(exist_ok=True)
    rows = [{"index": str(index), "prediction": reply} for index, reply in replies.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def dimension_of(request: Request) -> str:
    words = request.text.replace("quality accuracy", "quality_accuracy")
    (found,) = [d for d in DIMENSIONS if f"Rate the {d} of" in words or f"'s {d} now" in words]
    return found


Points = Mapping[int, Sequence[Any]]


def judge_script(points: Points, default: Any = 2) -> Callable[[Request], Answer]:
    """Answers row by row and dimension by dimension: a number, a text, or an `Answer`."""

    def script(request: Request) -> Answer:
        row = points.get(request.row, (default,) * len(DIMENSIONS))
        reply = row[DIMENSIONS.index(dimension_of(request))]
        if isinstance(reply, Answer):
            return reply
        return Answer.says(reply if isinstance(reply, str) else f"Score: {reply}")

    return script


def judged(
    path: Path,
    data: MedQData,
    server: JudgeServer | str,
    *,
    templates: MedQTemplates | None = None,
    options: Any = None,
    expected: Sequence[int] | None = None,
    **settings: Any,
) -> MedQReasoningResult:
    """An evaluation with a judge that keeps its replies beside the test's data."""
    chosen = {"nproc": 4, "retries": 1, "cache_path": data.root / "cache.sqlite", **settings}
    return evaluate_medq_reasoning(
        path,
        data,
        templates=templates or host_like(data.kind),  # type: ignore[arg-type]
        expected=expected,
        judge=judge_at(server, clock=FastClock(), **chosen),
        options=options,
    )


def fault(identifier: str) -> dict[str, Any]:
    """The recorded behaviour of VLMEvalKit's own classes."""
    records = json.loads(shared_path("data/medq_faults.json").read_text(encoding="utf-8"))
    found: dict[str, Any] = next(r for r in records["faults"] if r["id"] == identifier)
    return found


def unpriced(**settings: Any) -> JudgeSettings:
    return JudgeSettings(**{"model": "judge", "base_url": "http://127.0.0.1:9/v1", **settings})
