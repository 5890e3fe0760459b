"""`FolderEditor`: pictures that were made elsewhere, scored as if a model had just made them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from ..registry import register_editor
from .base import EditRequest, ImageEditor, no_image

if TYPE_CHECKING:
    from ..edits_folder import FolderIndex

FOLDER_VARIABLE = "MEDBENCH_FOLDER"


@register_editor("Folder")
class FolderEditor(ImageEditor):
    """Hands over ``{id}_0.png`` of a folder for each sample.

    Args:
        images: the folder; by default the one named by ``MEDBENCH_FOLDER``.
        replica: which ``_{k}`` is the first; the benchmark scores 0. With ``replicas=n`` the n
            files from it on are handed over, ``{id}_{replica}`` to ``{id}_{replica + n - 1}``.
    """

    deterministic = False
    TAKES_DEMONSTRATIONS: ClassVar[bool | None] = None
    """Not known: whoever made the pictures may have used some."""

    def __init__(
        self, *, name: str = "Folder", images: str | None = None, replica: int = 0, **settings: Any
    ) -> None:
        if replica < 0:
            raise ValueError(f"expected replica >= 0, the k of {{id}}_{{k}}.png, got {replica}")
        super().__init__(name=name, images=images, replica=replica, **settings)
        self._index: FolderIndex | None = None

    def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
        raise TypeError("expected a request with a path; the folder is searched by sample id")

    def edit_request(self, request: EditRequest) -> Image.Image | bytes:
        identifier = self._sample_id(request)
        index = self.index
        if request.replica:
            return self._further(index, identifier, index.replica + request.replica)
        found = index.edits.get(identifier)
        if found is not None:
            return found.path.read_bytes()
        if identifier in index.ambiguous:
            names = ", ".join(index.ambiguous[identifier])
            raise no_image(f"several files for sample {identifier}, none used: {names}")
        raise no_image(f"no image for sample {identifier} in {index.folder.name}")

    def _further(self, index: FolderIndex, identifier: int, number: int) -> bytes:
        found = index.further.get(identifier, {}).get(number)
        if found is None:
            raise no_image(f"no usable {identifier}_{number} in {index.folder.name}")
        return found.path.read_bytes()

    @property
    def index(self) -> FolderIndex:
        """What the folder holds, read once.

        Raises:
            ValueError: no folder was named.
        """
        from ..edits_folder import index_edits_folder

        if self._index is None:
            folder = self.settings["images"] or os.environ.get(FOLDER_VARIABLE)
            if not folder:
                raise ValueError(
                    f"expected a folder of edited images, got none; set {FOLDER_VARIABLE}, or give "
                    '"images" in the model\'s entry of --config'
                )
            self._index = index_edits_folder(
                Path(folder).expanduser(), replica=int(self.settings["replica"])
            )
        return self._index

    def _sample_id(self, request: EditRequest) -> int:
        from ..data import sample_of

        sample = sample_of(request.image_path)
        if sample is not None:
            return sample.id
        if request.image_path.stem.isdigit():
            return int(request.image_path.stem)
        raise no_image(f"cannot tell which sample {request.image_path.name} belongs to")
