"""Imagic: a text embedding and a U-Net are fitted to each picture, then moved towards the edit.

The pipeline is the community pipeline ``imagic_stable_diffusion``, fetched and loaded by diffusers.
The settings are those of MedEBench's released code (mliuby/MedEBench, commit 1e155ffd, src/):
Stable Diffusion v1.4, alpha 1.3, guidance 7.5, 50 DDIM steps, training at the pipeline's defaults
(500 steps of the embedding at 1e-3, 1000 of the U-Net at 2e-6), a pipeline loaded anew for each
sample. There the seed 0 governs one draw of the training and the rest is unseeded, so the published
pictures cannot be made again; here everything derives from the request's seed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from PIL import Image

from ..registry import register_editor
from .diffusers_batches import free_memory
from .diffusers_editor import Ask, DiffusersEditor
from .diffusers_loading import LOADING_ERRORS, LoadedPipeline, load_pipeline, warn_about_cpu
from .diffusers_output import pictures
from .diffusers_plan import filled_in
from .diffusers_seeding import seeded
from .diffusers_sizes import Fitted, restore

if TYPE_CHECKING:
    from ..editing import NoImageReturned


@register_editor("Imagic")
class Imagic(DiffusersEditor):
    """Fits a diffusion model to one picture, and edits it by extrapolating the text embedding.

    Args:
        side: side of the square that the model sees, in pixels.
        train: further arguments of the pipeline's ``train``; without any, its defaults, as
            published.
        resize_back: False, as published: the edit is the top left of the square, in the size of the
            picture. That fits a picture that lay there, and three published outputs agree with it
            (the squares that were edited are not released): so a picture is put at the top left of
            a black square, after scaling down where it is larger. True: the picture is scaled to
            the square and the edit back to the picture.
        arguments: see `DiffusersEditor`.

    Notes:
        The community pipeline trains in fp16 and so needs a GPU; nothing is batched.
    """

    DEFAULTS: ClassVar[Mapping[str, Any]] = {
        "pipeline": "ImagicStableDiffusionPipeline",
        "checkpoint": "CompVis/stable-diffusion-v1-4",
        "custom_pipeline": "imagic_stable_diffusion",
        # Picture and words go into training; the call takes neither.
        "image_argument": "",
        "instruction_argument": "",
        "scheduler": "DDIMScheduler",
        "scheduler_fresh": True,
        "scheduler_config": {
            "beta_start": 0.00085,
            "beta_end": 0.012,
            "beta_schedule": "scaled_linear",
            "clip_sample": False,
            "set_alpha_to_one": False,
        },
        "call": {"alpha": 1.3, "guidance_scale": 7.5, "num_inference_steps": 50},
        "load": {"safety_checker": None},
        "batched": False,
        "wants_gpu": True,
        "unknown": "seeds of noise and sampling, the 512 x 512 inputs, the safety checker",
    }
    EXTRA: ClassVar[Mapping[str, Any]] = {"side": 512, "train": {}, "resize_back": False}

    def __init__(self, *, name: str = "Imagic", **arguments: Any) -> None:
        super().__init__(name=name, **arguments)
        self._warned = False
        side, train = self.extra["side"], self.extra["train"]
        if not isinstance(side, int) or side < 32 or side % 32:
            raise ValueError(f"expected side to be a multiple of 32, got {side!r}")
        if not isinstance(train, Mapping):
            raise ValueError(f"expected train to be a mapping of arguments, got {train!r}")

    def prepare(self) -> None:
        """Nothing is kept between samples: training changes the weights."""
        if self._load_failure is not None:
            raise self._load_failure
        if not self._warned:
            warn_about_cpu(self.plan, self.device)
            self._warned = True

    def fitted(self, image: Image.Image) -> Fitted:
        side = int(self.extra["side"])
        square = (side, side)
        if self.extra["resize_back"]:
            return Fitted(image.resize(square, Image.Resampling.LANCZOS), image.size, square)
        scale = min(1.0, side / max(image.size))
        width, height = (max(1, round(length * scale)) for length in image.size)
        scaled = image.resize((width, height), Image.Resampling.LANCZOS) if scale < 1 else image
        canvas = Image.new("RGB", square)
        canvas.paste(scaled, (0, 0))
        return Fitted(canvas, image.size, scaled.size)

    def ask(self, asks: Sequence[Ask]) -> list[Image.Image | NoImageReturned]:
        return [self._trained_and_asked(ask) for ask in asks]

    def _trained_and_asked(self, ask: Ask) -> Image.Image | NoImageReturned:
        from ..editing import NoImageReturned

        loaded = self._load_anew()
        try:
            output = self._output(loaded, ask)
        finally:
            del loaded
            free_memory()
        read = pictures(output, [ask.fitted.image])[0]
        return read if isinstance(read, NoImageReturned) else restore(read, ask.fitted)

    def _output(self, loaded: LoadedPipeline, ask: Ask) -> Any:
        import torch

        device = self.plan.generator_device or loaded.device
        generator = torch.Generator(device=device).manual_seed(ask.seed)
        side = int(self.extra["side"])
        size = {"height": side, "width": side}
        # VLMEvalKit switches gradients off for the whole process.
        with seeded(ask.seed, gradients=True):
            loaded.pipe.train(
                filled_in(self.plan.template, ask.instruction),
                image=ask.fitted.image,
                generator=generator,
                **{**size, **self.extra["train"]},
            )
        with seeded(ask.seed), self.around_call(loaded.pipe):
            call = {"generator": generator, "output_type": "np", **size, **self.plan.call}
            return loaded.pipe(**call)

    def _load_anew(self) -> LoadedPipeline:
        try:
            return load_pipeline(self.plan, device=self.device, dtype=self.dtype)
        except LOADING_ERRORS as error:
            self._load_failure = error
            raise
