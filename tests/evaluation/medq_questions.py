"""Small MedQ-Bench data sets, built without a release."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from medbench_vlmeval.data import MedQData, MedQQuestion

OPTIONS = {"A": "Motion", "B": "Noise", "C": "Metal", "D": "None"}


def question(index: int, **changes: Any) -> MedQQuestion:
    facts: dict[str, Any] = {
        "index": index,
        "key": str(index),
        "kind": "mcq",
        "question": "What is the main degradation?",
        "images": (Path(f"{index}.png"),),
        "sha256": (f"{index:064d}",),
        "case": str(index),
        "options": OPTIONS,
        "answer": "B",
        "question_type": "What",
        "question_type_by": "column",
        "modality": "CT",
    }
    return MedQQuestion(**(facts | changes))


def benchmark(root: Path, *samples: MedQQuestion, name: str = "MedQ_MCQ_test") -> MedQData:
    return MedQData(name, samples[0].kind, root, samples, "f" * 64, None, "made for a test")
