"""The questions that the host will ask next, so that an editor can work in batches.

VLMEvalKit asks a local model one question at a time. It gives the model the data set's
`dump_image`, however, and through it the data set itself, whose order is known.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import Any


class Upcoming:
    """The messages of a data set in the order in which this rank is asked.

    Args:
        dump_image: what VLMEvalKit hands to a model with `set_dump_image`; None, or a function that
            belongs to no data set, leaves nothing to look ahead to.
    """

    def __init__(self, dump_image: Callable[..., Any] | None) -> None:
        self._dataset: Any = getattr(dump_image, "__self__", None)
        self._positions: dict[str, int] | None = None

    @property
    def name(self) -> str:
        """Name of the data set; empty without one."""
        return str(getattr(self._dataset, "dataset_name", ""))

    def after(self, message: Any) -> Iterator[Any]:
        """The messages after `message`, for this rank; none when it is not of the data set."""
        position = self._known().get(_identity(message))
        if position is None:
            return
        step = max(1, int(os.environ.get("WORLD_SIZE", "1")))
        for following in range(position + step, len(self._dataset.data), step):
            yield self._dataset.build_prompt(self._dataset.data.iloc[following])

    def _known(self) -> dict[str, int]:
        if self._positions is None:
            self._positions = {}
            if hasattr(self._dataset, "build_prompt") and hasattr(self._dataset, "data"):
                for position in range(len(self._dataset.data)):
                    line = self._dataset.data.iloc[position]
                    key = _identity(self._dataset.build_prompt(line))
                    self._positions.setdefault(key, position)
        return self._positions


def _identity(message: Any) -> str:
    items = message if isinstance(message, list) else [message]
    parts = [
        (item.get("type", ""), str(item.get("value", "")).strip())
        if isinstance(item, dict)
        else ("", str(item).strip())
        for item in items
    ]
    return repr(parts)
