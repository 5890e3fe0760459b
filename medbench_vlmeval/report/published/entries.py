"""Objects of a JSON file that may have the keys they are told, and errors that name the place."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any


def parse(text: str, name: str) -> Any:
    """What `text` holds; a key twice in one object, NaN and infinity are errors.

    Args:
        text: JSON.
        name: what errors call it.

    Raises:
        ValueError: as said, or no JSON.
    """
    try:
        return json.loads(text, object_pairs_hook=_no_twins, parse_constant=_no_constant)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error


def all_different(names: Iterable[str], place: str) -> None:
    """Raise a `ValueError` when a name comes twice."""
    twice = [name for name, times in Counter(names).items() if times > 1]
    if twice:
        raise ValueError(f"{place}: expected every name once, got {twice[0]!r} twice; remove one")


def _no_twins(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    all_different([key for key, _ in pairs], "a JSON object")
    return dict(pairs)


def _no_constant(constant: str) -> None:
    raise ValueError(f"expected numbers, got {constant}")


class Entry:
    """A JSON object with the keys it may have and the place it came from."""

    def __init__(
        self, data: Any, place: str, required: Sequence[str], optional: Sequence[str] = ()
    ) -> None:
        self.place = place
        if not isinstance(data, Mapping):
            raise self.error("an object", data)
        for key in data:
            if key not in required and key not in optional:
                raise self.error(f"only {', '.join((*required, *optional))}", key)
        for key in required:
            if key not in data:
                raise self.error(f"the key {key!r}", sorted(data))
        self._data = data

    def __getitem__(self, key: str) -> Any:
        return self._data[key]

    def __contains__(self, key: str) -> bool:
        return key in self._data

    def error(self, expected: str, got: object) -> ValueError:
        return ValueError(f"{self.place}: expected {expected}, got {got!r}")

    def text(self, key: str, *, empty: bool = False) -> str:
        value = self[key]
        if not isinstance(value, str) or not (empty or value.strip()):
            raise self.error(f"a text as {key!r}", value)
        return value

    def matching(self, key: str, pattern: re.Pattern[str]) -> str:
        value = self.text(key)
        if not pattern.fullmatch(value):
            raise self.error(f"{key!r} of the form {pattern.pattern}", value)
        return value

    def items(self, key: str, *, empty: bool = False) -> list[Any]:
        value = self[key]
        if not isinstance(value, list) or not (empty or value):
            raise self.error(f"a list as {key!r}", value)
        return value

    def names(self, key: str, known: Sequence[str] | None = None) -> tuple[str, ...]:
        """The texts of a list without doublets; none where the key is absent."""
        names = self.items(key, empty=known is None) if key in self else []
        for name in names:
            if not isinstance(name, str) or (known is not None and name not in known):
                raise self.error(f"names of the table in {key!r}", name)
        all_different(names, f"{self.place}.{key}")
        return tuple(names)

    def count(self, key: str, *, least: int = 1) -> int:
        value = self[key]
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise self.error(f"a whole number from {least} as {key!r}", value)
        return value

    def count_or_none(self, key: str) -> int | None:
        return None if self[key] is None else self.count(key)
