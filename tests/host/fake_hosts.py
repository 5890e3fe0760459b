"""Small packages called `vlmeval` that are built like the real one where it matters to us."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping
from pathlib import Path

EAGER: Mapping[str, str] = {
    "vlmeval/__init__.py": """
        from . import config
    """,
    "vlmeval/config.py": """
        from . import api, vlm
        supported_VLM = {"theirs": print}
    """,
    "vlmeval/dataset/__init__.py": """
        class TheirDataset:
            @classmethod
            def supported_datasets(cls):
                return ["Theirs_test"]

        IMAGE_DATASET = [TheirDataset]
        DATASET_CLASSES = IMAGE_DATASET + []
        SUPPORTED_DATASETS = ["Theirs_test"]
        __all__ = ["TheirDataset"]
    """,
    "vlmeval/api.py": """
        from . import dataset
    """,
    "vlmeval/vlm.py": """
        class TheirModel:
            pass
    """,
}
"""Like every VLMEvalKit so far: importing any part executes all of it."""

LAZY: Mapping[str, str] = {**EAGER, "vlmeval/__init__.py": ""}
"""Its root returns before datasets and models are loaded."""

BROKEN: Mapping[str, str] = {
    **EAGER,
    "vlmeval/__init__.py": """
        from . import config
        raise RuntimeError("the host is broken")
    """,
}

UNRELATED: Mapping[str, str] = {"vlmeval/__init__.py": "purpose = 'something else'"}

TOY_PLUGIN: Mapping[str, str] = {
    "toy_plugin.py": """
        from medbench_vlmeval.registry import register_dataset, register_editor

        @register_dataset
        class ToyDataset:
            @classmethod
            def supported_datasets(cls):
                return ["Toy_test"]

        @register_editor("Toy-Editor", strength=3)
        class ToyEditor:
            def __init__(self, *, name, **settings):
                self.name, self.settings = name, settings
    """,
    "toy_plugin-1.0.dist-info/METADATA": """
        Metadata-Version: 2.1
        Name: toy-plugin
        Version: 1.0
    """,
    "toy_plugin-1.0.dist-info/entry_points.txt": """
        [medbench_vlmeval.plugins]
        toy = toy_plugin
    """,
}
"""A package of somebody else that brings a dataset and an editor."""


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    """Write `files` below `folder`; each text loses the indentation it has in a test."""
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text).lstrip("\n"), encoding="utf-8")
    return folder
