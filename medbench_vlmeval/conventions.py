"""Which coordinates a model family writes, how it is asked, and a probe for a wrong declaration.

The entries are data, ``conventions.json``, each with its source. A convention is declared by an
option, by the family that a model's name belongs to, or by the prompt; it is never guessed from the
numbers of a reply.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from .metrics import box_iou_batch
from .parsing import CoordinateConvention, read_box
from .types import Box

FAMILIES_VARIABLE = "MEDBENCH_CONVENTIONS"
"""A file with families of the user's own, one JSON object a line; they are compared first."""

_FILE = Path(__file__).with_suffix(".json")
_REFERENCE_FORMS = (*get_args(CoordinateConvention), "removed")
_PROBED_ROWS = 1000
_FEWEST_ROWS = 20
_FAR_BETTER = 0.1
_TIMES_BETTER = 2


@dataclass(frozen=True)
class Convention:
    """How a model is asked for a box and how its reply is read."""

    name: CoordinateConvention
    """What `medbench_vlmeval.parsing.read_box` takes."""
    source: Literal["explicit", "model", "prompt"]
    """Declared by an option, by the model's name, or by what the prompt asks for."""
    prompt_suffix: str
    """What follows the question, to the letter; it begins with a blank where one is wanted."""
    reference_box_form: CoordinateConvention | Literal["removed"]
    """How a box inside the question is written, or that it is taken out."""
    keeps_tokens: bool
    """Qwen's special tokens around boxes and names stay; others read ``<box>`` and ``<ref>``."""
    official_parser: Literal["pixel", "scaled"] | None
    """The published parser for this family; None where none was released."""
    family: str | None = None
    image_layout: str = "images_first"
    """``images_first``, or the line with which each image is announced."""
    samples: bool = False
    """The published settings sample, so that results are not repeatable."""
    cited: str = ""
    """Where the entry comes from."""


@dataclass(frozen=True)
class BetterFit:
    """Another convention that would score far better than the declared one."""

    declared: CoordinateConvention
    declared_iou: float
    other: CoordinateConvention
    other_iou: float
    n_rows: int

    def __str__(self) -> str:
        return (
            f"read as {self.declared}, the boxes of {self.n_rows} replies have a mean IoU of "
            f"{self.declared_iou:.3f}; read as {self.other} it would be {self.other_iou:.3f}. "
            f"Check the declared convention, and the size at which images were sent. Scores keep "
            f"{self.declared}."
        )


def convention_for(model_name: str, *, explicit: str | None = None) -> Convention:
    """The convention of a model: the explicit one, else its family's, else what the prompt asks.

    Args:
        model_name: as the host calls the model, with or without an organisation in front.
        explicit: a convention (``absolute``, ``norm1000``, ``norm1``, ``yxyx1000``) or the name of
            a family in ``conventions.json``.

    Returns:
        A family's own prompt is kept as long as it fits the convention; otherwise the prompt states
        the convention in words. A family whose published prompt states no range (LLaVA-OneVision,
        mPLUG-Owl3) is asked in words too.

    Raises:
        ValueError: `explicit` is neither a convention nor a family.
    """
    entry = _family_of(model_name)
    if explicit is None:
        return _declared(entry, entry["coordinates"], "model") if entry else _asked(None)
    named = {it["family"].lower(): it for it in families()}.get(explicit.lower())
    if named:
        return _declared(named, named["coordinates"], "explicit")
    if explicit not in get_args(CoordinateConvention):
        known = ", ".join((*get_args(CoordinateConvention), *(it["family"] for it in families())))
        raise ValueError(f"expected a convention or a family out of {known}, got {explicit!r}")
    return _declared(entry or {}, explicit, "explicit")


def families() -> tuple[Mapping[str, Any], ...]:
    """All entries in the order in which a name is compared: the user's own come first.

    The user's stand in the file that ``MEDBENCH_CONVENTIONS`` names, a line each, such as
    ``{"family": "MyNet", "models": "^mynet", "coordinates": "norm1000"}``. What a line leaves out
    is as for a model of no family: the prompt states the convention.

    Raises:
        ValueError: a line that is no entry; the message names file and line.
        FileNotFoundError: there is no such file.
    """
    own = os.environ.get(FAMILIES_VARIABLE)
    added = _families_in(Path(own).expanduser()) if own else ()
    return (*added, *_registry()["families"])


def would_fit_better(
    replies: Sequence[object],
    truths: Sequence[Sequence[float]],
    *,
    declared: CoordinateConvention,
    sizes_wh: Sequence[tuple[float, float]],
    sent_sizes_wh: Sequence[tuple[float, float]] | None = None,
) -> BetterFit | None:
    """Whether another convention would score far better, for a warning; scores never use it.

    Args:
        replies: N texts of one model.
        truths: N boxes x1, y1, x2, y2 in pixels.
        declared: the convention in use.
        sizes_wh: N widths and heights of the images.
        sent_sizes_wh: N widths and heights as sent; None if nothing was resized.

    Returns:
        The best other convention if its mean IoU is twice the declared one's and at least 0.1
        higher; None otherwise, or with fewer than 20 replies that hold a box.

    Raises:
        ValueError: arguments of different lengths.

    Notes:
        Of more than 1,000 replies every k-th is looked at.
    """
    sent = sizes_wh if sent_sizes_wh is None else sent_sizes_wh
    if not len(replies) == len(truths) == len(sizes_wh) == len(sent):
        raise ValueError(
            f"expected as many truths and sizes as replies, got {len(truths)}, {len(sizes_wh)} "
            f"and {len(sent)} for {len(replies)}"
        )
    step = max(1, -(-len(replies) // _PROBED_ROWS))
    rows = [*zip(replies, truths, sizes_wh, sent, strict=True)][::step]
    means: dict[CoordinateConvention, float] = {}
    n_boxes = 0
    for convention in get_args(CoordinateConvention):
        boxes = [
            read_box(reply, convention=convention, size_wh=size, sent_size_wh=sent_size).box
            for reply, _, size, sent_size in rows
        ]
        n_boxes, means[convention] = _mean_iou([row[1] for row in rows], boxes)
    other = max((name for name in means if name != declared), key=lambda name: means[name])
    is_far = means[other] >= max(means[declared] + _FAR_BETTER, _TIMES_BETTER * means[declared])
    if n_boxes < _FEWEST_ROWS or not is_far:
        return None
    return BetterFit(declared, means[declared], other, means[other], n_boxes)


def _mean_iou(truths: Sequence[Sequence[float]], boxes: Sequence[Box | None]) -> tuple[int, float]:
    pairs = [(truth, box) for truth, box in zip(truths, boxes, strict=True) if box is not None]
    if not pairs:
        return 0, 0.0
    values = box_iou_batch(*(np.array(side, dtype=np.float64) for side in zip(*pairs, strict=True)))
    return len(pairs), float(values.mean())


@cache
def _registry() -> dict[str, Any]:
    registry: dict[str, Any] = json.loads(_FILE.read_text(encoding="utf-8"))
    return registry


def _families_in(file: Path) -> tuple[Mapping[str, Any], ...]:
    if not file.is_file():
        raise FileNotFoundError(f"expected the file that {FAMILIES_VARIABLE} names, got {file}")
    lines = file.read_text(encoding="utf-8-sig").splitlines()
    return tuple(
        _own_family(line, f"{file}, line {number}")
        for number, line in enumerate(lines, start=1)
        if line.strip()
    )


def _own_family(line: str, place: str) -> Mapping[str, Any]:
    try:
        entry = json.loads(line)
        re.compile(entry["models"])
        name, form = entry["coordinates"], entry.get("reference_box_form")
        is_known = name in get_args(CoordinateConvention)
        is_known &= form is None or form in _REFERENCE_FORMS
        is_known &= isinstance(entry["family"], str)
    except (ValueError, TypeError, KeyError, AttributeError, re.error) as error:
        raise ValueError(
            f'{place}: expected {{"family": ..., "models": a regular expression, '
            f'"coordinates": ...}}, got {line[:100]!r} ({type(error).__name__}: {error})'
        ) from error
    if not is_known:
        raise ValueError(
            f"{place}: expected coordinates out of {', '.join(get_args(CoordinateConvention))} "
            f"and a reference_box_form out of these and removed, got {name!r} and {form!r}"
        )
    stated = _registry()["stated"][name]
    usual = {"prompt_suffix": None, "reference_box_form": name, "source": place}
    return {**usual, "official_parser": stated["official_parser"], **entry}


def _family_of(model_name: str) -> Mapping[str, Any] | None:
    name = model_name.rpartition("/")[2].lower().replace("_", "-").replace(" ", "-")
    # Qwen2-5-VL and Qwen2_5-VL are ways to write Qwen2.5-VL where a dot is not wanted.
    name = re.sub(r"(?<=qwen2)-5(?=-)", ".5", name)
    return next((entry for entry in families() if re.search(entry["models"], name)), None)


def _declared(
    entry: Mapping[str, Any], name: Any, source: Literal["explicit", "model"]
) -> Convention:
    stated = _registry()["stated"]
    if name is None:
        return _asked(entry)
    fits = entry.get("coordinates") == name
    suffix = entry["prompt_suffix"] if fits else None
    return Convention(
        name=name,
        source=source,
        prompt_suffix=stated[name]["prompt_suffix"] if suffix is None else suffix,
        reference_box_form=entry["reference_box_form"] if fits else name,
        keeps_tokens=entry.get("keeps_tokens", False),
        official_parser=(entry if fits else stated[name])["official_parser"],
        family=entry.get("family"),
        image_layout=entry.get("image_layout", "images_first"),
        samples=entry.get("samples", False),
        cited=entry["source"] if fits else "",
    )


def _asked(entry: Mapping[str, Any] | None) -> Convention:
    """The convention that the prompt asks for, where nothing declares one."""
    registry = _registry()
    name = registry["default"]
    entry = entry or {}
    return Convention(
        name=name,
        source="prompt",
        prompt_suffix=registry["stated"][name]["prompt_suffix"],
        reference_box_form=name,
        keeps_tokens=entry.get("keeps_tokens", False),
        official_parser=registry["stated"][name]["official_parser"],
        family=entry.get("family"),
        image_layout=entry.get("image_layout", "images_first"),
        samples=entry.get("samples", False),
        cited=entry.get("source", ""),
    )
