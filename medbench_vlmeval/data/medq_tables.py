"""The tables of MedQ-Bench: their files, our names for them, and the sizes they are published with.

Liu et al., "MedQ-Bench: Evaluating and Exploring Medical Image Quality Assessment Abilities in
MLLMs", arXiv 2510.01691; data at https://huggingface.co/datasets/jiyaoliufd/MedQ-Bench. The sizes
of the test split follow from the published scores: every column is a fraction of them.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Kind = Literal["mcq", "caption", "paired", "deg"]

QUESTION_TYPES = ("Yes-or-No", "What", "How")
"""The columns of the perception board, in its order."""

MEDQ_REPOSITORY = "jiyaoliufd/MedQ-Bench"
MEDQ_DEG_REPOSITORY = "jiyaoliufd/MedQ-DEG-Bench"


@dataclass(frozen=True)
class MedQTable:
    """One prepared data set: a table of the release, or two for the robustness benchmark."""

    name: str
    """Ours, e.g. ``MedQ_MCQ_test``."""
    kind: Kind
    files: tuple[str, ...]
    """Of the Hub repository; nothing else is ever downloaded for it. Empty for sample packs."""
    n_published: int | None = None
    """Rows, where the published figures tell."""
    n_by_type: Mapping[str, int] = field(default_factory=dict)
    """Rows by question type, where the published figures tell."""

    @property
    def repository(self) -> str:
        return MEDQ_DEG_REPOSITORY if self.kind == "deg" else MEDQ_REPOSITORY

    @property
    def is_sample(self) -> bool:
        return not self.files


MEDQ_TABLES: tuple[MedQTable, ...] = (
    MedQTable("MedQ_MCQ_dev", "mcq", ("medqbench_QA_dev.tsv",), 1295),
    MedQTable(
        "MedQ_MCQ_test",
        "mcq",
        ("medqbench_QA_test.tsv",),
        1305,
        {"Yes-or-No": 558, "What": 258, "How": 489},
    ),
    # The two reasoning tables of the dev split have 354 rows together; how they divide is unknown.
    MedQTable("MedQ_Caption_dev", "caption", ("medqbench_description_dev.tsv",)),
    MedQTable("MedQ_Caption_test", "caption", ("medqbench_description_test.tsv",), 221),
    MedQTable("MedQ_Paired_dev", "paired", ("medqbench_paired_description_dev.tsv",)),
    MedQTable("MedQ_Paired_test", "paired", ("medqbench_paired_description_test.tsv",), 133),
    MedQTable("MedQDEG_dev", "deg", ("MedQ-Robust-good-dev.tsv", "MedQ-Robust-simulate-dev.tsv")),
    MedQTable(
        "MedQDEG_test", "deg", ("MedQ-Robust-good-test.tsv", "MedQ-Robust-simulate-test.tsv")
    ),
    MedQTable("MedQ_MCQ_sample", "mcq", ()),
    MedQTable("MedQ_Caption_sample", "caption", ()),
    MedQTable("MedQ_Paired_sample", "paired", ()),
    MedQTable("MedQDEG_sample", "deg", ()),
)

MEDQ_TABLE_NAMED = {table.name: table for table in MEDQ_TABLES}
