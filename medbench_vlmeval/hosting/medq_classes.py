"""What VLMEvalKit itself knows of MedQ-Bench: its classes, its prompts and its judge's templates.

They are looked up where they are defined, because the names on `vlmeval.dataset` may be ours, and
only when asked for: hosts before October 2025 have none of them.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import os
import tempfile
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

KEEP_VARIABLE = "MEDBENCH_KEEP_HOST_MEDQ"

_MODULES = {
    "mcq": ("medqbench_mcq", "MedqbenchMCQDataset"),
    "caption": ("medqbench_caption", "MedqbenchCaptionDataset"),
    "paired": ("medqbench_paired_description", "MedqbenchPairedDescriptionDataset"),
    "deg": ("medq_deg_bench", "MedQDEGBenchDataset"),
}
_TEMPLATES = {"caption": "PROMPT_TEMPLATES", "paired": "PAIRED_PROMPT_TEMPLATES"}


def keeps_host_classes() -> bool:
    """Whether the user wants VLMEvalKit's own classes behind VLMEvalKit's own names."""
    return os.environ.get(KEEP_VARIABLE, "") not in ("", "0")


def host_class(kind: str) -> Any | None:
    """VLMEvalKit's dataset class for a part of MedQ-Bench, or None in a host without it."""
    _, name = _MODULES[kind]
    return getattr(_module(kind), name, None)


def host_templates_of(kind: str) -> Mapping[str, str] | None:
    """The judge's prompt templates that VLMEvalKit ships for ``caption`` or ``paired``."""
    return getattr(_module(kind), _TEMPLATES[kind], None)


def _module(kind: str) -> Any | None:
    full = f"vlmeval.dataset.{_MODULES[kind][0]}"
    try:
        return importlib.import_module(full)
    except ModuleNotFoundError as error:
        if error.name != full:
            raise
        return None


def host_choice_prompt(kind: str, question: str, options: Mapping[str, str]) -> str | None:
    """What VLMEvalKit asks for a question, or None where it cannot show every option.

    Its class shows the options A to D (MedQ-Deg: A to E) and leaves others out.
    """
    cls = host_class(kind)
    if cls is None or not set(options) <= set("ABCDE" if kind == "deg" else "ABCD"):
        return None
    without_files = SimpleNamespace(dump_image=lambda line: "")
    message = cls.build_prompt(without_files, {"question": question, **options})
    return str(message[-1]["value"])


def host_description_prompt(kind: str) -> str | None:
    """What VLMEvalKit asks when a reasoning table has no question of its own."""
    cls = host_class(kind)
    if cls is None:
        return None
    # The text stands inside the method that loads a table, so it is given a table without one.
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "no_question.tsv"
        table.write_text("index\tdescription\n0\tnone\n", encoding="utf-8")
        asked = SimpleNamespace(custom_data_path=str(table))
        with contextlib.redirect_stdout(io.StringIO()):
            data = cls.load_data(asked, "")
    return str(data["question"].iloc[0])
