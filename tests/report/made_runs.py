"""Small finished runs, written by the real evaluators, for the tests of boards and pages.

Every function gives a `Run`; `folder` is an output folder, in which VLMEvalKit's layout is made:
``<model>/T<stamp>/<model>_<data set>…`` with links to the files in ``<model>/``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from medbench_vlmeval.conventions import convention_for
from medbench_vlmeval.evaluation.medq_perception import evaluate_medq_perception
from medbench_vlmeval.evaluation.medsg import evaluate_medsg
from medbench_vlmeval.files import sha256_file
from medbench_vlmeval.naming import file_stem
from medbench_vlmeval.report.runs import Run

from ..evaluation import medq_questions, test_medsg
from ..evaluation import medq_reasoning_cases as reasoning
from ..judging.server import JudgeServer

SUFFIXES = ("_scores.jsonl", "_score.json", "_acc.csv", "_manifest.json")
QUESTION_TYPES = ("Yes-or-No", "What", "How")
MODALITIES = ("CT", "MRI")


def place_of(folder: Path, model: str, dataset: str, *, stamp: str = "T20260101_G0") -> Path:
    """Where VLMEvalKit writes predictions; a model with a slash is one that `medbench` scored."""
    if "/" in model:
        stem = file_stem(model, dataset)
        path = folder / stem.partition("@")[0] / f"{stem}.jsonl"
    else:
        path = folder / model / stamp / f"{model}_{dataset}.jsonl"
    path.parent.mkdir(parents=True, exist_ok=True)
    return path


def write_predictions(path: Path, replies: Mapping[int, Any]) -> Path:
    rows = [{"index": str(index), "prediction": reply} for index, reply in replies.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def linked(run: Run) -> Run:
    """The run, with the links that VLMEvalKit puts beside its run folder."""
    for path in run.manifest_path.parent.iterdir():
        link = path.parent.parent / path.name
        if path.is_file() and not link.exists():
            link.symlink_to(path)
    return run


def choices(
    folder: Path,
    model: str,
    hits: Sequence[bool | None],
    *,
    dataset: str = "MedQ_MCQ_test",
    per_image: int = 1,
    types: Sequence[str] = (),
    expected: Sequence[int] | None = None,
    stamp: str = "T20260101_G0",
    **manifest: Any,
) -> Run:
    """A run on multiple-choice questions: right, wrong, or (None) no reply, in their order.

    Args:
        folder: output folder.
        model: its name.
        hits: one a question.
        dataset: its name.
        per_image: questions that share an image, and so a cluster.
        types: the question types, one a question; in turn by default.
        expected: indices of a limited run, from 1.
        stamp: name of the run folder.
        manifest: what the manifest should say, as `changed` writes it.
    """
    questions = [
        medq_questions.question(
            number,
            case=f"image {(number - 1) // per_image}",
            question_type=types[number - 1] if types else QUESTION_TYPES[number % 3],
            modality=MODALITIES[number % 2],
        )
        for number in range(1, len(hits) + 1)
    ]
    data = medq_questions.benchmark(folder, *questions, name=dataset)
    replies = {
        number: None if hit is None else "B" if hit else "A"
        for number, hit in enumerate(hits, start=1)
        if expected is None or number in expected
    }
    path = write_predictions(place_of(folder, model, dataset, stamp=stamp), replies)
    evaluate_medq_perception(path, data, expected=expected)
    return changed(Run.at(path), **manifest)


def boxes(
    folder: Path,
    model: str,
    shifts: Sequence[float | None],
    *,
    dataset: str = "MedSG_test",
    convention: str = "absolute",
    **manifest: Any,
) -> Run:
    """A run on grounding: boxes that miss by so many pixels, or (None) a reply without a box."""
    tasks = ("referring", "patch")
    samples = [
        test_medsg.sample(number, task=tasks[number % 2], case=str(number))
        for number in range(1, len(shifts) + 1)
    ]
    data = test_medsg.MedSGData(dataset, folder, tuple(samples), "f" * 64, None, "made for a test")
    scale = 1.0 if convention == "absolute" else 1000 / 336
    replies = {
        number: "I cannot see it."
        if shift is None
        else str([round(scale * (side + shift), 2) for side in test_medsg.TRUTH])
        for number, shift in enumerate(shifts, start=1)
    }
    path = write_predictions(place_of(folder, model, dataset), replies)
    evaluate_medsg(path, data, convention=convention_for("", explicit=convention))
    return changed(Run.at(path), **manifest)


def descriptions(
    folder: Path,
    model: str,
    server: JudgeServer | None,
    *,
    n: int = 3,
    dataset: str = "MedQ_Caption_test",
    settings: Mapping[str, Any] | None = None,
    **manifest: Any,
) -> Run:
    """A run on descriptions; `server` judges row by row, see `medq_reasoning_cases.judge_script`.

    Without one nothing is judged.
    """
    images = folder / "images"
    images.mkdir(parents=True, exist_ok=True)
    made = reasoning.table(images, n)
    data = type(made)(dataset, made.kind, images, made.samples, "f" * 64, "abc", made.source)
    replies = {number: reasoning.text(number) for number in range(1, n + 1)}
    path = write_predictions(place_of(folder, model, dataset), replies)
    if server is None:
        templates = reasoning.host_like(data.kind)  # type: ignore[arg-type]
        reasoning.evaluate_medq_reasoning(path, data, templates=templates)
    else:
        reasoning.judged(path, data, server, **(settings or {}))
    return changed(Run.at(path), **manifest)


def changed(run: Run, **manifest: Any) -> Run:
    """The run with other facts in its manifest; dictionaries are merged, None takes a key out."""
    if not manifest:
        return run
    facts = _merged(run.manifest, manifest)
    run.manifest_path.write_text(json.dumps(facts), encoding="utf-8")
    return Run.read(run.manifest_path)


def _merged(old: Any, new: Any) -> Any:
    if not isinstance(old, Mapping) or not isinstance(new, Mapping):
        return new
    merged = {**old, **{name: _merged(old.get(name), value) for name, value in new.items()}}
    return {name: value for name, value in merged.items() if value is not None}


def rewritten(run: Run, suffix: str, change: Callable[[str], str]) -> Run:
    """The run with another text in one of its files, and the manifest's hash to fit."""
    path = run.beside(suffix)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    return changed(run, files={path.name: sha256_file(path)})
