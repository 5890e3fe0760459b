"""The tables of MedQ-Bench as they are released, made of the sample packs."""

from __future__ import annotations

import base64
import csv
from pathlib import Path

from medbench_vlmeval.data import MedQQuestion, load_medq, prepare_medq

from ..data.packs import lend_packs

TABLES = {
    "MedQ_MCQ": "medqbench_QA",
    "MedQ_Caption": "medqbench_description",
    "MedQ_Paired": "medqbench_paired_description",
}


def write_release(folder: Path, root: Path, split: str = "test") -> Path:
    """One table a part, rows and images those of the packs; `root` keeps the packs."""
    folder.mkdir(parents=True, exist_ok=True)
    lend_packs(root, *(f"{part}_sample" for part in TABLES))
    for part, table in TABLES.items():
        rows = [_row(sample) for sample in load_medq(f"{part}_sample", root).samples]
        names = list(dict.fromkeys(name for row in rows for name in row))
        with (folder / f"{table}_{split}.tsv").open("w", encoding="utf-8", newline="") as stream:
            writer = csv.DictWriter(stream, names, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
    return folder


def prepare_release(lmu: Path, split: str = "test") -> None:
    """Prepare the three parts of a split in a data folder of VLMEvalKit."""
    folder = write_release(lmu.parent / "release", lmu, split)
    for part in TABLES:
        prepare_medq(folder, name=f"{part}_{split}", root=lmu, progress=False)


def _row(sample: MedQQuestion) -> dict[str, str]:
    images = [base64.b64encode(path.read_bytes()).decode() for path in sample.images if path]
    names = ("image_a", "image_b") if len(images) == 2 else ("image",)
    return {
        "index": str(sample.index),
        **dict(zip(names, images, strict=True)),
        **({"question": sample.question} if sample.question else {}),
        **sample.options,
        **({"answer": sample.answer} if sample.answer else {}),
        **({"description": sample.description} if sample.description else {}),
        "modality": sample.modality,
    }
