"""Which MedSG-Bench rows belong together: those that show the same image of a patient.

The release gives no patient or volume. Rows are joined when they share an image, byte for byte, of
the kind that tells the case: any of their images where all are of one examination, else the image
that the answer lies in. Other slices of the same volume remain separate cases.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from .cases import join_cases
from .medsg_tasks import TASK_OF_KEY
from .store import Record


def assign_cases(records: Sequence[Record]) -> None:
    """Set ``case`` of every record to the key of the first record of its group."""
    join_cases(records, _signs)


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
