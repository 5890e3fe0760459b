"""The JSON-lines files of a run: rows, samples, replies of the judge."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..files import read_jsonl


class RunUnreadable(ValueError):
    """Files of a run that are absent, damaged, or written by a newer version."""


def read_lines(path: Path) -> tuple[list[dict[str, Any]], list[str]]:
    """The lines of a file, and warnings about one that a killed process left unfinished.

    Raises:
        RunUnreadable: the file is absent or damaged.
    """
    try:
        return read_jsonl(path)
    except (OSError, ValueError) as error:
        raise RunUnreadable(f"{path}: cannot be read ({error})") from error


def read_whole(path: Path) -> list[dict[str, Any]]:
    """The lines of a file that was written at once, so that an unfinished one is damage.

    Raises:
        RunUnreadable: the file is absent, empty or damaged.
    """
    lines, warnings = read_lines(path)
    if warnings:
        raise RunUnreadable("; ".join(warnings))
    return lines
