"""Brings a pipeline into memory as its plan says, and says what to do where that fails."""

from __future__ import annotations

import inspect
import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .diffusers_batches import is_out_of_memory
from .diffusers_checkpoint import check_checkpoint, location, unavailable
from .diffusers_plan import PipelinePlan, close_matches

logger = logging.getLogger(__name__)

LOADING_ERRORS = (ImportError, MemoryError, OSError, ValueError)
"""What another try would not mend: raised again for every edit, without one."""

PIP_LINE = 'pip install "medbench-vlmeval[diffusers]"'


@dataclass(frozen=True, eq=False)
class LoadedPipeline:
    """A pipeline in place."""

    pipe: Any
    device: Any
    """The torch device that computes."""
    parameters: frozenset[str] | None
    """What its call takes; None when it takes any name."""

    def takes(self, name: str) -> bool:
        return self.parameters is None or name in self.parameters


def resolved_device(plan: PipelinePlan) -> str:
    """Where the pipeline goes.

    VLMEvalKit shows each rank of torchrun its own GPUs or makes one the current device, so ``cuda``
    without a number is right in both, and a number from ``LOCAL_RANK`` would be wrong.
    """
    if plan.device:
        return plan.device
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def resolved_dtype(plan: PipelinePlan, device: str) -> str:
    """Name of the torch dtype that the weights are loaded in."""
    if plan.dtype != "auto":
        return plan.dtype
    return "float32" if device.startswith("cpu") else plan.gpu_dtype


def load_pipeline(plan: PipelinePlan, *, device: str, dtype: str) -> LoadedPipeline:
    """The pipeline with its weights, scheduler and LoRAs, on its device.

    Raises:
        ImportError: diffusers, or something a pipeline needs, is not installed.
        ValueError: there is no such class or argument, or the checkpoint is of another class.
        OSError: the checkpoint cannot be had.
        MemoryError: it does not fit.
    """
    diffusers = import_diffusers()
    cls = _class_of(diffusers, "DiffusionPipeline" if plan.custom_pipeline else plan.pipeline)
    check_checkpoint(diffusers, plan)
    pipe = _from_pretrained(diffusers, cls, plan, dtype)
    _set_scheduler(diffusers, pipe, plan)
    _add_loras(pipe, plan)
    try:
        _place(pipe, plan, device)
    except RuntimeError as error:
        if not is_out_of_memory(error):
            raise
        raise MemoryError(
            f"expected room for the weights of {plan.checkpoint} in {dtype} on {device}, got too "
            'little; give "offload": "model", "device_map": "balanced" or a smaller gpu_dtype '
            f"[{error}]"
        ) from error
    if hasattr(pipe, "set_progress_bar_config"):
        pipe.set_progress_bar_config(disable=True)
    return _checked_call(pipe, plan, device)


def warn_about_cpu(plan: PipelinePlan, device: str) -> None:
    """Say that a model that is meant for a GPU has none; it runs all the same."""
    if plan.wants_gpu and device.startswith("cpu"):
        logger.warning(
            "%s runs on the CPU, where one edit may take minutes; it is meant for a GPU",
            plan.checkpoint,
        )


def import_diffusers() -> Any:
    """The diffusers package.

    Raises:
        ImportError: it is missing, or what it needs is.
    """
    try:
        import diffusers
    except ImportError as error:
        raise ImportError(
            f"expected the package diffusers, got {type(error).__name__}: {error}; {PIP_LINE}"
        ) from error
    return diffusers


def _class_of(diffusers: Any, name: str) -> Any:
    names = dir(diffusers)
    if name not in names:
        raise ValueError(
            f"expected a class of diffusers, got {name!r}, which diffusers "
            f"{diffusers.__version__} does not have; a newer diffusers may: pip install -U "
            f"diffusers{close_matches(name, names)}"
        )
    return getattr(diffusers, name)


def _from_pretrained(diffusers: Any, cls: Any, plan: PipelinePlan, dtype: str) -> Any:
    import torch

    arguments: dict[str, Any] = {_dtype_argument(diffusers): getattr(torch, dtype), **plan.load}
    if plan.revision is not None:
        arguments["revision"] = plan.revision
    if plan.device_map is not None:
        arguments["device_map"] = plan.device_map
    if plan.custom_pipeline:
        local = Path(plan.custom_pipeline).expanduser()
        arguments["custom_pipeline"] = str(local) if local.exists() else plan.custom_pipeline
        if local.exists():
            # Naming a file of one's own is the trust that diffusers asks for.
            arguments["trust_remote_code"] = True
    try:
        # Weights made in inference mode could never be trained.
        with torch.inference_mode(False):
            return cls.from_pretrained(location(plan), **arguments)
    except OSError as error:
        raise unavailable(plan, error) from error


def _dtype_argument(diffusers: Any) -> str:
    # Renamed in the course of 0.4x; an unknown name would be ignored with a warning only.
    renamed = hasattr(diffusers.utils, "_resolve_dtype")
    return "dtype" if renamed else "torch_dtype"


def _set_scheduler(diffusers: Any, pipe: Any, plan: PipelinePlan) -> None:
    if not plan.scheduler:
        return
    scheduler = _class_of(diffusers, plan.scheduler)
    base = {} if plan.scheduler_fresh else pipe.scheduler.config
    pipe.scheduler = scheduler.from_config(base, **plan.scheduler_config)


def _add_loras(pipe: Any, plan: PipelinePlan) -> None:
    names, scales = [], []
    for number, lora in enumerate(plan.loras):
        options = dict(lora) if isinstance(lora, dict) else {"checkpoint": lora}
        where = str(options.pop("checkpoint"))
        names.append(f"lora{number}")
        scales.append(float(options.pop("scale", 1.0)))
        try:
            pipe.load_lora_weights(where, adapter_name=names[-1], **options)
        except (OSError, ValueError) as error:
            raise _lora_error(where, error) from error
    if names:
        pipe.set_adapters(names, adapter_weights=scales)


def _lora_error(where: str, error: Exception) -> Exception:
    if "PEFT" in str(error):
        return ImportError(f"expected the package peft for LoRAs, got none; {PIP_LINE}")
    return OSError(
        f"expected the LoRA {where}, got none that can be loaded; download it with `hf download "
        f'{where}` and name the file: {{"checkpoint": "<folder>", "weight_name": "<file>"}} '
        f"[{type(error).__name__}: {error}]"
    )


def _place(pipe: Any, plan: PipelinePlan, device: str) -> None:
    if plan.offload == "model":
        pipe.enable_model_cpu_offload(device=device)
    elif plan.offload == "sequential":
        pipe.enable_sequential_cpu_offload(device=device)
    elif plan.device_map is None:
        pipe.to(device)


def _checked_call(pipe: Any, plan: PipelinePlan, device: str) -> LoadedPipeline:
    import torch

    found = inspect.signature(type(pipe).__call__).parameters
    names = frozenset(found) - {"self"}
    # Pipelines of diffusers take **kwargs for names of old, and ignore every other one in silence.
    anything = any(it.kind is it.VAR_KEYWORD for it in found.values()) and plan.custom_pipeline
    for name in (plan.image_argument, plan.instruction_argument, *plan.call):
        if name and name not in names and not anything:
            raise ValueError(
                f"expected arguments of {type(pipe).__name__}, got {name!r}"
                + (close_matches(name, names) or f"; it takes {', '.join(sorted(names))}")
            )
    execution = getattr(pipe, "_execution_device", None) or torch.device(device)
    return LoadedPipeline(pipe, execution, None if anything else names)
