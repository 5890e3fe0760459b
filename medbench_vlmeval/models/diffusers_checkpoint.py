"""Whether a checkpoint can be had and is what its entry says, with remedies where it is not."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from .diffusers_plan import PipelinePlan

_ON = ("1", "true", "yes", "on")


def check_checkpoint(diffusers: Any, plan: PipelinePlan) -> None:
    """Look at a checkpoint's index before its weights.

    Raises:
        OSError: there is none, or it cannot be downloaded.
        ValueError: it is a checkpoint of another class.
    """
    folder = Path(plan.checkpoint).expanduser()
    if folder.is_dir() and not (folder / "model_index.json").is_file():
        raise FileNotFoundError(
            f"expected a folder with model_index.json, got {folder} without one; name the folder "
            "that save_pretrained wrote or that `hf download` filled"
        )
    try:
        config = diffusers.DiffusionPipeline.load_config(
            location(plan), revision=plan.revision, **_hub_arguments(plan)
        )
    except OSError as error:
        raise unavailable(plan, error) from error
    declared = config.get("_class_name") if isinstance(config, dict) else None
    if isinstance(declared, (list, tuple)):
        declared = declared[-1]
    if plan.custom_pipeline or declared in (None, plan.checkpoint_class or plan.pipeline):
        return
    expected = plan.checkpoint_class or plan.pipeline
    raise ValueError(
        f"expected a checkpoint of {expected}, got {plan.checkpoint}, "
        f"which is one of {declared}; name that class, or another checkpoint, or, if it is meant, "
        f'give "checkpoint_class": "{declared}"'
    )


def _hub_arguments(plan: PipelinePlan) -> dict[str, Any]:
    shared = ("cache_dir", "token", "local_files_only", "proxies", "force_download")
    return {name: plan.load[name] for name in shared if name in plan.load}


def location(plan: PipelinePlan) -> str:
    """What ``from_pretrained`` takes: the local folder, or the repository."""
    folder = Path(plan.checkpoint).expanduser()
    return str(folder) if folder.is_dir() else plan.checkpoint


def unavailable(plan: PipelinePlan, error: OSError) -> OSError:
    """The error for a checkpoint that cannot be had, with the ways to it."""
    at = f" at revision {plan.revision}" if plan.revision else ""
    offline = next(
        (
            name
            for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
            if os.environ.get(name, "").lower() in _ON
        ),
        "",
    )
    hint = f"; {offline} is set, so nothing is downloaded" if offline else ""
    first = " ".join(str(error).split())[:160]
    return OSError(
        f"expected the checkpoint {plan.checkpoint}{at}, got none{hint}; download it with `hf "
        f'download {plan.checkpoint}` or name a local folder in "checkpoint"; a gated repository '
        f"needs its terms accepted and a token (hf auth login or HF_TOKEN) "
        f"[{type(error).__name__}: {first}]"
    )
