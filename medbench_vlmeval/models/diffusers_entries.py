"""The zoo's known models on pipelines of diffusers: arguments of `DiffusersEditor`, by name.

`InstructPix2Pix` and `Paint-by-Inpaint` have the settings of MedEBench's released code
(mliuby/MedEBench, commit 1e155ffd, src/). That code draws one random integer of 0..9999 for each
image as its seed and does not keep it, so the published pictures cannot be made again bit by bit;
our seeds derive from the input. MedEBench did not run the others: they have the settings of the
example in their model card or in diffusers' documentation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .diffusers_plan import close_matches

_SEEDS = "seeds (random and not stored)"
_NOT_RUN = "everything: not among the published editors of MedEBench"

_INSTRUCT: dict[str, Any] = {
    "pipeline": "StableDiffusionInstructPix2PixPipeline",
    "scheduler": "EulerAncestralDiscreteScheduler",
    "gpu_dtype": "float16",
    # The published input is the picture in its own size; the pipeline itself scales it down to
    # multiples of 8, and the released scoring code scales the result back, as we do here.
    "size_rule": "pipeline",
    "load": {"safety_checker": None, "requires_safety_checker": False},
    "wants_gpu": True,
    "unknown": _SEEDS,
}

ENTRIES: dict[str, dict[str, Any]] = {
    "InstructPix2Pix": {
        **_INSTRUCT,
        "checkpoint": "timbrooks/instruct-pix2pix",
        "call": {"num_inference_steps": 50, "guidance_scale": 7.5, "image_guidance_scale": 1.6},
    },
    "Paint-by-Inpaint": {
        **_INSTRUCT,
        "checkpoint": "paint-by-inpaint/general-base",
        "call": {"num_inference_steps": 50, "guidance_scale": 7.0, "image_guidance_scale": 1.7},
    },
    "SDXL-InstructPix2Pix-768": {
        "pipeline": "StableDiffusionXLInstructPix2PixPipeline",
        "checkpoint": "diffusers/sdxl-instructpix2pix-768",
        "gpu_dtype": "float16",
        "max_side": 768,
        "pass_size": True,
        "call": {"num_inference_steps": 30, "guidance_scale": 3.0, "image_guidance_scale": 1.5},
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
    "FLUX.1-Kontext-dev": {
        "pipeline": "FluxKontextPipeline",
        "checkpoint": "black-forest-labs/FLUX.1-Kontext-dev",
        "gpu_dtype": "bfloat16",
        # It chooses one of its own sizes of about a megapixel, and a square where the shape of the
        # picture is not handed over.
        "size_rule": "pipeline",
        "pass_size": True,
        "call": {"num_inference_steps": 28, "guidance_scale": 2.5},
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
    "FLUX.2-dev": {
        "pipeline": "Flux2Pipeline",
        "checkpoint": "black-forest-labs/FLUX.2-dev",
        "gpu_dtype": "bfloat16",
        # It crops to multiples of 16, so the size is made to fit before.
        "size_multiple": 16,
        "max_side": 1024,
        "call": {"num_inference_steps": 50, "guidance_scale": 2.5},
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
    "FLUX.2-klein-base-9B": {
        "pipeline": "Flux2KleinPipeline",
        "checkpoint": "black-forest-labs/FLUX.2-klein-base-9B",
        "gpu_dtype": "bfloat16",
        "size_multiple": 16,
        "max_side": 1024,
        "call": {"num_inference_steps": 50, "guidance_scale": 4.0},
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
    "Qwen-Image-Edit": {
        "pipeline": "QwenImageEditPipeline",
        "checkpoint": "Qwen/Qwen-Image-Edit",
        "gpu_dtype": "bfloat16",
        "size_rule": "pipeline",
        "call": {"num_inference_steps": 50, "true_cfg_scale": 4.0, "negative_prompt": " "},
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
    "Qwen-Image-Edit-2509": {
        "pipeline": "QwenImageEditPlusPipeline",
        "checkpoint": "Qwen/Qwen-Image-Edit-2509",
        "gpu_dtype": "bfloat16",
        "size_rule": "pipeline",
        "call": {"num_inference_steps": 50, "true_cfg_scale": 4.0, "negative_prompt": " "},
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
    "LongCat-Image-Edit": {
        "pipeline": "LongCatImageEditPipeline",
        "checkpoint": "meituan-longcat/LongCat-Image-Edit",
        "gpu_dtype": "bfloat16",
        "size_rule": "pipeline",
        "generator_device": "cpu",
        "call": {"num_inference_steps": 50, "guidance_scale": 4.5},
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
    "OmniGen-v1": {
        "pipeline": "OmniGenPipeline",
        "checkpoint": "Shitao/OmniGen-v1-diffusers",
        "image_argument": "input_images",
        "image_as_list": True,
        "template": "<img><|image_1|></img> {instruction}",
        "gpu_dtype": "bfloat16",
        # It crops to multiples of 16 and to 1024, so the size is made to fit before.
        "size_multiple": 16,
        "max_side": 1024,
        "call": {
            "num_inference_steps": 50,
            "guidance_scale": 2.5,
            "img_guidance_scale": 1.6,
            "use_input_image_size_as_output": True,
        },
        "wants_gpu": True,
        "unknown": _NOT_RUN,
    },
}


def entry_arguments(name: str) -> Mapping[str, Any]:
    """Arguments of a known model; none for an empty name.

    Raises:
        ValueError: there is no such entry.
    """
    if name and name not in ENTRIES:
        raise ValueError(
            f"expected an entry of {', '.join(sorted(ENTRIES))}, got {name!r}"
            + close_matches(name, ENTRIES)
        )
    return ENTRIES[name] if name else {}
