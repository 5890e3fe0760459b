"""What is asked of an editor: one edit, and how it is read from a message of VLMEvalKit."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from PIL import Image


@dataclass(frozen=True)
class Demonstration:
    """A solved edit that is shown before the one asked for."""

    previous: Path
    instruction: str
    changed: Path


# Requests are never compared; methods that nobody calls would cost every start of the host.
@dataclass(frozen=True, eq=False)
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
    replica: int = 0
    """Which of several images of the same edit this is; the benchmark scores 0."""

    @property
    def demonstrations(self) -> tuple[Demonstration, ...]:
        """The solved edits that came with the request, in their order; most often none."""
        split = self._split()
        if split is None:
            return ()
        befores, afters = self.earlier_images[::2], self.earlier_images[1::2]
        return tuple(map(Demonstration, befores, split[0], afters))

    @property
    def own_instruction(self) -> str:
        """The instruction for `image` alone, without the words around demonstrations."""
        split = self._split()
        return self.instruction if split is None else split[1]

    def _split(self) -> tuple[tuple[str, ...], str] | None:
        from ..data.demonstrations import split_prompt

        return split_prompt(self.instruction, len(self.earlier_images) + 1)


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
