"""Looks at one edited image beside its input: size, flags, and a picture of the two."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from PIL import Image

from ..evaluation.edit_scoring import EditTask, score_edits
from ..images import ImageUnreadable, encode_png, read_rgb, resize_like
from .diagnosis import Finding, Level

_GAP = 8
"""White pixels between input and result."""
_MEANINGS = {
    "size_differs": "scoring resizes the result to the input",
    "aspect_differs": "scoring distorts the result to the shape of the input",
    "lossy": "the file is JPEG or WebP, which scores below lossless",
    "shifted": "the whole picture moved; SSIM calls that damage",
    "black_border": "black rows or columns at the edge count as damage",
    "several_images": "only the first is scored",
}


def picture_findings(
    before: Path, after: Path, flags: frozenset[str], roi: Path | None
) -> tuple[list[Finding], bytes | None]:
    """What there is to say about an edited image, and a PNG of input and result side by side.

    Args:
        before: the input image.
        after: the edited image.
        flags: what was noticed before the image was decoded.
        roi: where the edit may happen, which some flags need; None where it is not known.

    Returns:
        Findings, and the bytes of the picture; None where the result cannot be decoded.
    """
    previous = read_rgb(before)
    try:
        edited = read_rgb(after)
    except ImageUnreadable as error:
        what = f"a file came that cannot be read as an image: {error}"
        return [Finding(Level.PROBLEM, what, "a run counts this as a missing answer")], None
    width, height = edited.size_wh
    findings = [Finding(Level.OK, f"an image came: {width} x {height} pixels, {edited.format}")]
    resized, size_flags = resize_like(edited, previous.size_wh)
    found = flags | size_flags | {f"edited_{flag}" for flag in edited.flags}
    if edited.format in ("JPEG", "MPO", "WEBP"):
        found |= {"lossy"}
    if roi is not None:
        task = EditTask(str(before), str(roi), (str(after),))
        outcome = score_edits([task])[0][0]
        found |= outcome.flags if outcome is not None else frozenset()
    for flag in sorted(found):
        meaning = _MEANINGS.get(flag, "see docs/medebench.md")
        findings.append(Finding(Level.NOTE, f"flag {flag}: {meaning}"))
    if np.array_equal(resized, previous.pixels):
        findings.append(Finding(Level.NOTE, "the result is the input, pixel by pixel"))
    return findings, _side_by_side(previous.pixels, edited.pixels)


def _side_by_side(left: np.ndarray, right: np.ndarray) -> bytes:
    """PNG of two (H, W, 3) images at their own sizes, on white."""
    width = left.shape[1] + _GAP + right.shape[1]
    canvas = Image.new("RGB", (width, max(left.shape[0], right.shape[0])), (255, 255, 255))
    canvas.paste(Image.fromarray(left), (0, 0))
    canvas.paste(Image.fromarray(right), (left.shape[1] + _GAP, 0))
    return encode_png(canvas)
