"""`ImageEditor`: what every editing model of the zoo is built on.

A subclass in a file of its own gives `edit` (or `edit_request`) and names itself with
`register_editor`; the base class does the rest: seeds, the store, the travelling line, and the
promise that VLMEvalKit needs, that a model returns a string and never raises.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from PIL import Image
from vlmeval.vlm.base import BaseModel

if TYPE_CHECKING:
    from ..editing import EditStore, NoImageReturned

# VLMEvalKit imports this module at every start, so whatever only an edit needs is imported by the
# methods that need it.

logger = logging.getLogger(__name__)

_SEED_RANGE = 2**31


@dataclass(frozen=True)
class EditRequest:
    """One edit asked of a model."""

    image: Image.Image
    """The image to edit: 8-bit RGB, EXIF orientation applied."""
    instruction: str
    seed: int
    """Depends on the input and the editor's base seed only, not on order or rank."""
    image_path: Path
    image_bytes: bytes = field(repr=False)
    """The file's own bytes, for services that take uploads."""
    dataset: str = ""
    earlier_images: tuple[Path, ...] = ()
    """Images before the one to edit, for in-context editing."""


class ImageEditor(BaseModel):
    """A model that turns an image and an instruction into an edited image.

    Args:
        name: name in the model zoo, by default the class's; part of the identity of every edit.
        seed: base seed from which each edit's own seed is derived.
        reuse_edits: take an edit that was made before with the same input and settings from the
            store. Switch it off for services whose answers should be drawn anew.
        settings: whatever the subclass needs; recorded with every edit.
    """

    INTERLEAVE = True
    is_api = False
    deterministic = True
    """False when the result depends on something outside the request, e.g. files on disk."""

    def __init__(
        self, *, name: str = "", seed: int = 0, reuse_edits: bool = True, **settings: Any
    ) -> None:
        super().__init__()
        self.name = name or type(self).__name__
        self.seed = seed
        self.reuse_edits = reuse_edits and self.deterministic
        self.settings: Mapping[str, Any] = settings
        self._store: EditStore | None = None
        # Arguments that VLMEvalKit's command line pushes into every zoo entry.
        for unused in ("retry", "verbose", "stream"):
            settings.pop(unused, None)

    @abstractmethod
    def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
        """The edited image.

        Args:
            image: 8-bit RGB.
            instruction: what to change, in words.
            seed: use it for every random draw.

        Raises:
            NoImageReturned: the model answered without an image, or declined.
        """

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        """The edited image, or the bytes of an image file to be kept as they are.

        Override this instead of `edit` when the model needs more than image and instruction.
        """
        return self.edit(request.image, request.instruction, seed=request.seed)

    @property
    def store(self) -> EditStore:
        """Where this editor's images go."""
        from ..editing import EditStore

        if self._store is None:
            self._store = EditStore.default()
        return self._store

    def generate(self, message: Any, dataset: str | None = None) -> str:
        """VLMEvalKit's entry point: one edit, answered by one line of text; never raises."""
        return self.generate_inner(message, dataset)

    def generate_inner(self, message: Any, dataset: str | None = None) -> str:
        from ..editing import NoImageReturned, failed_call_line, no_image_line

        try:
            return self._edit_message(message, dataset or "")
        except NoImageReturned as error:
            return no_image_line(error.status, error.reason)
        # An exception that leaves a model hangs VLMEvalKit's API pipeline for ever and costs a
        # local run its dataset; whatever a third-party model raises must be a counted failure.
        except Exception as error:
            logger.warning("%s: edit failed: %s: %s", self.name, type(error).__name__, error)
            logger.debug("traceback of the failed edit", exc_info=True)
            return failed_call_line(f"{type(error).__name__}: {error}")

    def _edit_message(self, message: Any, dataset: str) -> str:
        from ..editing import edit_key
        from ..images import read_rgb

        instruction, paths = read_message(message)
        data = [path.read_bytes() for path in paths]
        seed = self._seed_for(instruction, data)
        key = edit_key(
            model=f"{self._identity}:{self.name}",
            settings=self.settings,
            instruction=instruction,
            images=data,
            seed=seed,
        )
        remembered = self.store.recall(key) if self.reuse_edits else None
        if remembered is not None:
            return remembered
        request = EditRequest(
            image=Image.fromarray(read_rgb(data[-1]).pixels),
            instruction=instruction,
            seed=seed,
            image_path=paths[-1],
            image_bytes=data[-1],
            dataset=dataset,
            earlier_images=tuple(paths[:-1]),
        )
        line = self._stored_line(self.edit_request(request), seed)
        if self.reuse_edits:
            self.store.remember(key, line)
        return line

    def _seed_for(self, instruction: str, images: Sequence[bytes]) -> int:
        from ..files import sha256_bytes

        words = [str(self.seed), instruction, *(sha256_bytes(data) for data in images)]
        digest = sha256_bytes("\n".join(words).encode("utf-8", "replace"))
        return int(digest[:8], 16) % _SEED_RANGE

    def _stored_line(self, edited: Image.Image | bytes, seed: int) -> str:
        from ..editing import NoImageReturned, edited_image_line
        from ..images import encode_png, read_rgb

        if isinstance(edited, Image.Image):
            if 0 in edited.size:
                raise NoImageReturned(f"an image without pixels ({edited.width} x {edited.height})")
            edited = encode_png(edited)
        elif not isinstance(edited, bytes):
            raise NoImageReturned(
                f"a {type(edited).__name__} instead of an image: {str(edited)[:200]}"
            )
        decoded = read_rgb(edited)
        image = self.store.add(edited)
        settings = self.store.describe(
            {"model": self.name, "class": self._identity, "seed": self.seed, **self.settings}
        )
        return edited_image_line(image, size_wh=decoded.size_wh, seed=seed, settings=settings)

    @property
    def _identity(self) -> str:
        return f"{type(self).__module__}.{type(self).__qualname__}"


def read_message(message: Any) -> tuple[str, list[Path]]:
    """Instruction and image paths of a VLMEvalKit message (str, dict, or a list of either).

    Raises:
        ValueError: no image, no instruction, or an image file that does not exist.
    """
    items = message if isinstance(message, list) else [message]
    words: list[str] = []
    paths: list[Path] = []
    for item in items:
        value = item.get("value") if isinstance(item, dict) else item
        is_image = (
            item.get("type") == "image" if isinstance(item, dict) else Path(str(item)).is_file()
        )
        if is_image:
            paths.append(Path(str(value)))
        else:
            words.append(str(value).strip())
    instruction = "\n".join(word for word in words if word)
    missing = [str(path) for path in paths if not path.is_file()]
    if not paths or missing or not instruction:
        raise ValueError(
            f"expected an instruction and at least one existing image, got {len(instruction)} "
            f"characters, {len(paths)} image(s), not found: {missing or 'none'}"
        )
    return instruction, paths


def no_image(reason: str) -> NoImageReturned:
    """The exception for a model that answered without an image."""
    from ..editing import NoImageReturned

    return NoImageReturned(reason)


def declined(reason: str) -> NoImageReturned:
    """The exception for a model that refused, with its own words."""
    from ..editing import NoImageReturned
    from ..types import Status

    return NoImageReturned(reason, status=Status.REFUSAL)
