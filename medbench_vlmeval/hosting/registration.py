"""Puts our datasets and editors into VLMEvalKit's registries, by changing them in place.

The host looks names up in these registries at many places, some of which hold the list itself, so
none is ever replaced by a new object. Whether something is registered is read from the registries,
not remembered here: a second call changes nothing, and a host that was imported again is served
again.
"""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import inspect
import logging
import os
import pkgutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from ..registry import DATASETS, EDITORS, EditorEntry

logger = logging.getLogger(__name__)

DATASETS_PACKAGE = "medbench_vlmeval.datasets"
MODELS_PACKAGE = "medbench_vlmeval.models"
PLUGIN_GROUP = "medbench_vlmeval.plugins"
"""Entry points of other packages; each names a module whose import registers something."""


@dataclass(frozen=True)
class Registration:
    """What the host knows after `register`."""

    datasets: tuple[str, ...]
    """Dataset names that our classes serve."""
    editors: tuple[str, ...]
    """Names in the model zoo that build our editors."""
    taken_over: tuple[str, ...]
    """Those of `datasets` for which the host has a class of its own, too; ours comes first."""
    failures: tuple[str, ...]
    """One line for each module or class that could not be registered."""


def register() -> Registration:
    """Make every dataset and editor that can be imported known to the host; see the module's text.

    A host that loads `vlmeval.config` only on demand gets the editors when it does (the start-up
    hook calls again); until then no module of `models/` is imported.

    Returns:
        What is registered now. A module or class that fails is left out, with one line in the log
        and in `failures`; ``MEDBENCH_VLMEVAL_DEBUG=1`` raises its error instead.

    Raises:
        ImportError: there is no VLMEvalKit, or it cannot be imported itself.
    """
    host_datasets = _imported_host()
    host_models = sys.modules.get("vlmeval.config")
    takes_editors = hasattr(host_models, "supported_VLM")
    failures: list[str] = []
    _forget_modules_of_another_host()
    _import_submodules(DATASETS_PACKAGE, failures)
    if takes_editors:
        _import_submodules(MODELS_PACKAGE, failures)
    _import_plugins(failures)

    datasets: list[str] = []
    for dataset in DATASETS:
        with _isolated(f"dataset class {dataset.__qualname__}", failures):
            datasets += _add_dataset(host_datasets, dataset)
    editors: list[str] = []
    for entry in EDITORS.values() if takes_editors else ():
        with _isolated(f"editor {entry.name}", failures):
            editors += _add_editor(host_models, entry)
    taken_over = _names_of_host_classes(host_datasets).intersection(datasets)
    return Registration(tuple(datasets), tuple(editors), tuple(sorted(taken_over)), tuple(failures))


def _imported_host() -> ModuleType:
    host = None
    try:
        host = importlib.import_module("vlmeval.dataset")
    except ModuleNotFoundError as error:
        if error.name not in ("vlmeval", "vlmeval.dataset"):
            raise
    if host is None or not hasattr(host, "DATASET_CLASSES"):
        raise ImportError(
            "expected VLMEvalKit (the package vlmeval with its datasets), found none; "
            'pip install "medbench-vlmeval[host]", or run from a clone of VLMEvalKit'
        )
    return host


def _forget_modules_of_another_host() -> None:
    # Our classes derive from classes of the host. When the host was purged and imported again, they
    # derive from a host that is gone; the packages still hold the module they were imported with.
    host = sys.modules["vlmeval"]
    for package in (DATASETS_PACKAGE, MODELS_PACKAGE):
        if getattr(sys.modules.get(package), "vlmeval", host) is host:
            continue
        for name in [*sys.modules]:
            if name == package or name.startswith(package + "."):
                del sys.modules[name]


def _import_submodules(package_name: str, failures: list[str]) -> None:
    package = importlib.import_module(package_name)
    for module in pkgutil.iter_modules(package.__path__, package_name + "."):
        with _isolated(f"module {module.name}", failures):
            if package_name != MODELS_PACKAGE or _registers_something(module):
                importlib.import_module(module.name)


def _registers_something(module: pkgutil.ModuleInfo) -> bool:
    # Parts of an editor are imported by the editor, when it edits, and not at every host's start.
    folder = getattr(module.module_finder, "path", None)
    source = Path(str(folder), module.name.rpartition(".")[2] + ".py")
    try:
        return b"register_editor" in source.read_bytes()
    except OSError:  # a package, or a module without its source
        return True


def _import_plugins(failures: list[str]) -> None:
    for entry_point in importlib.metadata.entry_points(group=PLUGIN_GROUP):
        with _isolated(f"plugin {entry_point.name} ({entry_point.value})", failures):
            entry_point.load()


@contextmanager
def _isolated(what: str, failures: list[str]) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # one broken class or plugin must not hide the others
        if os.environ.get("MEDBENCH_VLMEVAL_DEBUG", "") not in ("", "0"):
            raise
        reason = " ".join(f"{what}: {type(error).__name__}: {error}".split())
        failures.append(reason)
        logger.error("not registered with VLMEvalKit: %s", reason)


def _add_dataset(host: ModuleType, dataset: Any) -> list[str]:
    names = list(dict.fromkeys(dataset.supported_datasets()))
    _put(host.DATASET_CLASSES, dataset, position=0)
    _put(host.IMAGE_DATASET, dataset, position=len(host.IMAGE_DATASET))
    known = set(host.SUPPORTED_DATASETS)
    host.SUPPORTED_DATASETS.extend(name for name in names if name not in known)
    _put_attribute(host, dataset)
    if dataset.__name__ not in host.__all__:
        host.__all__.append(dataset.__name__)
    return names


def _add_editor(host: Any, entry: EditorEntry) -> list[str]:
    build = functools.partial(entry.editor, **_own_name(entry), **entry.arguments)
    present = getattr(host.supported_VLM.setdefault(entry.name, build), "func", None)
    if not _same_class(present, entry.editor):
        logger.warning("the model name %s stays VLMEvalKit's own", entry.name)
        return []
    if present is not entry.editor:
        host.supported_VLM[entry.name] = build
    zoo = "vlmeval.api" if getattr(entry.editor, "is_api", False) else "vlmeval.vlm"
    _put_attribute(importlib.import_module(zoo), entry.editor)
    return [entry.name]


def _own_name(entry: EditorEntry) -> dict[str, str]:
    # One class may stand behind several names, so it is told which of them was asked for.
    parameters = inspect.signature(entry.editor).parameters.values()
    takes_name = any(it.name == "name" or it.kind is it.VAR_KEYWORD for it in parameters)
    return {"name": entry.name} if takes_name and "name" not in entry.arguments else {}


def _put(classes: list[type], ours: type, *, position: int) -> None:
    for index, other in enumerate(classes):
        if _same_class(other, ours):
            classes[index] = ours
            return
    classes.insert(position, ours)


def _put_attribute(module: ModuleType, ours: type) -> None:
    """Let ``--config`` find the class by its name, unless the host means another class by it.

    A class that derives from the host's class of that name replaces it: that is how a dataset of
    the host is taken over.
    """
    present = getattr(module, ours.__name__, None)
    if present is None or any(_same_class(present, base) for base in ours.__mro__):
        setattr(module, ours.__name__, ours)
        return
    logger.warning("%s.%s stays VLMEvalKit's own", module.__name__, ours.__name__)


def _names_of_host_classes(host: ModuleType) -> set[str]:
    classes = [
        cls for cls in host.DATASET_CLASSES if not any(_same_class(cls, it) for it in DATASETS)
    ]
    return {name for cls in classes for name in cls.supported_datasets()}


def _same_class(one: object, other: object) -> bool:
    # A module that was imported again defines the same class anew.
    if not isinstance(one, type) or not isinstance(other, type):
        return False
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)
