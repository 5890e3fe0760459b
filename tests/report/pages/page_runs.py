"""Runs with pictures to look at, written file by file as an evaluation leaves them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from PIL import Image

from medbench_vlmeval.evaluation.medebench_metrics import METRICS as EDIT_METRICS
from medbench_vlmeval.evaluation.medq_perception_metrics import METRICS as CHOICE_METRICS
from medbench_vlmeval.evaluation.medq_reasoning_metrics import METRICS as DESCRIPTION_METRICS
from medbench_vlmeval.evaluation.medsg_metrics import METRICS as BOX_METRICS
from medbench_vlmeval.evaluation.run_files import RunFiles, base_manifest
from medbench_vlmeval.files import write_jsonl_atomic
from medbench_vlmeval.report.runs import Run
from medbench_vlmeval.report.verify import recomputed
from medbench_vlmeval.types import MetricInfo

HOSTILE = (
    "<script>document.title = 'ran'</script><img src=x onerror=\"document.title = 'ran'\">"
    "<svg onload=\"document.title = 'ran'\"> </script> \x1b[31mred\x1b[0m \u202eabc\u202c שלום"
)
RED, GREEN, BLUE = (200, 40, 40), (40, 160, 60), (40, 60, 200)
AWKWARD = "a #1 100% ü?'\".png"
"""A file name whose every special sign means something in a URL."""


def write_run(
    folder: Path,
    model: str,
    dataset: str,
    metrics: Sequence[MetricInfo],
    rows: Sequence[Mapping[str, Any]],
    shown: Iterable[Mapping[str, Any]] | None,
    judged: Sequence[Mapping[str, Any]] = (),
    **manifest: Any,
) -> Run:
    """A run from its lines; without `shown`, one of an earlier version."""
    folder.mkdir(parents=True, exist_ok=True)
    files = RunFiles(folder / f"{model}_{dataset}.jsonl")
    files.predictions.write_text("{}\n", encoding="utf-8")
    files.write_scores(rows)
    if shown is not None:
        write_jsonl_atomic(files.beside("_samples.jsonl"), shown)
    if judged:
        write_jsonl_atomic(files.judge_replies, judged)
    facts = {
        **base_manifest(files.predictions),
        "data": {"name": dataset, "fingerprint": "f" * 64, "revision": "abc"},
        "prompts": {"judge": "e" * 64},
        "metrics": list(metrics),
        **manifest,
    }
    files.write_summary({})
    files.write_groups([], metrics)
    files.write_manifest(facts)
    files.write_groups(list(recomputed(Run.read(files.manifest))), metrics)
    files.write_manifest(facts)  # with the hash of the whole table
    return Run.read(files.manifest)


def picture(path: Path, colour: Any, size_wh: tuple[int, int] = (120, 80)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size_wh, colour).save(path)
    return path


def shown_line(index: int, kind: str, images: Sequence[Mapping[str, Any]], **more: Any) -> Any:
    line = {
        "index": index,
        "key": f"key-{index}",
        "kind": kind,
        "prompt": [{"image": 0}, {"text": f"Do task {index}."}],
        "prompt_note": "",
        "images": [{"stored": None, "sha256": None, "size_wh": None, **it} for it in images],
        "reply": "a reply",
        "about": {},
    }
    return line | more


def scored(metrics: Sequence[MetricInfo], value: float | None) -> dict[str, Any]:
    if value is None:
        return {
            it.name: {"value": None, "status": "refusal", "model_fault": True} for it in metrics
        }
    low_high = {it.name: it.bounds for it in metrics}
    return {
        name: {"value": low + value * (high - low), "status": "answer"}
        for name, (low, high) in low_high.items()
    }


def edits(folder: Path, model: str, *, n: int = 6, with_samples: bool = True) -> Run:
    """Red pictures made blue; the third was refused, with a reply that tries everything."""
    rows, shown, judged = [], [], []
    stem = f"{model}_MedEBench_test"
    mask = Image.new("L", (120, 80), 0)
    mask.paste(255, (40, 20, 80, 60))
    data = folder.parent / "data"
    data.mkdir(parents=True, exist_ok=True)
    mask.save(data / "roi.png")
    picture(data / AWKWARD, RED)
    picture(data / "reference.png", GREEN)
    for index in range(1, n + 1):
        refused = index == 3
        edited = picture(folder / f"{stem}_images" / f"{index:064x}.png", (40, 60, 190 + index))
        call = f"{index:032x}"
        rows.append(
            {
                "index": index,
                "cluster": str(index),
                "groups": {"organ": "Eyes" if index % 2 else "Teeth", "task": f"task {index % 3}"},
                "edited": {
                    "status": "refusal" if refused else "answer",
                    "file": None if refused else edited.name,
                    "note": HOSTILE if refused else "",
                },
                "scores": scored(EDIT_METRICS, None if refused else index / (n + 1)),
                "judge": {"call_id": call, "status": "answer", "reading": {"Editing Accuracy": 7}},
                "flags": ["shifted"] if index == 2 else [],
            }
        )
        if index == 4:
            other = picture(edited.with_name("f" * 64 + ".png"), BLUE)
            files = ((edited.name, 11), (other.name, 12), (None, 13))
            rows[-1]["replicas"] = [
                {"replica": n, "file": name, "seed": seed, "CP": n / 4, "CP_strict": None}
                for n, (name, seed) in enumerate(files)
            ]
        shown.append(
            shown_line(
                index,
                "edit",
                [
                    {"role": "previous", "path": str(data / AWKWARD)},
                    {"role": "reference", "path": str(data / "reference.png")},
                    {"role": "roi", "path": str(data / ("roi.png" if index != 5 else "gone.png"))},
                ],
                reply=HOSTILE if refused else str(edited),
                about={"instruction": f"remove thing {index}", "description": "it is gone"},
            )
        )
        judged.append(
            {"key": str(index), "call_id": call, "repeat": 0, "attempt": 1, "status": "answer"}
            | {"reply": f"Editing Accuracy: 7\n{HOSTILE}", "model_returned": "judge-2026"}
        )
    return write_run(
        folder, model, "MedEBench_test", EDIT_METRICS, rows, shown if with_samples else None, judged
    )


def boxes(folder: Path, model: str = "Pointer") -> Run:
    """Two images a question; the files are twice as large as the size that boxes are given in."""
    rows, shown = [], []
    first = picture(folder / "one.png", RED, (400, 200))
    second = picture(folder / "two.png", BLUE, (400, 200))
    for index in (1, 2):
        rows.append(
            {
                "index": index,
                "cluster": str(index),
                "groups": {"task": "patch"},
                "truth": [50, 20, 100, 60],
                "size_wh": [200, 100],
                "official_boxes": [[60, 30, 110, 70], [0, 0, 5, 5]],
                "strict_box": [60, 30, 110, 70],
                "status": "answer",
                "flags": [],
                "scores": scored(BOX_METRICS, 0.4),
            }
        )
        about = {"question": "Where?", "target": 1, "truth": [50, 20, 100, 60]}
        shown.append(
            shown_line(
                index,
                "boxes",
                [
                    {"role": "image 1", "path": str(first), "size_wh": [400, 200]},
                    {"role": "image 2", "path": str(second), "size_wh": [400, 200]},
                ],
                about={
                    **about,
                    "size_wh": [200, 100],
                    "reference_box": [100, 50, 300, 150],
                    "reference_image": 0,
                },
            )
        )
    return write_run(folder, model, "MedSG_test", BOX_METRICS, rows, shown)


def choices(folder: Path, model: str = "Chooser") -> Run:
    image = picture(folder / "asked.png", GREEN)
    row = {
        "index": 1,
        "cluster": "1",
        "groups": {"question_type": "What", "modality": "CT"},
        "answer": "B",
        "official_letter": "A",
        "strict_letter": "B",
        "letter_by": "rule",
        "status": "answer",
        "scores": scored(CHOICE_METRICS, 1.0),
    }
    about = {"question": "Which?", "options": {"A": "Motion", "B": HOSTILE}, "answer": "B"}
    shown = shown_line(1, "choice", [{"role": "image", "path": str(image)}], about=about)
    return write_run(folder, model, "MedQ_MCQ_test", CHOICE_METRICS, [row], [shown])


def descriptions(folder: Path, model: str = "Writer") -> Run:
    image = picture(folder / "described.png", GREEN)
    row = {
        "index": 1,
        "cluster": "1",
        "groups": {"modality": "MRI"},
        "reply_status": "answer",
        "conclusion": "good",
        "reference_conclusion": "reject",
        "scores": scored(DESCRIPTION_METRICS, 0.5),
        "judge": {"completeness": {"call_id": "c" * 32, "status": "unparsed", "note": "no score"}},
    }
    about = {"question": "Describe.", "reference": "A dark picture."}
    shown = shown_line(1, "description", [{"role": "image", "path": str(image)}], about=about)
    judged = [
        {"key": "1/completeness", "call_id": "c" * 32, "attempt": attempt, "status": "unparsed"}
        | {"reply": f"attempt {attempt}: hard to say"}
        for attempt in (1, 2)
    ]
    return write_run(
        folder, model, "MedQ_Caption_test", DESCRIPTION_METRICS, [row], [shown], judged
    )


def page_data(html: str) -> dict[str, Any]:
    """The data that a page's script reads."""
    start = html.index('id="report-data">') + len('id="report-data">')
    found: dict[str, Any] = json.loads(html[start : html.index("</script>", start)])
    return found
