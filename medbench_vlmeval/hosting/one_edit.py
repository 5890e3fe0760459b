"""Builds one model inside the host and lets it answer once, in a process of its own.

``python -m medbench_vlmeval.hosting.one_edit`` reads what to do as JSON from its standard input and
appends what happens, step by step, to the file named there: the host and the models write to the
standard streams as they like, and a process that dies leaves the steps it got through.
"""

from __future__ import annotations

import importlib
import json
import os
import re
import sys
import time
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from pathlib import Path
from types import TracebackType
from typing import Any

from ..files import append_jsonl
from .registration import register

DATASET = "MedEBench_sample"
"""The data set that a model is told it is asked for: one of editing tasks."""

_SECRET_NAME = re.compile(r"key|token|secret|passw", re.IGNORECASE)
_SECRET_LOOKING = re.compile(r"\b(?:sk|hf|gsk|AIza)[-_]?[\w*-]{12,}")
_SHORTEST_SECRET = 8


def answer_once(task: Mapping[str, Any], record: Path) -> None:
    """Import the host, build the model, ask it once; one line in `record` for each step.

    Args:
        task: ``model``, a name; ``models``, the part ``model`` of a ``--config`` file or empty;
            ``image`` and ``instruction``.
        record: file of JSON lines to append to.

    Raises:
        ValueError: there is no such model.
        Exception: whatever the host or the model raises.
    """
    started = time.monotonic()
    zoo = importlib.import_module("vlmeval.config").supported_VLM
    registration = register()
    _append(record, "imported", started)
    started = time.monotonic()
    model = built_model(task["model"], task["models"], zoo, registration.failures)
    editor = importlib.import_module("medbench_vlmeval.models.base").ImageEditor
    is_editor = isinstance(model, editor)
    _append(record, "built", started, kind=type(model).__name__, is_editor=is_editor)
    guarded_text = importlib.import_module("medbench_vlmeval.datasets.base").guarded_text
    message = [
        {"type": "image", "value": task["image"]},
        {"type": "text", "value": guarded_text(task["instruction"])},
    ]
    started = time.monotonic()
    reply = model.generate(message=message, dataset=DATASET)
    # VLMEvalKit keeps the text of whatever a model returns.
    text = reply if isinstance(reply, str) else str(reply)
    secrets = secrets_in(os.environ, task["models"])
    _append(record, "answered", started, reply=without_secrets(text, secrets))


def secrets_in(environ: Mapping[str, str], *settings: Any) -> list[str]:
    """Values that are secret by their names, the longest first.

    Args:
        environ: environment variables.
        settings: nested dicts and lists, e.g. of a ``--config`` file.
    """
    found = {str(value) for name, value in _named((dict(environ), settings))}
    return sorted((it for it in found if len(it) >= _SHORTEST_SECRET), key=len, reverse=True)


def _named(value: Any) -> Iterable[tuple[str, Any]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            if isinstance(inner, str) and _SECRET_NAME.search(str(name)):
                yield name, inner
            yield from _named(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _named(inner)


def without_secrets(text: str, secrets: Iterable[str]) -> str:
    """`text` without these values, and without what looks like a key of a well-known service."""
    for secret in secrets:
        text = text.replace(secret, "[removed]")
    return _SECRET_LOOKING.sub("[removed]", text)


def built_model(
    name: str, models: Mapping[str, Any], zoo: Mapping[str, Any], failures: tuple[str, ...]
) -> Any:
    """The model as VLMEvalKit builds it, from its zoo or from an entry of a ``--config`` file.

    Args:
        name: of the model.
        models: the part ``model`` of a ``--config`` file; empty for the zoo.
        zoo: VLMEvalKit's ``supported_VLM``.
        failures: what could not be registered, for the error about an unknown name.

    Raises:
        ValueError: there is no such model or class.
    """
    arguments = dict(models.get(name, {}))
    if models and name not in models:
        raise ValueError(
            f"expected a model of the configuration, got {name!r}{_close(name, models)}"
        )
    if "class" in arguments:
        wanted = str(arguments.pop("class"))
        for module in ("vlmeval.api", "vlmeval.vlm"):
            cls = getattr(importlib.import_module(module), wanted, None)
            if cls is not None:
                return cls(**arguments)
        raise ValueError(f"expected a class of vlmeval.api or vlmeval.vlm, got {wanted!r}")
    if name not in zoo:
        broken = f"; not registered: {'; '.join(failures)}" if failures else ""
        raise ValueError(
            f"expected a model of VLMEvalKit's zoo, got {name!r}{_close(name, zoo)}{broken}"
        )
    return zoo[name](**arguments)


def _close(name: str, known: Iterable[str]) -> str:
    by_key = {str(other).casefold(): str(other) for other in known}
    close = [by_key[key] for key in get_close_matches(name.casefold(), by_key, n=3)]
    return f"; did you mean {' or '.join(close)}?" if close else ""


def _append(record: Path, step: str, started: float, **fields: Any) -> None:
    seconds = round(time.monotonic() - started, 3)
    append_jsonl(record, {"step": step, "seconds": seconds, **fields})


def main() -> None:
    """Do what the standard input says; an exception is recorded and ends the process with 1."""
    task = json.loads(sys.stdin.read())
    record = Path(task["record"])

    def say(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        secrets = secrets_in(os.environ, task["models"])
        words = {"type": kind.__name__, "message": without_secrets(str(error), secrets)}
        append_jsonl(record, {"step": "failed", **words})
        sys.__excepthook__(kind, error, trace)

    sys.excepthook = say
    answer_once(task, record)


if __name__ == "__main__":
    main()
