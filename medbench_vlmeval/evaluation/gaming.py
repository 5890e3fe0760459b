"""Warnings about runs whose scores were not earned by editing."""

from __future__ import annotations

from collections.abc import Iterable

from ..types import Summary
from .medebench_metrics import COPIED_REFERENCE, EDIT_ELSEWHERE, NO_EDIT, PRAISED_NO_EDIT

LEAST_SHARE = 0.1
"""From this share of a run's scored samples on a sign is told."""

_MEANINGS = {
    NO_EDIT.name: "nothing visible was changed inside the ROI; CP is high there for that reason",
    EDIT_ELSEWHERE.name: "the surroundings were changed visibly, and at least as much as the ROI",
    COPIED_REFERENCE.name: "the edited image is the reference; no model that has not seen it "
    "does that",
    PRAISED_NO_EDIT.name: "the judge praises the quality of images that were not edited; "
    "read VQ beside EA only",
}


def gaming_warnings(summaries: Iterable[Summary]) -> tuple[str, ...]:
    """A sentence for each sign that at least `LEAST_SHARE` of the scored samples show, overall."""
    shares = {it.metric: it for it in summaries if it.group_by == "overall"}
    return tuple(
        f"{name} in {shares[name].value:.0%} of {shares[name].n_scored} samples: {meaning}"
        for name, meaning in _MEANINGS.items()
        if name in shares and (shares[name].value or 0.0) >= LEAST_SHARE
    )
