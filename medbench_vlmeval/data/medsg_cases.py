"""Which MedSG-Bench rows belong together: those that show the same image of a patient.

The release gives no patient or volume. Rows are joined when they share an image, byte for byte, of
the kind that tells the case: any of their images where all are of one examination, else the image
that the answer lies in. Other slices of the same volume remain separate cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .medsg_tasks import TASK_OF_KEY
from .store import Record


def assign_cases(records: Sequence[Record]) -> None:
    """Set ``case`` of every record to the key of the first record of its group."""
    parents = list(range(len(records)))
    first_with: dict[str, int] = {}
    for position, record in enumerate(records):
        for sign in _signs(record):
            other = first_with.setdefault(sign, position)
            _join(parents, position, other)
    for position, record in enumerate(records):
        record["case"] = records[_root(parents, position)]["key"]


def _signs(record: Mapping) -> list[str]:
    """What a row must share with another one to be of the same case."""
    hashes = [(image or {}).get("sha256", "") for image in record["images"]]
    if TASK_OF_KEY[record["task"]].one_examination:
        return [digest for digest in hashes if digest]
    target = record["target_image"]
    if target is not None:
        return [hashes[target]] if hashes[target] else []
    # Unrelated images in one row: only a row with the very same images is of the same case.
    return [" ".join(hashes)] if all(hashes) else []


def _join(parents: list[int], first: int, second: int) -> None:
    roots = sorted((_root(parents, first), _root(parents, second)))
    parents[roots[1]] = roots[0]


def _root(parents: list[int], position: int) -> int:
    while parents[position] != position:
        parents[position] = parents[parents[position]]
        position = parents[position]
    return position
