"""Editors of MedEBench that exist as research repositories only; docs/bridge.md has the set-up."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..registry import register_editor
from .bridge import BridgedEditor


@register_editor("SEED-X")
class SeedXEditor(BridgedEditor):
    """SEED-X-Edit, driven in a checkout of AILab-CVC/SEED-X.

    Arguments are those of `BridgedEditor`; the variables are ``MEDBENCH_SEEDX_PYTHON`` and
    ``MEDBENCH_SEEDX_CHECKOUT``.

    Notes:
        MedEBench published neither script nor settings for this model. The defaults are those of
        the upstream demo: one 448-pixel view, 64 image tokens in and out, the input squashed to
        1024 x 1024, 50 Euler steps, guidance 7.5, at most 512 new tokens, half precision. The
        result is 1024 x 1024 whatever the input's shape.
    """

    variables = "MEDBENCH_SEEDX"
    needs_checkout = True
    default_worker = "seedx"
    default_settings: Mapping[str, Any] = {
        "steps": 50,
        "guidance_scale": 7.5,
        "max_new_tokens": 512,
        "base_resolution": 448,
        "source_size": 1024,
    }
    unknown = "all settings of the published run; these are the upstream demo's"


@register_editor("InstructDiffusion")
class InstructDiffusionEditor(BridgedEditor):
    """InstructDiffusion, driven in a checkout of cientgu/InstructDiffusion.

    Arguments are those of `BridgedEditor`; the variables are ``MEDBENCH_INSTRUCTDIFFUSION_PYTHON``
    and ``MEDBENCH_INSTRUCTDIFFUSION_CHECKOUT``.

    Notes:
        Checkpoint, steps and both guidance scales are MedEBench's (upstream's own default is 100
        steps). It did not publish its wrapper, so the resolution is upstream's default: the longer
        side to 512, both to multiples of 64, the result fitted back to the input's size. The
        published seeds were drawn at random and not kept.
    """

    variables = "MEDBENCH_INSTRUCTDIFFUSION"
    needs_checkout = True
    default_worker = "instruct_diffusion"
    default_settings: Mapping[str, Any] = {
        "steps": 50,
        "cfg_text": 5.0,
        "cfg_image": 1.25,
        "resolution": 512,
        "config": "configs/instruct_diffusion.yaml",
        "checkpoint": "checkpoints/v1-5-pruned-emaonly-adaption-task.ckpt",
    }
    unknown = "resolution and seeds of the published run"
