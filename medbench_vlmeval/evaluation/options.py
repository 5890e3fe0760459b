"""What a user may choose about an evaluation, from ``--judge-args`` or our own command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from ..data import lmu_root
from ..judging import JudgeSettings
from ..judging.medebench import Layout
from .fan_out import BACKENDS

PREFIX = "medbench_"

Wording = Literal["host", "own"]
Track = Literal["direct", "rewrite"]


@dataclass(frozen=True)
class EvaluationOptions:
    """Choices that concern scoring; those of the judge are in `judging.JudgeSettings`."""

    lost_images: str = "raise"
    """``raise``, or ``missing`` to count images that are gone as images never made."""
    scoring_backend: str | None = None
    scoring_jobs: int | None = None
    scoring_scheduler: str | None = None
    estimate: bool = False
    """Say what judging would cost and judge nothing."""
    host_judge: bool = False
    """Ask through the judge object that VLMEvalKit builds, instead of our own client."""
    judge_layout: Layout = "separate"
    """``separate``: five user messages as published; ``single``: one, for servers that need it."""
    sent_size_wh: tuple[int, int] | None = None
    """MedSG-Bench: the size at which images reached a model that resizes them."""
    extract_choices: bool = False
    """MedQ-Bench: let the judge say which option a reply states where no letter can be read."""
    judge_wording: Wording = "host"
    """MedQ-Bench: ``host``, the published templates that VLMEvalKit ships; ``own``, ours."""
    track: Track = "direct"
    """MedEBench: ``rewrite`` for a system that rewrites the instruction before it edits; such
    systems have a board of their own."""
    trials: tuple[str, ...] = ()
    """MedQ-Deg: further prediction files of the same model, for agreement and calibration."""

    def __post_init__(self) -> None:
        _check("medbench_lost_images", self.lost_images, ("raise", "missing"))
        _check("medbench_judge_layout", self.judge_layout, ("separate", "single"))
        _check("medbench_judge_wording", self.judge_wording, ("host", "own"))
        _check("medbench_track", self.track, ("direct", "rewrite"))
        if self.scoring_backend is not None:
            _check("medbench_scoring_backend", self.scoring_backend, BACKENDS)

    @classmethod
    def from_host(cls, judge_kwargs: Mapping[str, Any]) -> tuple[EvaluationOptions, dict[str, Any]]:
        """Our options out of the host's judge arguments, and the arguments that are left.

        Options are given as ``--judge-args '{"medbench_scoring_jobs": 4}'``.

        Raises:
            ValueError: a value that is not one of the choices.
        """
        rest = dict(judge_kwargs)
        chosen = {
            option.name: rest.pop(PREFIX + option.name)
            for option in fields(cls)
            if PREFIX + option.name in rest
        }
        if isinstance(chosen.get("trials"), str):
            chosen["trials"] = (chosen["trials"],)
        if chosen.get("sent_size_wh") is not None:
            chosen["sent_size_wh"] = _size_wh(chosen["sent_size_wh"])
        return replace(cls(), **chosen), rest


def judge_settings(
    judge_kwargs: Mapping[str, Any], environ: Mapping[str, str]
) -> JudgeSettings | None:
    """`JudgeSettings.from_host` with a cache that outlives the run.

    Replies are kept in ``<LMUData>/medbench/judge_replies.sqlite`` unless another file is named, so
    that a killed run goes on, and a repeated one asks nothing.
    """
    settings = JudgeSettings.from_host(judge_kwargs, environ)
    if settings is None or settings.cache_path is not None:
        return settings
    return replace(settings, cache_path=lmu_root() / "medbench" / "judge_replies.sqlite")


def _size_wh(value: Any) -> tuple[int, int]:
    try:
        width, height = (int(side) for side in value)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"expected [width, height] for medbench_sent_size_wh, got {value!r}"
        ) from error
    if width < 1 or height < 1:
        raise ValueError(
            f"expected a size of at least 1 x 1 for medbench_sent_size_wh, got {value}"
        )
    return width, height


def _check(name: str, value: str, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise ValueError(f"expected one of {', '.join(choices)} for {name}, got {value!r}")
