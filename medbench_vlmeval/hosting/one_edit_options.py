"""What `medbench doctor --model` is asked to try: one model on one picture."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..images import read_rgb


@dataclass(frozen=True)
class Trial:
    """What is tried: one model on one picture."""

    model: str
    image: Path
    instruction: str
    out: Path
    """Folder for the picture of input and result."""
    models: Mapping[str, Any] = field(default_factory=dict)
    """The part ``model`` of a ``--config`` file; empty for VLMEvalKit's zoo."""
    roi: Path | None = None


def add_model_options(parser: argparse.ArgumentParser) -> None:
    """The options that `trial_of` reads."""
    parser.add_argument("--model", help="build this model and let it answer for one picture")
    parser.add_argument("--config", type=Path, help="take the model from this file of --config")
    parser.add_argument("--image", type=Path, help="picture to edit; default: a generated one")
    parser.add_argument("--instruction", help="what to change in it")
    parser.add_argument(
        "--out", type=Path, default=Path(), help="folder for the picture of input and result"
    )


def trial_of(chosen: argparse.Namespace, parser: argparse.ArgumentParser) -> Trial | None:
    """What the command line asks to try; None without ``--model``.

    Raises:
        ImageUnreadable: ``--image`` is no picture.
        ValueError: ``--config`` is no configuration.
        SystemExit: options that do not go together.
    """
    words = (chosen.instruction or "").strip()
    if chosen.model is None:
        if chosen.config or chosen.image or words:
            parser.error("expected --model NAME with --config, --image or --instruction")
        return None
    models = models_of_config(chosen.config) if chosen.config else {}
    if chosen.image is None:
        return sample_trial(chosen.model, chosen.out, instruction=words, models=models)
    if not words:
        parser.error("expected --instruction TEXT with --image")
    read_rgb(chosen.image)  # a model may take minutes to load; a wrong file is told before that
    return Trial(chosen.model, chosen.image, words, chosen.out, models)


def sample_trial(model: str, out: Path, *, instruction: str = "", **given: Any) -> Trial:
    """A trial on the first sample of the generated pack, which is made if it is not there."""
    from ..data import SAMPLE_PACK_NAME, load_medebench

    sample = load_medebench(SAMPLE_PACK_NAME).samples[0]
    if sample.previous is None:
        raise ValueError(
            f"expected an input image in {SAMPLE_PACK_NAME}, got none; prepare it again"
        )
    words = instruction or sample.instruction
    return Trial(model, sample.previous, words, out, roi=sample.roi, **given)


def models_of_config(path: Path) -> dict[str, Any]:
    """The models of a ``--config`` file of VLMEvalKit.

    Raises:
        ValueError: it is no such file.
    """
    try:
        models = json.loads(path.read_text(encoding="utf-8"))["model"]
    except (ValueError, TypeError, KeyError) as error:
        raise ValueError(
            f'expected JSON with "model" and "data" in {path} ({type(error).__name__}: {error})'
        ) from error
    if not isinstance(models, dict) or not all(isinstance(it, dict) for it in models.values()):
        raise ValueError(f'expected one object a model under "model" in {path}')
    return models
