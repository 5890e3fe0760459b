"""What a diffusers editor is told: one plan, checked when the model is built, recorded whole."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from .diffusers_sizes import SIZE_RULES

DTYPES = ("auto", "float32", "float16", "bfloat16")
OFFLOADS = ("", "model", "sequential")
_PLACE = "{instruction}"


@dataclass(frozen=True, eq=False)
class PipelinePlan:
    """Which pipeline, which weights, and how one edit is asked of it."""

    pipeline: str
    """Class name in diffusers."""
    checkpoint: str
    """Repository on the Hugging Face Hub, or a local folder written by ``save_pretrained``."""
    revision: str | None = None
    """Branch, tag or commit on the Hub."""
    checkpoint_class: str = ""
    """The class that the checkpoint declares, where it is meant to be another than `pipeline`."""
    custom_pipeline: str = ""
    """Community pipeline by its name, or a local folder or .py file that holds one."""
    image_argument: str = "image"
    instruction_argument: str = "prompt"
    template: str = _PLACE
    """What the model reads; ``{instruction}`` is replaced once, nothing else is."""
    image_as_list: bool = False
    """The pipeline takes a list of input images for each prompt."""
    pass_size: bool = False
    """Hand ``height`` and ``width`` over, for pipelines that otherwise answer in a square."""
    call: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of the call: steps, guidance."""
    dtype: str = "auto"
    """``auto``: `gpu_dtype` on a GPU, float32 on the CPU."""
    gpu_dtype: str = "float32"
    device: str | None = None
    """None: the current CUDA device where there is one, else the CPU."""
    device_map: str | None = None
    """As ``from_pretrained`` takes it, e.g. ``balanced``; the pipeline then is not moved."""
    offload: str = ""
    """``model`` or ``sequential``: parts wait on the CPU until they are needed."""
    generator_device: str = ""
    """Where noise is drawn; empty: on the device that computes. ``cpu`` is the same everywhere."""
    scheduler: str = ""
    """Class name in diffusers; empty: the checkpoint's own."""
    scheduler_config: Mapping[str, Any] = field(default_factory=dict)
    scheduler_fresh: bool = False
    """Build the scheduler from `scheduler_config` alone, without the checkpoint's settings."""
    loras: tuple[Any, ...] = ()
    """Repositories or paths; or mappings with ``checkpoint`` and ``weight_name``, ``scale``."""
    max_side: int | None = None
    size_multiple: int = 8
    size_rule: str = "resize"
    """``pipeline``, ``resize`` or ``pad``, see `diffusers_sizes.fit`."""
    batched: bool | None = None
    """Lists of images and prompts are a batch; None: where the class is known to work so."""
    load: Mapping[str, Any] = field(default_factory=dict)
    """Further arguments of ``from_pretrained``."""
    wants_gpu: bool = False
    unknown: str = ""
    """What the publication leaves open; recorded, never used."""
    note: str = ""


# A pipeline that takes several images as references of one edit would mix the samples of a batch,
# so only these are given lists without being told to.
BATCHING_PIPELINES = frozenset(
    {
        "FluxFillPipeline",
        "FluxImg2ImgPipeline",
        "FluxKontextPipeline",
        "StableDiffusion3Img2ImgPipeline",
        "StableDiffusionImg2ImgPipeline",
        "StableDiffusionInstructPix2PixPipeline",
        "StableDiffusionXLImg2ImgPipeline",
        "StableDiffusionXLInstructPix2PixPipeline",
    }
)

PLAN_FIELDS = tuple(it.name for it in dataclasses.fields(PipelinePlan))


def merged(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Arguments of an entry with later ones on top; ``call`` and ``load`` are merged by key."""
    result: dict[str, Any] = {}
    for layer in layers:
        for key, value in layer.items():
            both = isinstance(value, Mapping) and isinstance(result.get(key), Mapping)
            together = both and key in ("call", "load", "scheduler_config")
            result[key] = {**result[key], **value} if together else value
    return result


def read_plan(arguments: Mapping[str, Any], *, known: tuple[str, ...] = ()) -> PipelinePlan:
    """The plan that arguments of an entry give.

    Args:
        arguments: fields of `PipelinePlan`.
        known: what else the editor takes, named in the error about a misspelled argument.

    Raises:
        ValueError: an argument is unknown, missing or out of range.
    """
    for key in arguments:
        if key not in PLAN_FIELDS:
            raise ValueError(
                f"expected arguments of a diffusers editor, got {key!r}"
                + close_matches(key, (*PLAN_FIELDS, *known))
            )
    missing = [name for name in ("pipeline", "checkpoint") if not arguments.get(name)]
    if missing:
        raise ValueError(
            f"expected {' and '.join(missing)}, got none; give them, or name one of the known "
            'models with "entry"'
        )
    values = dict(arguments)
    loras = values.get("loras", ())
    values["loras"] = (loras,) if isinstance(loras, (str, Mapping)) else tuple(loras or ())
    for name in ("call", "load", "scheduler_config"):
        values[name] = dict(_mapping(name, values.get(name)))
    plan = PipelinePlan(**values)
    _check_choices(plan)
    return plan


def filled_in(template: str, instruction: str) -> str:
    """The template with the instruction in its place; braces of an instruction stay as they are."""
    before, _, after = template.partition(_PLACE)
    return f"{before}{instruction}{after}"


def close_matches(name: str, names: Any) -> str:
    """``; did you mean ...?``, or nothing."""
    found = get_close_matches(name, list(names), n=3, cutoff=0.6)
    return f"; did you mean {' or '.join(found)}?" if found else ""


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise ValueError(f"expected {name} to be a mapping of arguments, got {value!r}")
    return value


def _check_choices(plan: PipelinePlan) -> None:
    for name, value, allowed in (
        ("dtype", plan.dtype, DTYPES),
        ("gpu_dtype", plan.gpu_dtype, DTYPES[1:]),
        ("size_rule", plan.size_rule, SIZE_RULES),
        ("offload", plan.offload, OFFLOADS),
    ):
        if value not in allowed:
            raise ValueError(f"expected {name} to be one of {', '.join(allowed)}, got {value!r}")
    if _PLACE not in plan.template:
        raise ValueError(f"expected a template with {_PLACE}, got {plan.template!r}")
    if plan.size_multiple < 1 or (plan.max_side is not None and plan.max_side < 1):
        raise ValueError(
            f"expected size_multiple and max_side >= 1, got {plan.size_multiple}, {plan.max_side}"
        )
