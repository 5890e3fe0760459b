"""Who judged a run and how: what must be the same for two verdicts to mean the same."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ..published import Judge
from ..runs import Run

_DEFINING = {
    "model_requested": "judge model",
    "host_judge": "judge object of VLMEvalKit",
    "weights_sha256": "weights of the judge",
    "repeats": "judging rounds",
    "parameters": "parameters of the judge",
}
"""Key in the manifest's ``judge`` to its name in words. Address, price and speed define nothing."""
_SNAPSHOT = r"(?:-\d{4}-\d{2}-\d{2}|-\d{4,8})?"


@dataclass(frozen=True)
class JudgeIdentity:
    """What defines the verdicts of a run; equal for runs that may be compared."""

    facts: tuple[tuple[str, str], ...]
    """Name in words to the value, written as JSON where it is no text."""

    @property
    def model(self) -> str:
        """As it was asked for."""
        return dict(self.facts)["judge model"]

    def differences(self, board: JudgeIdentity) -> str:
        """What is different on the board, in words; empty when nothing is."""
        here, there = dict(self.facts), dict(board.facts)
        return "; ".join(
            f"{name}: {_short(here.get(name))}, on the board {_short(there.get(name))}"
            for name in dict.fromkeys((*here, *there))
            if here.get(name) != there.get(name)
        )


def judge_of(run: Run) -> JudgeIdentity | None:
    """The judge behind the judged columns of a run; None when nothing was judged."""
    judge = run.manifest.get("judge")
    if not isinstance(judge, Mapping) or not was_judged(run):
        return None
    facts = [(name, _written(judge.get(key))) for key, name in _DEFINING.items()]
    return JudgeIdentity((*facts, ("questions to the judge", _prompts(run))))


def was_judged(run: Run) -> bool:
    """Whether a judged column has a value; a judge may be named and only have been estimated."""
    return any(metric.judged and metric.name in run.summary for metric in run.metrics)


def snapshots_of(run: Run) -> tuple[str, ...]:
    """The models that answered as the judge, as the endpoint calls them."""
    judge = run.manifest.get("judge")
    named = judge.get("models_returned") if isinstance(judge, Mapping) else None
    return tuple(sorted(map(str, named))) if named else ()


def is_published_judge(run: Run, published: Judge | None) -> str:
    """Why the verdicts of a run are not those of a published table's judge; empty if they may be.

    Any dated snapshot of the published model counts as it, since the papers name none. Questions
    that the run itself marks as others than the published ones do not.
    """
    identity = judge_of(run)
    if identity is None:
        return "not judged"
    if published is None:
        return "the published figure is not judged"
    if not re.fullmatch(re.escape(published.name) + _SNAPSHOT, identity.model, re.IGNORECASE):
        return f"judged by {identity.model}, published with {published.name}"
    asked = run.manifest.get("prompts", {}).get("medq_judge", {})
    if asked.get("comparable") is False:
        return str(asked.get("note") or "the judge was asked other questions than the published")
    return ""


def _prompts(run: Run) -> str:
    # A note on the wording is no part of it.
    prompts = run.manifest.get("prompts") or {}
    return _written(
        {
            name: {k: v for k, v in it.items() if k != "note"} if isinstance(it, Mapping) else it
            for name, it in prompts.items()
        }
    )


def _written(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, sort_keys=True)


def _short(text: str | None) -> str:
    shown = "not stated" if text in (None, "null") else str(text)
    return shown if len(shown) <= 60 else f"{shown[:57]}…"
