"""Bringing the images that predictions name to the folder beside them."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from ..files import sha256_bytes, sha256_file, write_bytes_atomic, write_text_atomic
from ..types import Status
from .replies import EditReply, read_edit_reply
from .store import EditStore
from .stored import StoredImage, image_format

ROOTS_VARIABLE = "MEDBENCH_IMAGE_ROOTS"
INDEX_NAME = "index.csv"
INDEX_COLUMNS = ("id", "replica", "file", "seed", "settings")


class EditsLost(RuntimeError):
    """Predictions name edited images whose files are nowhere to be found."""


@dataclass(frozen=True)
class EditedImage:
    """One sample's edited image beside the predictions; `path` is None unless status is answer."""

    status: Status
    path: Path | None = None
    sha256: str | None = None
    note: str = ""
    flags: frozenset[str] = frozenset()
    seed: int | None = None
    settings: str = ""
    lost: bool = False
    """The prediction names an image, or a replica of it, but the bytes are gone."""
    replicas: tuple[Path | None, ...] = ()
    """Further images of the same edit, beside the predictions; None where there is none."""
    replica_seeds: tuple[int | None, ...] = ()
    """The seeds of `replicas`, in their order."""


def allowed_roots(predictions: Path) -> tuple[Path, ...]:
    """Folders that a path in a prediction may point into.

    The folder of the predictions, the folders named by ``MEDBENCH_IMAGE_ROOTS`` (separated as in
    ``PATH``), and where VLMEvalKit's own BAGEL wrapper saves its images.
    """
    configured = [part for part in os.environ.get(ROOTS_VARIABLE, "").split(os.pathsep) if part]
    bagel = os.environ.get("BAGEL_OUT_IMG_DIR", "output_image")
    return tuple(
        Path(part).expanduser().resolve() for part in (str(predictions.parent), *configured, bagel)
    )


def resolve_inside(text: str, roots: Iterable[Path]) -> Path:
    """The file that a path of a prediction means, if it lies inside one of `roots`.

    Relative paths are tried against each root and the current directory.

    Raises:
        PermissionError: the path climbs with ``..``, or its real place (symbolic links followed) is
            outside every root.
        FileNotFoundError: no such file.
    """
    roots = tuple(root.resolve() for root in roots)
    path = Path(text).expanduser()
    if ".." in path.parts:
        raise PermissionError(f"expected a path without '..', got {text!r}")
    candidates = (
        [path] if path.is_absolute() else [*(root / path for root in roots), Path.cwd() / path]
    )
    existing = [candidate.resolve() for candidate in candidates if candidate.is_file()]
    for real in existing:
        if any(real.is_relative_to(root) for root in roots):
            return real
    if existing:
        raise PermissionError(
            f"expected a file inside an allowed folder, got {text!r}; "
            f"add its folder to {ROOTS_VARIABLE} if you trust it"
        )
    raise FileNotFoundError(f"no such file: {text!r}")


def images_folder(predictions: Path) -> Path:
    """Where the edited images of a prediction file lie: ``<stem>_images`` beside it."""
    return predictions.with_name(f"{predictions.stem}_images")


class EditCollector:
    """Brings the images that predictions name to the folder beside them.

    Args:
        predictions: the prediction file; it is never written to.
        store: where the models of this machine put their images.
    """

    def __init__(self, predictions: Path, store: EditStore) -> None:
        self.predictions = predictions
        self.store = store
        self.folder = images_folder(predictions)
        self._roots = allowed_roots(predictions)
        self._siblings: list[Path] | None = None

    def collect(self, prediction: object) -> EditedImage:
        """The image that one prediction cell names, copied beside the predictions and verified."""
        reply = read_edit_reply(prediction)
        if reply.stored is not None:
            return self._collect_stored(reply)
        if reply.path is not None:
            return self._collect_path(reply)
        if reply.data is not None:
            return self.keep(reply.data, reply.flags)
        return EditedImage(reply.status, note=reply.note, flags=reply.flags)

    def write_index(self, edits: Iterable[tuple[object, EditedImage]]) -> Path | None:
        """Say in ``index.csv`` which file is the image of which sample and seed.

        The files are named by their content; who looks for ``{id}_{k}`` finds it by the columns
        `INDEX_COLUMNS`. Replica 0 is the image that is scored.

        Args:
            edits: the index of a sample, and what `collect` gave for it.

        Returns:
            The file; None where no image was ever brought here.
        """
        rows = [row for identifier, edited in edits for row in _index_rows(identifier, edited)]
        if not rows and not self.folder.is_dir():
            return None
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(INDEX_COLUMNS)
        writer.writerows(rows)
        return write_text_atomic(self.folder / INDEX_NAME, stream.getvalue())

    def _collect_stored(self, reply: EditReply) -> EditedImage:
        image = reply.stored
        if image is None:
            raise TypeError("expected a reply with a stored image")
        path = self._bring(image)
        if path is None:
            note = (
                f"image {image.sha256[:12]}… is neither beside the predictions nor in "
                f"{self.store.root}"
            )
            return EditedImage(
                Status.MISSING, sha256=image.sha256, note=note, flags=reply.flags, lost=True
            )
        brought = [None if it.stored is None else self._bring(it.stored) for it in reply.replicas]
        n_named = sum(1 for it in reply.replicas if it.stored is not None)
        n_gone = n_named - sum(1 for it in brought if it is not None)
        return EditedImage(
            Status.ANSWER,
            path,
            image.sha256,
            note=f"{n_gone} of {n_named} further images are gone" if n_gone else "",
            flags=reply.flags,
            seed=reply.seed,
            settings=reply.settings,
            lost=n_gone > 0,
            replicas=tuple(brought),
            replica_seeds=tuple(it.seed for it in reply.replicas),
        )

    def _bring(self, image: StoredImage) -> Path | None:
        """The image beside the predictions, verified; None when its bytes are nowhere."""
        here = self.folder / image.file_name
        for source in (here, self.store.path(image), *self._sibling_files(image)):
            if source.is_file() and sha256_file(source) == image.sha256:
                if source != here:
                    _link_or_copy(source, here)
                return here
        return None

    def _sibling_files(self, image: StoredImage) -> list[Path]:
        # `--reuse` copies the prediction file into a new run folder, but no folders.
        if self._siblings is None:
            parent = self.predictions.resolve().parent.parent
            self._siblings = sorted(parent.glob(f"*/{_glob_escaped(self.folder.name)}"))
        return [folder / image.file_name for folder in self._siblings]

    def _collect_path(self, reply: EditReply) -> EditedImage:
        try:
            data = resolve_inside(reply.path or "", self._roots).read_bytes()
        except (PermissionError, FileNotFoundError, OSError) as error:
            return EditedImage(Status.MISSING, note=str(error), flags=reply.flags)
        return self.keep(data, reply.flags)

    def keep(self, data: bytes, flags: frozenset[str] = frozenset()) -> EditedImage:
        """Put image bytes beside the predictions under their hash."""
        kind = image_format(data)
        if kind is None:
            return EditedImage(Status.MISSING, note="the file is not an image", flags=flags)
        image = StoredImage(sha256_bytes(data), kind)
        here = self.folder / image.file_name
        if not (here.is_file() and sha256_file(here) == image.sha256):
            write_bytes_atomic(here, data)
        return EditedImage(Status.ANSWER, here, image.sha256, flags=flags)


def _index_rows(identifier: object, edited: EditedImage) -> Iterator[tuple[object, ...]]:
    paths = (edited.path, *edited.replicas)
    seeds = (edited.seed, *edited.replica_seeds)
    for replica, (path, seed) in enumerate(zip(paths, seeds, strict=True)):
        if path is not None:
            shown_seed = "" if seed is None else seed
            yield identifier, replica, path.name, shown_seed, edited.settings


def _glob_escaped(name: str) -> str:
    return re.sub(r"([*?[])", r"[\1]", name)


def _link_or_copy(source: Path, target: Path) -> None:
    # Store and outputs usually share a disk; a hard link then costs no space and survives the
    # store's deletion. The bytes are verified by hash on every read, so sharing them is safe.
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    try:
        os.link(source, target)
    except FileExistsError:
        return
    except OSError:
        write_bytes_atomic(target, source.read_bytes())
