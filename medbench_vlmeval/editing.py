"""How an edited image travels from a model to its score.

A model writes the image into a content-addressed store and returns one JSON line that names it; the
dataset copies the image beside the predictions, so that an output folder can be moved, zipped and
scored again. Pictures of other people's runs arrive as plain paths and are read only inside roots
the user allowed.
"""

from __future__ import annotations

import base64
import binascii
import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .files import sha256_bytes, sha256_file, write_bytes_atomic, write_json_atomic
from .parsing import is_api_failure, is_refusal
from .types import Status

STORE_VARIABLE = "MEDBENCH_VLMEVAL_STORE"
ROOTS_VARIABLE = "MEDBENCH_IMAGE_ROOTS"
FAILED_CALL = "Failed to obtain answer via API."
"""The host's text for a failed call: counted as failed, and asked again by ``--reuse``."""

_KEY = "edited_image"
_SUFFIX_BY_FORMAT = {
    "png": ".png", "jpeg": ".jpg", "webp": ".webp", "gif": ".gif", "tiff": ".tif", "bmp": ".bmp",
}  # fmt: skip
_MAGIC = (
    (b"\x89PNG\r\n\x1a\n", "png"),
    (b"\xff\xd8\xff", "jpeg"),
    (b"GIF8", "gif"),
    (b"II*\x00", "tiff"),
    (b"MM\x00*", "tiff"),
    (b"BM", "bmp"),
)
_SHA256 = re.compile(r"[0-9a-f]{64}\Z")
_DATA_URI = re.compile(r"data:image/[\w.+-]{1,40};base64,")
_LONGEST_PATH = 4096


class NoImageReturned(Exception):
    """An editor's model answered without an image.

    Args:
        reason: the model's own words, or what it did instead.
        status: `Status.REFUSAL` when it declined, else `Status.MISSING`.
    """

    def __init__(self, reason: str, *, status: Status = Status.MISSING) -> None:
        super().__init__(reason)
        self.reason = reason
        self.status = status


class EditsLost(RuntimeError):
    """Predictions name edited images whose files are nowhere to be found."""


@dataclass(frozen=True)
class StoredImage:
    """An image in the store: the hash of its bytes, and what kind of file they are."""

    sha256: str
    format: str

    @property
    def file_name(self) -> str:
        return self.sha256 + _SUFFIX_BY_FORMAT[self.format]


@dataclass(frozen=True)
class EditReply:
    """What a prediction cell says: a stored image, a path, image bytes, or why there is none."""

    status: Status
    note: str = ""
    stored: StoredImage | None = None
    path: str | None = None
    data: bytes | None = None
    flags: frozenset[str] = frozenset()


@dataclass(frozen=True)
class EditedImage:
    """One sample's edited image beside the predictions; `path` is None unless status is answer."""

    status: Status
    path: Path | None = None
    sha256: str | None = None
    note: str = ""
    flags: frozenset[str] = frozenset()
    lost: bool = False
    """The prediction names an image, but its bytes are gone."""


def image_format(data: bytes) -> str | None:
    """The format of image bytes by their first bytes, e.g. ``png``; None for anything else."""
    if data[:4] == b"RIFF" and data[8:12] == b"WEBP":
        return "webp"
    return next((name for magic, name in _MAGIC if data.startswith(magic)), None)


class EditStore:
    """Edited images by the SHA-256 of their bytes, and a memory of which input made which image.

    Every write is atomic and names its content, so threads, processes and ranks may share a store.

    Args:
        root: folder of the store, made at the first write.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    @classmethod
    def default(cls) -> EditStore:
        """This user's store: ``$MEDBENCH_VLMEVAL_STORE``, else ``<LMUData>/medbench/edits``."""
        from .data import lmu_root

        configured = os.environ.get(STORE_VARIABLE)
        return cls(
            Path(configured).expanduser() if configured else lmu_root() / "medbench" / "edits"
        )

    def path(self, image: StoredImage) -> Path:
        return self.root / image.sha256[:2] / image.file_name

    def add(self, data: bytes) -> StoredImage:
        """Store image bytes as they are.

        Raises:
            ValueError: the bytes are not an image of a known format.
        """
        kind = image_format(data)
        if kind is None:
            raise ValueError(
                f"expected the bytes of one of {', '.join(sorted(_SUFFIX_BY_FORMAT))}, "
                f"got {len(data)} bytes that start with {data[:8]!r}"
            )
        image = StoredImage(sha256_bytes(data), kind)
        if not self.holds(image):
            write_bytes_atomic(self.path(image), data)
        return image

    def holds(self, image: StoredImage) -> bool:
        """Whether the store has the image, whole."""
        path = self.path(image)
        return path.is_file() and sha256_file(path) == image.sha256

    def remember(self, key: str, line: str) -> None:
        """Keep the reply that editing gave for `key` (see `edit_key`)."""
        write_json_atomic(self._memo(key), {"reply": line})

    def recall(self, key: str) -> str | None:
        """The reply kept for `key`, if its image is still in the store."""
        try:
            line = json.loads(self._memo(key).read_text(encoding="utf-8"))["reply"]
        except (FileNotFoundError, json.JSONDecodeError, KeyError, TypeError):
            return None
        reply = read_edit_reply(line)
        return line if reply.stored is not None and self.holds(reply.stored) else None

    def _memo(self, key: str) -> Path:
        return self.root / "memo" / key[:2] / f"{key}.json"


def edit_key(
    *, model: str, settings: Mapping[str, Any], instruction: str, images: Iterable[bytes], seed: int
) -> str:
    """The identity of one edit: same model, settings, words, input bytes and seed, same key."""
    identity = {
        "model": model,
        "settings": dict(settings),
        "instruction": instruction,
        "images": [sha256_bytes(data) for data in images],
        "seed": seed,
    }
    return sha256_bytes(
        json.dumps(identity, sort_keys=True, default=str).encode("utf-8", "replace")
    )


def edited_image_line(
    image: StoredImage, *, size_wh: tuple[int, int], seed: int | None = None, settings: str = ""
) -> str:
    """The one JSON line by which a model hands over a stored image.

    It starts with ``{`` and holds neither line break nor URL, so it survives cells of every format.
    """
    fields: dict[str, Any] = {"format": image.format, "sha256": image.sha256, "size": list(size_wh)}
    if seed is not None:
        fields["seed"] = seed
    if settings:
        fields["settings"] = settings
    return json.dumps({_KEY: fields})


def no_image_line(status: Status, reason: str) -> str:
    """The one JSON line for "the model gave no image", with the model's own words."""
    return json.dumps({_KEY: None, "status": str(status), "reason": reason[:2000]})


def failed_call_line(reason: str) -> str:
    """The text for "the call failed", which the host counts and asks again with ``--reuse``."""
    return f"{FAILED_CALL} {' '.join(reason.split())[:500]}"


def read_edit_reply(prediction: object) -> EditReply:
    """Read a prediction cell of an editing benchmark.

    Accepts our JSON line, a plain path, a ``data:`` URI, and lists of these (the first one counts,
    flagged ``several_images``). Anything else is a reply without an image.
    """
    if prediction is None or not isinstance(prediction, str) or not prediction.strip():
        return EditReply(Status.MISSING, "empty prediction")
    text = prediction.strip()
    if is_api_failure(text):
        return EditReply(Status.API_FAIL, _excerpt(text))
    if text[0] in "{[" and len(text) <= 1 << 20:
        return _read_json_reply(text)
    if _DATA_URI.match(text):
        return _read_data_uri(text)
    if _looks_like_path(text):
        return EditReply(Status.ANSWER, path=text)
    status = Status.REFUSAL if is_refusal(text) else Status.MISSING
    return EditReply(status, f"text instead of an image: {_excerpt(text)}")


def _read_json_reply(text: str) -> EditReply:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError):
        return EditReply(Status.MISSING, f"text instead of an image: {_excerpt(text)}")
    if isinstance(value, list) and value and all(isinstance(item, (str, dict)) for item in value):
        first = value[0] if isinstance(value[0], str) else json.dumps(value[0])
        reply = read_edit_reply(first)
        if len(value) == 1 or reply.status is not Status.ANSWER:
            return reply
        flags = reply.flags | {"several_images"}
        return EditReply(reply.status, reply.note, reply.stored, reply.path, reply.data, flags)
    if isinstance(value, dict) and _KEY in value:
        return _read_line(value)
    return EditReply(Status.MISSING, f"JSON without {_KEY!r}: {_excerpt(text)}")


def _read_line(line: Mapping[str, Any]) -> EditReply:
    fields = line[_KEY]
    if isinstance(fields, str):
        return read_edit_reply(fields)
    if isinstance(fields, dict):
        sha256, kind = fields.get("sha256"), fields.get("format")
        if isinstance(sha256, str) and _SHA256.match(sha256) and kind in _SUFFIX_BY_FORMAT:
            return EditReply(Status.ANSWER, stored=StoredImage(sha256, kind))
        return EditReply(Status.MISSING, "an edited_image entry without a valid sha256 and format")
    reason = str(line.get("reason", "the model returned no image"))
    declined = line.get("status") == str(Status.REFUSAL)
    return EditReply(Status.REFUSAL if declined else Status.MISSING, _excerpt(reason))


def _read_data_uri(text: str) -> EditReply:
    try:
        data = base64.b64decode(text.split(",", 1)[1], validate=True)
    except (binascii.Error, ValueError):
        return EditReply(Status.TRUNCATED, "a data: URI that is cut or damaged")
    if image_format(data) is None:
        return EditReply(Status.MISSING, "a data: URI that holds no image")
    return EditReply(Status.ANSWER, data=data)


def _looks_like_path(text: str) -> bool:
    if len(text) > _LONGEST_PATH or "\n" in text or "\x00" in text or "://" in text:
        return False
    return Path(text).suffix.lower() in {
        ".png",
        ".jpg",
        ".jpeg",
        ".webp",
        ".gif",
        ".tif",
        ".tiff",
        ".bmp",
    }


def _excerpt(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= 200 else words[:199] + "…"


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

    def _collect_stored(self, reply: EditReply) -> EditedImage:
        image = reply.stored
        if image is None:
            raise TypeError("expected a reply with a stored image")
        here = self.folder / image.file_name
        for source in (here, self.store.path(image), *self._sibling_files(image)):
            if source.is_file() and sha256_file(source) == image.sha256:
                if source != here:
                    _link_or_copy(source, here)
                return EditedImage(Status.ANSWER, here, image.sha256, flags=reply.flags)
        note = (
            f"image {image.sha256[:12]}… is neither beside the predictions nor in {self.store.root}"
        )
        return EditedImage(
            Status.MISSING, sha256=image.sha256, note=note, flags=reply.flags, lost=True
        )

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
