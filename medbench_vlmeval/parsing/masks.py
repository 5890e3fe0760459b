"""The mask in a reply: run lengths, or the path of a PNG file."""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..types import Status
from .plain_text import reply_text
from .refusals import is_api_failure, is_refusal
from .run_lengths import RunLengths
from .thinking import without_thinking

_OBJECT = re.compile(r"\{([^{}]*)\}")
_COUNTS_KEY = re.compile(r"[\"']counts[\"']")
_SIZE = re.compile(r"[\"']size[\"']\s*:\s*[\[(]\s*(\d{1,6})\s*,\s*(\d{1,6})\s*[\])]")
_COUNTS = re.compile(
    r"[\"']counts[\"']\s*:\s*(?:b?\"(?P<double>[^\"]*)\"|b?'(?P<single>[^']*)'"
    r"|\[(?P<listed>[\d\s,]*)\])"
)
_LABELLED_PATH = re.compile(
    r"(?:\"|'|\b)(?:mask|segmentation)(?:_path|_file)?(?:\"|')?\s*[:=>]\s*"
    r"(?:\"(?P<double>[^\"\n]{1,1024})\"|'(?P<single>[^'\n]{1,1024})'|(?P<bare>[^\s<>\"']{1,1024}))",
    re.IGNORECASE,
)
_LONGEST_PATH = 1024


@dataclass(frozen=True)
class MaskReading:
    """The mask of a reply as run lengths or as a path, or why there is none."""

    runs: RunLengths | None
    path: str | None
    """As written; what it may point to is for the caller to decide."""
    status: Status
    rest: str
    """The reply without its mask, so that its numbers are not taken for a box."""
    note: str = ""

    @property
    def is_there(self) -> bool:
        """Whether the reply carries a mask, readable or not."""
        return self.runs is not None or self.path is not None or bool(self.note)


def read_mask(reply: object) -> MaskReading:
    """Read the mask of a reply; the first one counts.

    Args:
        reply: any; None and NaN are an empty text. Two forms are read. COCO's run lengths,
            ``{"size": [height, width], "counts": "..."}``, compressed or as a list, as JSON or as
            Python prints it. And the path of a PNG file, when it is the whole reply or is called a
            mask (``mask: a/b.png``, ``"mask_path": "a/b.png"``, ``<mask>a/b.png</mask>``).

    Returns:
        A reading; `note` says what is wrong with run lengths that are no mask.

    Notes:
        The thinking part is dropped. Time is linear in the length of the reply. No file is touched.
        MedSG-Bench itself knows boxes only.
    """
    text, is_thinking = without_thinking(reply_text(reply))
    found = _written_runs(text) or _written_path(text)
    if found is not None:
        return found
    return MaskReading(None, None, _status_without(text, is_thinking), text)


def _written_runs(text: str) -> MaskReading | None:
    for written in _OBJECT.finditer(text):
        counts = _COUNTS.search(written[1])
        if counts is None:
            continue
        rest = text[: written.start()] + text[written.end() :]
        size = _SIZE.search(written[1])
        try:
            runs = RunLengths.from_coco(
                {"size": [int(side) for side in size.groups()] if size else None}
                | {"counts": _counts_of(counts)}
            )
        except ValueError as error:
            return MaskReading(None, None, Status.UNPARSED, rest, str(error))
        return MaskReading(runs, None, Status.ANSWER, rest)
    start = text.rfind("{")
    if start > text.rfind("}") and _COUNTS_KEY.search(text, start):
        return MaskReading(None, None, Status.TRUNCATED, text[:start], "the run lengths break off")
    return None


def _counts_of(counts: re.Match[str]) -> str | list[int]:
    if counts["listed"] is not None:
        return [int(number[:12]) for number in counts["listed"].replace(",", " ").split()]
    # JSON and Python double the backslashes that the compressed form may hold.
    return (counts["double"] or counts["single"] or "").replace("\\\\", "\\")


def _written_path(text: str) -> MaskReading | None:
    for labelled in _LABELLED_PATH.finditer(text):
        path = labelled["double"] or labelled["single"] or labelled["bare"]
        path = path.rstrip(".,;)]}")
        if _is_png(path):
            rest = text[: labelled.start()] + text[labelled.end() :]
            return MaskReading(None, path, Status.ANSWER, rest)
    whole = text.strip().strip("`\"'").strip()
    if len(whole) <= _LONGEST_PATH and "\n" not in whole and _is_png(whole) and "{" not in whole:
        return MaskReading(None, whole, Status.ANSWER, "")
    return None


def _is_png(path: str) -> bool:
    return path.lower().endswith(".png")


def _status_without(text: str, is_thinking: bool) -> Status:
    if not text.strip():
        return Status.TRUNCATED if is_thinking else Status.MISSING
    if is_api_failure(text):
        return Status.API_FAIL
    return Status.REFUSAL if is_refusal(text) else Status.UNPARSED
