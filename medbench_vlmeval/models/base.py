"""`ImageEditor`: what every editing model of the zoo is built on.

A subclass in a file of its own gives `edit` (or `edit_request`) and names itself with
`register_editor`; the base class does the rest: seeds, the store, the travelling line, and the
promise that VLMEvalKit needs, that a model returns a string and never raises.
"""

from __future__ import annotations

import logging
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image
from vlmeval.vlm.base import BaseModel

from .requests import EditRequest, read_message
from .upcoming import Upcoming

if TYPE_CHECKING:
    from ..editing import EditStore, NoImageReturned

# VLMEvalKit imports this module at every start, so whatever only an edit needs is imported by the
# methods that need it.

logger = logging.getLogger(__name__)

__all__ = ["EditRequest", "ImageEditor", "declined", "no_image", "read_message"]

_SEED_RANGE = 2**31


@dataclass(eq=False, repr=False)
class _Job:
    """One edit on its way: what is asked, and the line or the failure it ends in."""

    request: EditRequest
    key: str
    line: str | None = None
    failure: Exception | None = None


class ImageEditor(BaseModel):
    """A model that turns an image and an instruction into an edited image.

    Args:
        name: name in the model zoo, by default the class's; part of the identity of every edit.
        seed: base seed from which each edit's own seed is derived.
        replicas: images made for each sample, each from a seed of its own; the benchmark scores the
            first, and the spread over the others is reported beside it.
        batch_size: edits made in one go where the model can (`edit_requests`); the following
            questions of the data set are taken in, so that the host's one-by-one loop finds them
            done.
        reuse_edits: take an edit that was made before with the same input and settings from the
            store. Switch it off for services whose answers should be drawn anew.
        settings: whatever the subclass needs; recorded with every edit.
    """

    INTERLEAVE = True
    is_api = False
    deterministic = True
    """False when the result depends on something outside the request, e.g. files on disk."""
    TAKES_DEMONSTRATIONS: ClassVar[bool | None] = False
    """Whether it reads `EditRequest.demonstrations`; None where that is not known. A run of the
    in-context data sets names models that do not."""

    def __init__(
        self,
        *,
        name: str = "",
        seed: int = 0,
        replicas: int = 1,
        batch_size: int = 1,
        reuse_edits: bool = True,
        **settings: Any,
    ) -> None:
        super().__init__()
        if replicas < 1 or batch_size < 1:
            raise ValueError(f"expected replicas and batch_size >= 1, got {replicas}, {batch_size}")
        self.name = name or type(self).__name__
        self.seed = seed
        self.replicas = replicas
        self.batch_size = batch_size
        self.reuse_edits = reuse_edits and self.deterministic
        self.settings: Mapping[str, Any] = settings
        self._store: EditStore | None = None
        self._upcoming: Upcoming | None = None
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
        return self.edit(request.image, request.own_instruction, seed=request.seed)

    def edit_requests(
        self, requests: Sequence[EditRequest]
    ) -> Sequence[Image.Image | bytes | Exception]:
        """Several edits in one go, in their order; what fails for one is in its place.

        `NoImageReturned` in a place is an answer without an image, any other exception a failed
        call, which ``--reuse`` asks again.

        One after another here. Override it where a model edits several images at once; it is given
        up to `batch_size` requests, of one size or not.
        """
        from ..editing import NoImageReturned

        results: list[Image.Image | bytes | Exception] = []
        for request in requests:
            try:
                results.append(self.edit_request(request))
            except NoImageReturned as error:
                results.append(error)
        return results

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
        own = self._jobs(message, dataset)
        self._make([job for job in own if job.line is None], message)
        first, *others = own
        if first.line is None:
            raise first.failure or no_image("the editor gave nothing back")
        return self._with_replicas(first.line, others)

    def _jobs(self, message: Any, dataset: str) -> list[_Job]:
        """One job for each replica of a message, finished where the store remembers it."""
        from ..images import read_rgb

        instruction, paths = read_message(message)
        data = [path.read_bytes() for path in paths]
        image = Image.fromarray(read_rgb(data[-1]).pixels)
        jobs = []
        for replica in range(self.replicas):
            seed = self._seed_for(instruction, data, replica)
            request = EditRequest(
                image=image,
                instruction=instruction,
                seed=seed,
                image_path=paths[-1],
                image_bytes=data[-1],
                dataset=dataset,
                earlier_images=tuple(paths[:-1]),
                replica=replica,
            )
            jobs.append(_Job(request, self._key(instruction, data, seed)))
            if self.reuse_edits:
                jobs[-1].line = self.store.recall(jobs[-1].key)
        return jobs

    def _key(self, instruction: str, images: Sequence[bytes], seed: int) -> str:
        from ..editing import edit_key

        return edit_key(
            model=f"{self._identity}:{self.name}",
            settings=self.settings,
            instruction=instruction,
            images=images,
            seed=seed,
        )

    def _make(self, jobs: list[_Job], message: Any) -> None:
        """Edit what is not made yet, and with it as much of what comes next as fits a batch."""
        if not jobs:
            return
        batch = jobs + self._ahead(message, self.batch_size - len(jobs))
        results = self.edit_requests([job.request for job in batch])
        if len(results) != len(batch):
            raise TypeError(f"expected {len(batch)} results of a batch, got {len(results)}")
        for job, result in zip(batch, results, strict=True):
            self._keep(job, result)

    def _ahead(self, message: Any, n_free: int) -> list[_Job]:
        """Jobs of the following questions, which the host has not asked yet."""
        if n_free < 1 or not self.reuse_edits:
            return []
        if self._upcoming is None:
            self._upcoming = Upcoming(getattr(self, "dump_image_func", None))
        found: list[_Job] = []
        for following in self._upcoming.after(message):
            jobs = [job for job in self._jobs(following, self._upcoming.name) if job.line is None]
            if len(found) + len(jobs) > n_free:
                break
            found += jobs
        return found

    def _keep(self, job: _Job, result: Image.Image | bytes | Exception) -> None:
        from ..editing import NoImageReturned

        if isinstance(result, Exception):
            job.failure = result
            return
        try:
            job.line = self._stored_line(result, job.request.seed)
        except NoImageReturned as error:
            job.failure = error
            return
        if self.reuse_edits:
            self.store.remember(job.key, job.line)

    def _with_replicas(self, line: str, others: Sequence[_Job]) -> str:
        from ..editing import with_replicas

        return with_replicas(line, [job.line for job in others]) if others else line

    def _seed_for(self, instruction: str, images: Sequence[bytes], replica: int = 0) -> int:
        from ..files import sha256_bytes

        words = [str(self.seed), instruction, *(sha256_bytes(data) for data in images)]
        words += [f"replica {replica}"] if replica else []
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


def no_image(reason: str) -> NoImageReturned:
    """The exception for a model that answered without an image."""
    from ..editing import NoImageReturned

    return NoImageReturned(reason)


def declined(reason: str) -> NoImageReturned:
    """The exception for a model that refused, with its own words."""
    from ..editing import NoImageReturned
    from ..types import Status

    return NoImageReturned(reason, status=Status.REFUSAL)
