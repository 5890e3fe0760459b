"""The numbers in the lines of a run's table of groups, ``_acc.csv``."""

from __future__ import annotations

import math
from collections.abc import Mapping

from .runs import RunUnreadable


def number_of(line: Mapping[str, str], name: str) -> float | None:
    """A number of a line; None for an empty field.

    Raises:
        RunUnreadable: no such column, or no finite number there.
    """
    text = line.get(name)
    if text == "":
        return None
    try:
        value = float(text)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        value = math.nan
    if not math.isfinite(value):
        raise RunUnreadable(
            f"expected a number as {name} of {line.get('metric')!r} in the table of groups, got "
            f"{text!r}; evaluate again"
        )
    return value


def count_of(line: Mapping[str, str], name: str) -> int:
    """A count of a line; 0 for an empty field.

    Raises:
        RunUnreadable: no such column, or no number there.
    """
    return int(number_of(line, name) or 0)
