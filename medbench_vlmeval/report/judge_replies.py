"""What the judge replied in a run, sample by sample, from ``_judge.jsonl``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .lines import read_lines
from .runs import Run


def replies_by_index(run: Run) -> dict[str, list[Mapping[str, Any]]]:
    """Every reply of the judge, all attempts, by the index of its sample; empty without a judge.

    A line that a killed judge left unfinished is no reply.

    Raises:
        RunUnreadable: the file is damaged.
    """
    path = run.beside("_judge.jsonl")
    replies: dict[str, list[Mapping[str, Any]]] = {}
    if path.is_file():
        for line in read_lines(path)[0]:
            replies.setdefault(_key_of(line)[0], []).append(line)
    return replies


def dimension_of(line: Mapping[str, Any]) -> str:
    """What a reply is about; empty where a sample is judged by one question."""
    return _key_of(line)[1]


def _key_of(line: Mapping[str, Any]) -> tuple[str, str]:
    # Descriptions are judged once a dimension, under ``<index>/<dimension>``.
    index, _, dimension = str(line.get("key", "")).partition("/")
    return index, dimension
