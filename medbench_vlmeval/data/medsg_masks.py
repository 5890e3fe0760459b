"""The mask of a MedSG-Bench row, where it has one; the released rows have boxes only."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from ..images import read_roi
from ..parsing import RunLengths
from .medsg_rows import MedSGRow, Size


def mask_of(row: MedSGRow, image_size_wh: Size | None) -> tuple[RunLengths | None, list[str]]:
    """The mask of the answer, and what is wrong with it.

    The field ``mask`` is COCO's run lengths (an object, or its JSON text) or the path of an image
    in the release, white where the object is. An unusable mask is a problem of the row and left
    out; the row keeps its box.
    """
    written = row.fields.get("mask")
    if written is None or written == "":
        return None, []
    try:
        mask = _read(row, written)
    except (ValueError, OSError):
        return None, ["mask unreadable"]
    height, width = mask.size_hw
    if image_size_wh is not None and (width, height) != tuple(image_size_wh):
        return None, ["mask is not of the size of the image"]
    if sum(mask.runs[1::2]) == 0:
        return None, ["mask is empty"]
    return mask, []


def _read(row: MedSGRow, written: Any) -> RunLengths:
    if row.mask_file is not None:
        return RunLengths.of(read_roi(row.mask_file.read()).values)
    if isinstance(written, str):
        written = json.loads(written)
    if not isinstance(written, Mapping):
        raise ValueError(f"expected run lengths or a path, got {type(written).__name__}")
    return RunLengths.from_coco(written)
