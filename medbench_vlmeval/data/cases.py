"""Which rows belong together: those that share a sign, such as an image, directly or by others."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from .store import Record


def join_cases(
    records: Sequence[Record],
    signs_of: Callable[[Record], Iterable[str]],
    *,
    named_by: str = "key",
) -> None:
    """Set ``case`` of every record to the name of the first record of its group.

    Args:
        records: Lines of the table.
        signs_of: What a record must share with another one to be of the same case.
        named_by: Field of a record that is unique; its text names the case.
    """
    parents = list(range(len(records)))
    first_with: dict[str, int] = {}
    for position, record in enumerate(records):
        for sign in signs_of(record):
            other = first_with.setdefault(sign, position)
            _join(parents, position, other)
    for position, record in enumerate(records):
        record["case"] = str(records[_root(parents, position)][named_by])


def _join(parents: list[int], first: int, second: int) -> None:
    roots = sorted((_root(parents, first), _root(parents, second)))
    parents[roots[1]] = roots[0]


def _root(parents: list[int], position: int) -> int:
    while parents[position] != position:
        parents[position] = parents[parents[position]]
        position = parents[position]
    return position
