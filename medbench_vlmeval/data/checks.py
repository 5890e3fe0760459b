"""Looks at the images of a sample and says what is wrong with them; nothing is ever corrected."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from ..images import ImageUnreadable, likely_inverted, read_rgb, read_roi, same_aspect

_LFS_POINTER = b"version https://git-lfs"

ROI_PROBLEMS = {
    "empty": "roi empty",
    "full": "roi covers everything",
    "zero_one": "roi holds 0 and 1 only",
}
"""Flags of `read_roi` that are worth a look before anything is scored."""

Measured = dict[str, dict[str, Any]]


def image_problems(paths: Mapping[str, Path]) -> tuple[list[str], Measured]:
    """Problems of one sample's images, and what was measured: size by role, the share of the ROI.

    Args:
        paths: Role to file, for the images that are there.
    """
    problems: list[str] = []
    measured: Measured = {}
    for role in ("previous", "reference"):
        if role in paths:
            found, facts = _picture_problems(role, paths[role])
            problems += found
            measured[role] = facts
    sizes = {role: facts.get("size_wh") for role, facts in measured.items()}
    if _aspects_differ(sizes.get("previous"), sizes.get("reference")):
        problems.append("reference has another aspect ratio than previous")
    if "roi" in paths:
        found, measured["roi"] = _roi_problems(paths["roi"], sizes.get("previous"))
        problems += found
    return problems, measured


def mark_inverted_rois(records: Sequence[dict[str, Any]]) -> None:
    """Add a problem to the records whose ROI share is far above that of the same organ's others."""
    shares: dict[str, dict[int, float]] = {}
    for position, record in enumerate(records):
        if "share" in (record.get("roi") or {}):
            shares.setdefault(record["organ"], {})[position] = record["roi"]["share"]
    for of_organ in shares.values():
        for position in likely_inverted(of_organ):
            records[position]["problems"].append("roi may be inverted")


def _picture_problems(role: str, path: Path) -> tuple[list[str], dict[str, Any]]:
    try:
        decoded = read_rgb(path)
    except ImageUnreadable:
        return [unreadable_problem(role, path.read_bytes())], {}
    return [], {"size_wh": decoded.size_wh}


def _roi_problems(
    path: Path, picture_size_wh: tuple[int, int] | None
) -> tuple[list[str], dict[str, Any]]:
    try:
        roi = read_roi(path)
    except ImageUnreadable:
        return [unreadable_problem("roi", path.read_bytes())], {}
    height, width = roi.values.shape[:2]
    problems = [ROI_PROBLEMS[flag] for flag in sorted(roi.flags) if flag in ROI_PROBLEMS]
    if _aspects_differ(picture_size_wh, (width, height)):
        problems.append("roi has another aspect ratio than previous")
    elif picture_size_wh is not None and picture_size_wh != (width, height):
        problems.append("roi has another size than previous")
    return problems, {"size_wh": (width, height), "share": round(float(roi.share), 6)}


def unreadable_problem(role: str, data: bytes) -> str:
    """The problem of bytes that cannot be decoded; tells the pointer files of Git LFS apart."""
    is_pointer = data.startswith(_LFS_POINTER)
    return f"{role} is a Git LFS pointer (git lfs pull)" if is_pointer else f"{role} unreadable"


def _aspects_differ(first_wh: tuple[int, int] | None, second_wh: tuple[int, int] | None) -> bool:
    return first_wh is not None and second_wh is not None and not same_aspect(first_wh, second_wh)
