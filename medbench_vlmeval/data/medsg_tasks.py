"""The eight tasks of MedSG-Bench, their names here and there, and the published counts.

Yue et al., "MedSG-Bench: A Benchmark for Medical Image Sequences Grounding", NeurIPS 2025 Datasets
and Benchmarks, arXiv 2505.11852; data at https://huggingface.co/datasets/MedSG-Bench/MedSG-Bench.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

MEDSG_RELEASE_NAME = "MedSG_test"
"""Name under which the full release is prepared."""
MEDSG_SAMPLE_PACK_NAME = "MedSG_sample"
"""Name of the generated pack, see `medsg_sample`."""

OFFICIAL_SIZE_WH = (336, 336)
"""The frame that the released evaluation script assumes for every task but `multi_view`."""

ROWS_PER_TASK = 100_000
"""A sample's index is its task's number times this, plus its row."""

TargetRule = Literal["first", "second", "named", "unnamed"]


@dataclass(frozen=True)
class MedSGTask:
    """One task, as the released data and the paper call it."""

    number: int
    """The N of ``TaskN.json``."""
    key: str
    """What the rows hold in ``task``."""
    label: str
    """Name in the paper."""
    abbreviation: str
    dataset: str
    """Name of the data set that holds this task alone."""
    n_published: int
    target: TargetRule
    """Where the answer box lies: always in the first or second image, in the image that the
    question names, or in one that the question does not name."""
    one_examination: bool
    """Whether all images of a row show one patient; else only the answer image tells the case."""


MEDSG_TASKS: tuple[MedSGTask, ...] = (
    MedSGTask(
        1,
        "Registered_Diff",
        "Registered Difference Grounding",
        "RDG",
        "MedSG_RegisteredDiff_test",
        1000,
        # An aligned pair: the box is the same in both images.
        "first",
        one_examination=True,
    ),
    MedSGTask(
        2,
        "Non_Registered_Diff",
        "Non-registered Difference Grounding",
        "NRDG",
        "MedSG_NonRegisteredDiff_test",
        1000,
        "second",
        one_examination=True,
    ),
    MedSGTask(
        3,
        "multi_view",
        "Multi-View Grounding",
        "MV",
        "MedSG_MultiView_test",
        1148,
        "named",
        one_examination=True,
    ),
    MedSGTask(
        4,
        "object_tracking",
        "Object Tracking",
        "OT",
        "MedSG_ObjectTracking_test",
        1000,
        "named",
        one_examination=True,
    ),
    MedSGTask(
        5,
        "concept",
        "Visual Concept Grounding",
        "VCG",
        "MedSG_Concept_test",
        1000,
        "named",
        # The first image is a cut-out on black: it says no more about the patient than the second.
        one_examination=False,
    ),
    MedSGTask(
        6,
        "patch",
        "Visual Patch Grounding",
        "VPG",
        "MedSG_Patch_test",
        1000,
        "first",
        # Patches are parts of the first image, and two empty ones would look alike.
        one_examination=False,
    ),
    MedSGTask(
        7,
        "crossmodal",
        "Cross-modal Grounding",
        "CMG",
        "MedSG_CrossModal_test",
        2000,
        "named",
        one_examination=False,
    ),
    MedSGTask(
        8,
        "referring",
        "Referring Grounding",
        "RG",
        "MedSG_Referring_test",
        1482,
        "unnamed",
        one_examination=False,
    ),
)
"""Counts: Table 3's denominators, see `MULTI_VIEW_NOTE`; they sum to the published 9,630."""

N_PUBLISHED_MEDSG = sum(task.n_published for task in MEDSG_TASKS)

MULTI_VIEW_NOTE = (
    "multi_view scores fit 1148 samples for some models and 1153 for others; "
    "1148 makes the eight counts sum to 9630"
)
"""The paper's Table 3: Acc@0.5 of multi-view grounding as multiples of 1/1148 or of 1/1153."""

TASK_OF_KEY = {task.key: task for task in MEDSG_TASKS}
TASK_OF_DATASET = {task.dataset: task for task in MEDSG_TASKS}


def task_named(label: object) -> MedSGTask | None:
    """The task that a row's ``task`` field names, by key, paper name or abbreviation.

    Upper and lower case, blanks, hyphens and underscores do not matter. `None` for any other name.
    """
    return _TASK_OF_SPELLING.get(_spelling(str(label)))


def prepared_name(name: str) -> str:
    """The prepared data set behind a name: tasks on their own are kept in the full release."""
    return MEDSG_RELEASE_NAME if name in TASK_OF_DATASET else name


def _spelling(label: str) -> str:
    return re.sub(r"[\s_-]+", "", label).casefold()


_TASK_OF_SPELLING = {
    _spelling(name): task
    for task in MEDSG_TASKS
    for name in (task.key, task.label, task.abbreviation, f"Task{task.number}")
}
