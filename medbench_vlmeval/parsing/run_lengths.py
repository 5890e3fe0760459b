"""Masks as run lengths, the form in which COCO writes them, read without trusting the text."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

MOST_PIXELS = 100_000_000

_LONGEST_NUMBER = 7
"""Characters; seven hold 35 bits, more than any run of an image needs."""


@dataclass(frozen=True)
class RunLengths:
    """A mask as lengths of runs down the columns, the first run outside the mask.

    Raises:
        ValueError: sides below 1, more than 100 million pixels, a negative run, or runs that do not
            add up to the pixels.

    Notes:
        The form of the COCO annotations. pycocotools decodes it in C and believes the numbers; what
        a model writes need not add up, so it is checked here before anything is allocated.
    """

    size_hw: tuple[int, int]
    runs: tuple[int, ...]

    def __post_init__(self) -> None:
        height, width = self.size_hw
        if height < 1 or width < 1 or height * width > MOST_PIXELS:
            raise ValueError(
                f"expected a mask of 1 to {MOST_PIXELS} pixels, got height {height}, width {width}"
            )
        if any(run < 0 for run in self.runs):
            raise ValueError("expected runs of zero or more pixels, got a negative one")
        if sum(self.runs) != height * width:
            raise ValueError(
                f"expected runs of {height * width} pixels in all, got {sum(self.runs)}"
            )

    @classmethod
    def from_coco(cls, written: Mapping[str, Any]) -> RunLengths:
        """From ``{"size": [height, width], "counts": ...}``, counts a text or a list.

        Raises:
            ValueError: another shape, or numbers that are no mask.
        """
        size, counts = written.get("size"), written.get("counts")
        if size is None or not _are_whole(size) or len(size) != 2:
            raise ValueError(f"expected size to be [height, width], got {size!r}")
        if isinstance(counts, bytes):
            counts = counts.decode("ascii", errors="replace")
        if isinstance(counts, str):
            runs = tuple(_runs_of(counts))
        elif counts is not None and _are_whole(counts):
            runs = tuple(map(int, counts))
        else:
            raise ValueError(
                f"expected counts to be a text or whole numbers, got {type(counts).__name__}"
            )
        return cls((int(size[0]), int(size[1])), runs)

    @classmethod
    def of(cls, mask: ArrayLike) -> RunLengths:
        """Of a mask, shape (H, W), any dtype; what is not 0 is inside."""
        inside = np.asarray(mask) != 0
        if inside.ndim != 2:
            raise ValueError(f"expected a mask of shape (H, W), got {inside.shape}")
        column_wise = inside.ravel(order="F")
        edges = np.flatnonzero(np.diff(column_wise)) + 1
        ends = np.concatenate([[0], edges, [column_wise.size]])
        runs = [int(run) for run in np.diff(ends)]
        starts_inside = column_wise.size > 0 and bool(column_wise[0])
        height, width = inside.shape
        return cls((height, width), (0, *runs) if starts_inside else tuple(runs))

    def to_coco(self) -> dict[str, list[int]]:
        """``{"size": [height, width], "counts": [...]}``, for JSON."""
        return {"size": list(self.size_hw), "counts": list(self.runs)}

    def mask(self) -> NDArray[np.bool_]:
        """The mask, shape (H, W)."""
        inside = np.arange(len(self.runs)) % 2 == 1
        return np.repeat(inside, self.runs).reshape(self.size_hw, order="F")


def _runs_of(text: str) -> Iterable[int]:
    """The runs of COCO's compressed text: 5 bits a character, from the third as differences."""
    runs: list[int] = []
    value = length = 0
    for character in text:
        bits = ord(character) - 48
        if not 0 <= bits < 64 or length == _LONGEST_NUMBER:
            raise ValueError(f"expected compressed run lengths, got {text[:40]!r}")
        value |= (bits & 31) << (5 * length)
        length += 1
        if bits & 32:
            continue
        if bits & 16:
            value -= 1 << (5 * length)
        runs.append(value + runs[-2] if len(runs) > 2 else value)
        value = length = 0
    if length:
        raise ValueError("expected compressed run lengths, got a text that ends inside a number")
    return runs


def _are_whole(values: Any) -> bool:
    return (
        isinstance(values, Sequence)
        and not isinstance(values, (str, bytes))
        and all(
            isinstance(value, (int, float)) and not isinstance(value, bool) and value % 1 == 0
            for value in values
        )
    )
