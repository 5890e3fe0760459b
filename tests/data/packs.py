"""The sample packs for tests of something else: generated once by a test process, then copied."""

from __future__ import annotations

import atexit
import shutil
import tempfile
from functools import cache
from pathlib import Path

from medbench_vlmeval.data import (
    prepare_medebench_sample,
    prepare_medq_sample,
    prepare_medsg_sample,
)
from medbench_vlmeval.data.places import dataset_root

MEDEBENCH = "MedEBench_sample"
MEDSG = "MedSG_sample"
MEDQ = ("MedQ_MCQ_sample", "MedQ_Caption_sample", "MedQ_Paired_sample")


def lend_packs(root: Path, *names: str) -> None:
    """Copy sample packs into a data folder; one that is there stays as it is."""
    for name in names:
        folder = dataset_root(name, root)
        if not folder.exists():
            shutil.copytree(_generated(name), folder)


@cache
def _generated(name: str) -> Path:
    root = Path(tempfile.mkdtemp(prefix="medbench-packs-"))
    atexit.register(shutil.rmtree, root)
    if name == MEDEBENCH:
        prepare_medebench_sample(root)
    elif name == MEDSG:
        prepare_medsg_sample(root)
    else:
        prepare_medq_sample(name, root)
    return dataset_root(name, root)
