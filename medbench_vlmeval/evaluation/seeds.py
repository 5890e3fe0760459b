"""How far the images of one edit, made from several seeds, lie apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import stdev
from typing import Any

from ..types import Score, Status
from .medebench_metrics import CP_SEED_SD, CP_STRICT_SEED_SD


@dataclass(frozen=True)
class SeedScores:
    """Judge-free scores of one of the images made for the same edit."""

    path: Path | None
    """None where this seed gave no image."""
    seed: int | None
    official: Score
    strict: Score


def seed_spread(seeds: Sequence[SeedScores]) -> dict[str, Score]:
    """The standard deviation over a sample's images, of CP and of CP_strict.

    The estimate from a sample, with n - 1. A seed without an image is no value; it is left out of
    both columns, also of the strict one, because a missing image is counted there already and would
    hide how much the images differ.

    Args:
        seeds: all images of a sample, the scored one first.

    Returns:
        A score for each of `SEED_METRICS`; without a value when fewer than two images have one.
    """
    return {
        CP_SEED_SD.name: _spread([it.official for it in seeds]),
        CP_STRICT_SEED_SD.name: _spread([it.strict for it in seeds]),
    }


def _spread(scores: Sequence[Score]) -> Score:
    values = [score.value for score in scores if score.value is not None]
    if len(values) >= 2:
        # Exact arithmetic: equal values must give 0 and not a rounding error.
        return Score(stdev(values))
    ours = next((it for it in scores if it.value is None and not it.model_fault), None)
    if ours is not None:
        return ours
    return Score.unanswered(
        Status.MISSING, f"{len(values)} image(s) with a value; a deviation needs two"
    )


def seed_records(seeds: Sequence[SeedScores]) -> list[dict[str, Any]]:
    """What ``_scores.jsonl`` says of each image of a sample, the scored one first."""
    return [
        {
            "replica": number,
            "file": it.path.name if it.path else None,
            "seed": it.seed,
            "CP": it.official.value,
            "CP_strict": it.strict.value,
        }
        for number, it in enumerate(seeds)
    ]
