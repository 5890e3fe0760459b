"""How a question of MedSG-Bench is asked: image order, reference box, and what convention is named.

The layouts, suffixes and forms of the reference box are those of the released script
(eval/MedSG_Bench.py), kept as data in ``conventions.json``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image

from ..conventions import Convention, convention_for, families
from ..data import MedSGSample
from ..parsing import CoordinateConvention
from ..reference_boxes import question_for

CONVENTION_VARIABLE = "MEDBENCH_MEDSG_CONVENTION"
"""A convention or a model family, for every MedSG data set of this process."""

_IMAGE_MARK = re.compile(r"<image>|<\|image\|>")


def chosen_convention(environ: Mapping[str, str], argv: Sequence[str]) -> Convention:
    """The convention to ask in: the explicit one, else that of the one model the command names.

    A data set is not told which model it is built for, but a command that names one model leaves no
    doubt. With several models, or none, the prompt itself states the convention.

    Args:
        environ: may hold ``MEDBENCH_MEDSG_CONVENTION``.
        argv: the command line, where ``--model`` names models.

    Raises:
        ValueError: the explicit choice is neither a convention nor a family.
    """
    named = _models_of(argv)
    model = named[0] if len(named) == 1 else ""
    return convention_for(model, explicit=environ.get(CONVENTION_VARIABLE) or None)


def _models_of(argv: Sequence[str]) -> list[str]:
    names: list[str] = []
    is_model = False
    for argument in argv:
        if argument.startswith("--"):
            option, _, value = argument.partition("=")
            is_model = option == "--model"
            names += [value] if is_model and value else []
        elif is_model:
            names.append(argument)
    return names


def asked_question(sample: MedSGSample, convention: Convention) -> str:
    """The question with its reference box in the form the family reads, and the format suffix."""
    first = sample.images[0] if sample.images else None
    size_wh = sample.size_wh
    if first is not None and sample.reference_box is not None:
        with Image.open(first) as opened:
            size_wh = opened.size
    return question_for(sample.question, convention, size_wh=size_wh)


def message_parts(sample: MedSGSample, convention: Convention) -> list[tuple[str, str | Path]]:
    """The prompt as ``("image", path)`` and ``("text", words)`` in the order they are sent.

    Raises:
        ValueError: the sample lacks an image; a model cannot be asked then.
    """
    parts: list[tuple[str, str | Path]] = []
    for number, path in enumerate(sample.images, start=1):
        if path is None:
            raise ValueError(
                f"expected all images of sample {sample.key}, image {number} is missing"
            )
        before, after = _announcement(convention, number)
        parts += [("text", before)] if before else []
        parts.append(("image", path))
        parts += [("text", after)] if after else []
    parts.append(("text", asked_question(sample, convention)))
    return parts


def _announcement(convention: Convention, number: int) -> tuple[str, str]:
    if convention.image_layout == "images_first":
        return "", ""
    line = convention.image_layout.replace("{number}", str(number))
    before, _, after = _IMAGE_MARK.sub("\0", line).partition("\0")
    return before, after


def convention_asked_in(prompt: str) -> CoordinateConvention:
    """The convention a prompt asks for, by its suffix; for answerers without habits of their own.

    Raises:
        ValueError: the prompt ends in no known suffix.
    """
    for name in ("absolute", "norm1000", "norm1", "yxyx1000"):
        if prompt.endswith(convention_for("", explicit=name).prompt_suffix):
            return convention_for("", explicit=name).name
    for family in families():
        declared = convention_for("", explicit=family["family"])
        if declared.prompt_suffix and prompt.endswith(declared.prompt_suffix):
            return declared.name
    raise ValueError(f"expected a prompt that ends in a format suffix, got …{prompt[-60:]!r}")
