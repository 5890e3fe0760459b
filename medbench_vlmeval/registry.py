"""The two decorators by which datasets and editors make themselves known.

A new benchmark is one file in `datasets/`, a new editing model one file in `models/`: both are
found by their place, and registered by their decorator. Packages of other people do the same in
modules named by an entry point of the group ``medbench_vlmeval.plugins``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

Class = TypeVar("Class", bound=type)
Dataset = TypeVar("Dataset", bound="type[SupportsDatasets]")


class SupportsDatasets(Protocol):
    """What makes a class a dataset class for the host."""

    @classmethod
    def supported_datasets(cls) -> list[str]: ...


DATASETS: list[type[SupportsDatasets]] = []
"""Host-facing dataset classes, in the order in which they registered."""


@dataclass(frozen=True)
class EditorEntry:
    """One name of VLMEvalKit's model zoo: the class behind it and its arguments."""

    name: str
    editor: type
    arguments: dict[str, Any] = field(default_factory=dict)


EDITORS: dict[str, EditorEntry] = {}
"""Model-zoo entries by name."""


def register_dataset(dataset: Dataset) -> Dataset:
    """Class decorator: VLMEvalKit will build this dataset class for its `supported_datasets()`.

    Raises:
        ValueError: another class has already claimed one of the names.
    """
    claimed = {name: other for other in DATASETS for name in other.supported_datasets()}
    for name in dataset.supported_datasets():
        other = claimed.get(name)
        if other is not None and _identity(other) != _identity(dataset):
            raise ValueError(
                f"expected a new dataset name, got {name!r}, "
                f"which {other.__qualname__} already serves"
            )
    DATASETS[:] = [other for other in DATASETS if _identity(other) != _identity(dataset)]
    DATASETS.append(dataset)
    return dataset


def register_editor(name: str, **arguments: Any) -> Callable[[Class], Class]:
    """Class decorator: adds `name` to VLMEvalKit's model zoo; may be stacked.

    Args:
        name: what ``--model`` takes.
        arguments: what the class is built with.

    Raises:
        ValueError: another class has already claimed the name.
    """

    def add(editor: Class) -> Class:
        other = EDITORS.get(name)
        if other is not None and _identity(other.editor) != _identity(editor):
            raise ValueError(
                f"expected a new editor name, got {name!r}, "
                f"which {other.editor.__qualname__} already serves"
            )
        EDITORS[name] = EditorEntry(name, editor, dict(arguments))
        return editor

    return add


def _identity(cls: type) -> tuple[str, str]:
    # A module imported again (tests purge and re-import the host) defines the same class anew.
    return cls.__module__, cls.__qualname__
