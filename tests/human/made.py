"""Finished runs of edits and descriptions, and filled-in sheets, for tests of human checks."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, PngImagePlugin

from medbench_vlmeval.files import sha256_file, write_json_atomic, write_jsonl_atomic
from medbench_vlmeval.human.export import FOR_RATERS, ExportChoices, export_sheets, folder_name
from medbench_vlmeval.human.key import SheetKey
from medbench_vlmeval.report.runs import Run

Verdicts = Callable[[int, int], float | None]
"""Sample and dimension (by number) to the judge's verdict, on the raters' scale."""

ORGANS = ("Eyes", "Spine", "Torso")
EDIT_COLUMNS = {"EA": "EA_strict", "CP": "CP_judged", "VQ": "VQ_strict"}
POINTS = ("completeness", "preciseness", "consistency", "quality_accuracy")
MODELS = ("AlphaEdit", "BetaPaint", "GammaPix")


def varied(seed: int, top: int = 10) -> Verdicts:
    """Whole verdicts that differ from sample to sample."""
    grades = np.random.default_rng(seed).integers(0, top + 1, (200, 4))
    return lambda sample, dimension: float(grades[sample, dimension])


def coloured(path: Path, seed: int, software: str = "") -> Path:
    """A small picture; its file may say what made it, in a text chunk and in EXIF."""
    pixels = np.random.default_rng(seed).integers(0, 256, (18, 24, 3), dtype=np.uint8)
    path.parent.mkdir(parents=True, exist_ok=True)
    told, exif = PngImagePlugin.PngInfo(), Image.Exif()
    told.add_text("Software", software)
    exif[0x0131] = software
    Image.fromarray(pixels).save(path, pnginfo=told, exif=exif)
    return path


def _score(value: float | None) -> dict[str, Any]:
    return {"value": value, "status": "missing" if value is None else "answer"}


def _finished(
    folder: Path, model: str, dataset: str, rows: Sequence[Any], samples: Sequence[Any], judge: Any
) -> Run:
    stem = f"{model}_{dataset}"
    judged = sorted({name for row in rows for name in row["scores"]})
    predictions = folder / f"{stem}.jsonl"
    folder.mkdir(parents=True, exist_ok=True)
    predictions.write_text("", encoding="utf-8")
    write_jsonl_atomic(folder / f"{stem}_scores.jsonl", rows)
    write_jsonl_atomic(folder / f"{stem}_samples.jsonl", samples)
    write_json_atomic(folder / f"{stem}_score.json", {} if judge is None else {judged[0]: 1.0})
    manifest = {
        "schema": 1,
        "predictions": {"file": predictions.name, "sha256": sha256_file(predictions)},
        "data": {"name": dataset, "fingerprint": "f" * 64},
        "judge": judge,
        "judge_note": "no judge is configured" if judge is None else "",
        "prompts": {},
        "metrics": [{"name": name, "label": name, "judged": True} for name in judged],
    }
    return Run.read(write_json_atomic(folder / f"{stem}_manifest.json", manifest))


JUDGE = {"model_requested": "judge", "models_returned": ["judge-1"]}


def edit_run(
    root: Path,
    model: str,
    verdicts: Verdicts,
    *,
    n: int = 12,
    without_picture: Sequence[int] = (),
    dataset: str = "Edits_test",
    judge: Mapping[str, Any] | None = JUDGE,
    instruction: str = "Remove the stain.",
) -> Run:
    """A run of edits; samples 2k and 2k+1 share a source image."""
    folder = root / "runs" / model
    rows, samples = [], []
    for index in range(n):
        organ, task = ORGANS[index % 3], f"task {index % 2}"
        name = f"{index:02d}{'ab'}.png"
        edited = {"status": "missing", "file": None, "sha256": None}
        if index not in without_picture:
            seed = 1000 + index + 100 * len(model)
            path = coloured(folder / f"{model}_{dataset}_images" / name, seed, f"made by {model}")
            edited = {"status": "answer", "file": name, "sha256": sha256_file(path)}
        scores = {
            column: _score(None if (v := verdicts(index, d)) is None else v / 10)
            for d, column in enumerate(EDIT_COLUMNS.values())
        }
        scores |= {"CP": _score(0.9 + index / 1000), "CP_strict": _score(0.5 + index / 100)}
        rows.append(
            {
                "index": index,
                "cluster": f"image {index // 2}",
                "groups": {"organ": organ, "task": task},
                "edited": edited,
                "scores": scores,
            }
        )
        samples.append(
            {
                "index": index,
                "key": str(index),
                "kind": "edit",
                "prompt": None,
                "prompt_note": "",
                "images": [
                    _image(root, "previous", index, 1),
                    _image(root, "reference", index, 2),
                    {"role": "roi", "path": None, "stored": None, "sha256": None, "size_wh": None},
                ],
                "reply": "an image",
                "about": {"instruction": instruction, "description": f"Stain {index} is gone."},
            }
        )
    return _finished(folder, model, dataset, rows, samples, judge)


def _image(root: Path, role: str, index: int, seed: int) -> dict[str, Any]:
    path = root / "data" / role / f"{index}.png"
    if not path.exists():
        coloured(path, 10 * index + seed)
    stored = path.relative_to(root / "data").as_posix()
    return {"role": role, "path": str(path), "stored": stored, "sha256": None, "size_wh": None}


def text_run(
    root: Path,
    model: str,
    verdicts: Verdicts,
    *,
    roles: Sequence[str] = ("image",),
    n: int = 12,
    replies: Mapping[int, str | None] | None = None,
) -> Run:
    """A run of descriptions of images, or of comparisons with roles first and second."""
    folder, replies = root / "runs" / model, replies or {}
    rows, samples = [], []
    for index in range(n):
        reply = replies.get(index, f"Text {index} of {len(model)} words.\nIt is usable.")
        scores = {f"{it}_strict": _score(verdicts(index, d)) for d, it in enumerate(POINTS)}
        rows.append(
            {
                "index": index,
                "cluster": str(index),
                "groups": {"modality": ("CT", "MRI")[index % 2], "level": "mild"},
                "reply_status": "answer" if reply else "missing",
                "scores": scores | {"quality_accuracy_read": _score(float(index % 3))},
            }
        )
        samples.append(
            {
                "index": index,
                "key": str(index),
                "kind": "description",
                "prompt": [{"image": 0}, {"text": "Describe the image."}],
                "prompt_note": "",
                "images": [_image(root, role, index, d) for d, role in enumerate(roles)],
                "reply": reply,
                "about": {"question": "", "reference": f"Reference {index}, usable."},
            }
        )
    return _finished(folder, model, "Texts_test", rows, samples, JUDGE)


def exported(out: Path, runs: Sequence[Run], **choices: Any) -> SheetKey:
    """The key of an export."""
    chosen = {"n_samples": 12, **choices}
    export_sheets(runs, out, ExportChoices(**chosen))
    return SheetKey.read(out / "key.json")


def sheet_path(out: Path, rater: str = "A") -> Path:
    return out / FOR_RATERS / folder_name(rater) / "sheet.csv"


Cells = dict[str, str]


def read_rows(path: Path) -> list[Cells]:
    with path.open(encoding="utf-8-sig", newline="") as stream:
        return list(csv.DictReader(stream))


def write_rows(
    path: Path, rows: Sequence[Cells], *, delimiter: str = ",", encoding: str = "utf-8-sig"
) -> Path:
    stream = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(stream, columns, delimiter=delimiter, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    path.write_bytes(stream.getvalue().encode(encoding))
    return path


def filled(
    out: Path,
    key: SheetKey,
    rating: Callable[[int, str, float], Any] = lambda answer, name, verdict: verdict,
    *,
    rater: str = "A",
) -> list[Cells]:
    """The rows of a sheet with a rating for each answer, made of the judge's verdict."""
    rows = read_rows(sheet_path(out, rater))
    for row, item in zip(rows, key.raters[rater], strict=True):
        for name, verdict in key.answers[item.answer].verdicts.items():
            given = rating(item.answer, name, 0.0 if verdict is None else verdict)
            row[name] = given if isinstance(given, str) else f"{given:g}"
    return rows


def told(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
