"""`DiffusersEditor`: any image-editing pipeline of diffusers, by one entry of the model zoo."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from .base import EditRequest, ImageEditor, no_image
from .diffusers_asks import Ask, Outcome, RequestKey, is_failure, placeable, request_key
from .diffusers_batches import Batches
from .diffusers_entries import entry_arguments
from .diffusers_loading import (
    LOADING_ERRORS,
    LoadedPipeline,
    load_pipeline,
    resolved_device,
    resolved_dtype,
    warn_about_cpu,
)
from .diffusers_output import NAN, pictures
from .diffusers_plan import (
    BATCHING_PIPELINES,
    PLAN_FIELDS,
    filled_in,
    merged,
    read_plan,
)
from .diffusers_seeding import seeded
from .diffusers_sizes import Fitted, fit, restore

if TYPE_CHECKING:
    from ..editing import NoImageReturned

logger = logging.getLogger(__name__)

HOST_ARGUMENTS = ("retry", "verbose", "stream")
"""What VLMEvalKit's command line adds to every entry."""


class DiffusersEditor(ImageEditor):
    """An editor on a pipeline of diffusers, which is loaded once, at the first edit.

    Args:
        name: name in the model zoo.
        entry: name of a known model whose arguments are taken where none are given here; ``call``,
            ``load`` and ``scheduler_config`` are merged by key.
        seed, replicas, batch_size, reuse_edits: see `ImageEditor`.
        arguments: fields of `PipelinePlan`; all are recorded with every edit, and so are the device
            and the dtype that were used.

    Raises:
        ValueError: an argument is unknown or out of range.

    Notes:
        Every request has a generator of its own, so an edit does not depend on the batch it was in
        beyond the last bit of floating-point sums. Published runs of these models drew their seeds
        at random and did not keep them; ours derive from the input.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {}
    """Arguments of a subclass where neither an entry nor the user gives them."""
    EXTRA: ClassVar[Mapping[str, Any]] = {}
    """Arguments of a subclass that are no fields of `PipelinePlan`, with their defaults."""

    def __init__(
        self,
        *,
        name: str = "",
        entry: str = "",
        seed: int = 0,
        replicas: int = 1,
        batch_size: int = 1,
        reuse_edits: bool = True,
        **arguments: Any,
    ) -> None:
        for unused in HOST_ARGUMENTS:
            arguments.pop(unused, None)
        self.extra = {key: arguments.pop(key, value) for key, value in self.EXTRA.items()}
        given = merged(self.DEFAULTS, entry_arguments(entry), arguments)
        self.plan = read_plan(given, known=(*self.EXTRA, "entry", "batch_size", "replicas"))
        self.device = resolved_device(self.plan)
        self.dtype = resolved_dtype(self.plan, self.device)
        recorded = {field: getattr(self.plan, field) for field in PLAN_FIELDS}
        # The kind of device is part of what made an image, its number is not.
        recorded |= {**self.extra, "device": self.device.partition(":")[0], "dtype": self.dtype}
        super().__init__(
            name=name or entry,
            seed=seed,
            replicas=replicas,
            batch_size=batch_size if self._batched else 1,
            reuse_edits=reuse_edits,
            **recorded,
        )
        if batch_size > 1 and not self._batched:
            logger.warning(
                '%s edits one image at a time; batch_size %d is ignored ("batched": true says that '
                "lists of images are a batch for it)",
                self.plan.pipeline,
                batch_size,
            )
        self._batches = Batches(self.batch_size)
        self._loaded: LoadedPipeline | None = None
        self._load_failure: Exception | None = None
        self._spare: dict[RequestKey, Image.Image] = {}
        # With --api-mode VLMEvalKit calls a local model from many threads at once.
        self._lock = threading.RLock()
        # What is entered, with the pipeline, around each call that edits: for who wants to watch.
        self.around_call: Callable[[Any], AbstractContextManager[Any]] = nullcontext

    @property
    def _batched(self) -> bool:
        if self.plan.batched is not None:
            return self.plan.batched
        return self.plan.pipeline in BATCHING_PIPELINES and not self.plan.custom_pipeline

    def edit(self, image: Image.Image, instruction: str, *, seed: int) -> Image.Image:
        outcome = self._outcomes([Ask(self.fitted(image), instruction, seed)])[0]
        if isinstance(outcome, Exception):
            raise outcome
        return outcome

    def edit_requests(
        self, requests: Sequence[EditRequest]
    ) -> list[Image.Image | bytes | NoImageReturned]:
        with self._lock:
            return self._edited(requests)

    def _edited(
        self, requests: Sequence[EditRequest]
    ) -> list[Image.Image | bytes | NoImageReturned]:
        found: dict[RequestKey, Outcome] = {}
        for key in map(request_key, requests):
            if key in self._spare:
                found[key] = self._spare.pop(key)
        missing = [it for it in requests if request_key(it) not in found]
        asks = [Ask(self.fitted(it.image), it.own_instruction, it.seed) for it in missing]
        found.update(zip(map(request_key, missing), self._outcomes(asks), strict=True))
        for request in requests[:1]:
            first = found[request_key(request)]
            if request.replica == 0 and isinstance(first, Exception) and is_failure(first):
                # The failure is that of the question asked; what the others gave waits for theirs.
                if self.reuse_edits:
                    images = {key: it for key, it in found.items() if isinstance(it, Image.Image)}
                    self._spare.update(images)
                raise first
        return [placeable(found[request_key(request)]) for request in requests]

    def _outcomes(self, asks: Sequence[Ask]) -> list[Outcome]:
        """What became of each, batches being made of pictures of one size."""
        if not asks:
            return []
        with self._lock:
            self.prepare()
            outcomes: dict[int, Outcome] = {}
            by_size: dict[tuple[int, int], list[int]] = {}
            for position, ask in enumerate(asks):
                by_size.setdefault(ask.fitted.image.size, []).append(position)
            for positions in by_size.values():
                made = self._batches.run([asks[it] for it in positions], self.ask)
                outcomes.update(zip(positions, made, strict=True))
            return [outcomes[position] for position in range(len(asks))]

    def prepare(self) -> None:
        """Load what edits need; once, and once in vain."""
        _ = self.loaded

    @property
    def loaded(self) -> LoadedPipeline:
        """The pipeline.

        Raises:
            Exception: see `load_pipeline`; raised again without another try.
        """
        if self._load_failure is not None:
            raise self._load_failure
        if self._loaded is None:
            warn_about_cpu(self.plan, self.device)
            try:
                self._loaded = load_pipeline(self.plan, device=self.device, dtype=self.dtype)
            except LOADING_ERRORS as error:
                self._load_failure = error
                raise
            if not self._loaded.takes("generator"):
                logger.warning(
                    "%s takes no generator: one edit at a time, from the global seed",
                    self.plan.pipeline,
                )
                self._batches.size = 1
        return self._loaded

    def ask(self, asks: Sequence[Ask]) -> list[Image.Image | NoImageReturned]:
        """Edits of one size in one call of the pipeline."""
        from ..editing import NoImageReturned

        arguments, pipe = self.arguments(asks), self.loaded.pipe
        with seeded(asks[0].seed), self.around_call(pipe), warnings.catch_warnings():
            warnings.filterwarnings("error", "invalid value encountered in cast", RuntimeWarning)
            try:
                output = pipe(**arguments)
            except RuntimeWarning:
                if len(asks) > 1:
                    raise
                return [no_image(NAN)]
        read = pictures(output, [ask.fitted.image for ask in asks])
        return [
            it if isinstance(it, NoImageReturned) else self.finished(it, ask.fitted)
            for it, ask in zip(read, asks, strict=True)
        ]

    def arguments(self, asks: Sequence[Ask]) -> dict[str, Any]:
        """The arguments of the call; single values for one edit, lists for several."""
        plan, loaded = self.plan, self.loaded
        images: list[Any] = [ask.fitted.image for ask in asks]
        if plan.image_as_list:
            images = [[image] for image in images]
        named: dict[str, list[Any]] = {
            plan.instruction_argument: [filled_in(plan.template, it.instruction) for it in asks],
            plan.image_argument: images,
        }
        if loaded.takes("generator"):
            named["generator"] = [self.generator(ask.seed) for ask in asks]
        arguments = {key: it[0] if len(asks) == 1 else it for key, it in named.items()}
        if loaded.takes("output_type"):
            arguments["output_type"] = "np"
        if plan.pass_size:
            width, height = asks[0].fitted.image.size
            arguments |= {"height": height, "width": width}
        return {**arguments, **plan.call}

    def generator(self, seed: int) -> Any:
        """A generator of its own for one edit."""
        import torch

        device = self.plan.generator_device or self.loaded.device
        return torch.Generator(device=device).manual_seed(seed)

    def fitted(self, image: Image.Image) -> Fitted:
        """The picture in a size for the pipeline."""
        plan = self.plan
        return fit(image, rule=plan.size_rule, multiple=plan.size_multiple, max_side=plan.max_side)

    def finished(self, edited: Image.Image, fitted: Fitted) -> Image.Image:
        """The edit in the size of the picture."""
        return restore(edited, fitted)
