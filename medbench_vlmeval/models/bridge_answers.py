"""What a worker answers, read with the caution that another program's words and files need."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .base import declined, no_image

if TYPE_CHECKING:
    from ..editing import NoImageReturned

_LONGEST_FACT = 200
_MOST_FACTS = 40


def read_answer(answer: Mapping[str, Any], output: Path) -> bytes | NoImageReturned:
    """The result of one request.

    Args:
        answer: what the worker said.
        output: the file that it was told to write; no other is looked at.
    """
    status, reason = answer["status"], str(answer.get("reason") or "no reason given")
    if status == "ok":
        return _image_bytes(output)
    if status == "no_image":
        return no_image(reason)
    if status == "refusal":
        return declined(reason)
    if status == "error":
        return failed_edit(f"the worker's model failed: {reason}")
    return failed_edit(f"expected status ok, no_image, refusal or error, got {str(status)[:40]!r}")


def _image_bytes(output: Path) -> bytes | NoImageReturned:
    from ..editing.collecting import resolve_inside
    from ..images import ImageUnreadable, read_rgb

    try:
        data = resolve_inside(str(output), [output.parent]).read_bytes()
        read_rgb(data)
    except FileNotFoundError:
        return failed_edit("the worker answered ok but wrote no image")
    except PermissionError:
        return failed_edit("the worker's image is a link out of its folder, or not readable")
    except ImageUnreadable as error:
        return failed_edit(f"the worker wrote a file that is no image: {error}")
    return data


def failed_edit(reason: str) -> NoImageReturned:
    """An edit that could not be made and should be asked again: no answer of the model."""
    from ..editing import NoImageReturned
    from ..types import Status

    return NoImageReturned(reason, status=Status.API_FAIL)


def plain_facts(hello: Mapping[str, Any]) -> dict[str, Any]:
    """A worker's hello as it is recorded: plain values only, of bounded length and number."""
    facts = {
        str(name)[:_LONGEST_FACT]: value[:_LONGEST_FACT] if isinstance(value, str) else value
        for name, value in hello.items()
        if value is None or isinstance(value, (str, int, float))
    }
    return dict(itertools.islice(facts.items(), _MOST_FACTS))
