"""One edit as a pipeline is asked for it, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Union

from PIL import Image

from .base import EditRequest, no_image
from .diffusers_sizes import Fitted

if TYPE_CHECKING:
    from ..editing import NoImageReturned

Outcome = Union[Image.Image, "NoImageReturned", Exception]
RequestKey = tuple[str, str, int]


@dataclass(frozen=True, eq=False)
class Ask:
    """One edit as a pipeline is asked for it."""

    fitted: Fitted
    instruction: str
    seed: int


def request_key(request: EditRequest) -> RequestKey:
    """What tells the requests of a batch apart."""
    return str(request.image_path), request.instruction, request.seed


def is_failure(outcome: Outcome) -> bool:
    """Whether the edit ended in an exception, other than one for "no image"."""
    from ..editing import NoImageReturned

    return isinstance(outcome, Exception) and not isinstance(outcome, NoImageReturned)


def placeable(outcome: Outcome) -> Image.Image | NoImageReturned:
    """An outcome as it stands in the result of a batch: a failure there is no image."""
    from ..editing import NoImageReturned

    if isinstance(outcome, (Image.Image, NoImageReturned)):
        return outcome
    return no_image(f"the edit failed: {type(outcome).__name__}: {outcome}")
