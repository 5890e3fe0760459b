"""Under which conditions a run was made: what must agree before two runs are compared.

What is no condition: a model's way of naming coordinates (MedSG-Bench declares one per model), the
size at which images reached it, and which of several equal decoders and kernels computed a score.
"""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

from ...files import sha256_bytes
from ...types import Status
from ..runs import Run

_NO_REPLY = (Status.MISSING, Status.API_FAIL)


@dataclass(frozen=True)
class Conditions:
    """What a run was made with, as far as it bears on comparing it."""

    fingerprint: str | None
    """Of ids, texts and images of the data."""
    revision: str | None
    """None: the release that was prepared has none."""
    indices: frozenset[Hashable]
    """The samples it is answerable for."""
    wording: tuple[str, ...] | None
    """Whose words the questions are (``host``, ``own``, ``release``); None: not recorded."""
    asked_sha256: str | None
    """Of all questions as they were asked."""
    demonstrations: str | None
    """Hash of what was shown before each sample; None where nothing is shown."""
    track: str
    """``direct``, or ``rewrite``: the system rewrites the instruction before it edits."""
    metrics: Mapping[str, tuple[Any, ...]]
    """Name of a column to direction, bounds and protocol."""
    notes: tuple[str, ...] = ()
    """What a reader should know and nobody is left out for."""

    @property
    def key(self) -> tuple[Hashable, ...]:
        """Equal for runs made under the same conditions."""
        return (
            self.fingerprint, self.revision, self.indices, self.wording, self.asked_sha256,
            self.demonstrations, self.track,
        )  # fmt: skip


def conditions_of(run: Run) -> Conditions:
    """The conditions that the manifest and the rows of a run tell."""
    data, asked = run.manifest.get("data", {}), run.manifest.get("asked") or {}
    hashes = asked.get("sha256")
    shown = run.manifest.get("in_context")
    return Conditions(
        fingerprint=data.get("fingerprint"),
        revision=data.get("revision"),
        indices=frozenset(row.get("index") for row in run.rows),
        wording=tuple(sorted(asked["wording"])) if asked.get("wording") else None,
        asked_sha256=json.dumps(hashes, sort_keys=True) if hashes else None,
        demonstrations=_shown_examples(shown) if shown else None,
        track=str(run.manifest.get("track") or "direct"),
        metrics={
            it.name: (it.higher_is_better, tuple(it.bounds), it.protocol) for it in run.metrics
        },
        notes=tuple(_notes(run.manifest, shown or {})),
    )


def incomplete(run: Run, least_coverage: float, *, partial_allowed: bool) -> str:
    """Why a run is no complete one, with the remedy; empty if it is.

    Args:
        run: the run.
        least_coverage: share of its samples that must have a reply, in [0, 1].
        partial_allowed: whether it may be about a part of the samples.
    """
    data = run.manifest.get("data", {})
    expected, total = int(data.get("n_expected", 0)), int(data.get("n_samples", 0))
    if run.manifest.get("complete") is False:
        return "not complete: the judge stopped before the end; evaluate again, it goes on there"
    if len(run.rows) != expected:
        return f"has {len(run.rows)} rows for {expected} samples; evaluate again"
    if (data.get("partial") or expected < total) and not partial_allowed:
        return (
            f"about {expected} of {total} samples only; run it on all, or make a board of these "
            "samples with --like"
        )
    n_without = _n_without_reply(run)
    if expected == 0 or 1 - n_without / expected < least_coverage:
        return (
            f"{n_without} of {expected} samples have no reply (missing, or the call failed), "
            f"expected replies for {least_coverage:.0%}; run the host again with --reuse, or "
            "lower --least-coverage"
        )
    return ""


def differing(run: Run, board: Run) -> str:
    """Which condition of a run is not the board's, in words; empty when all agree."""
    own, wanted = conditions_of(run), conditions_of(board)
    if own.fingerprint is None or own.fingerprint != wanted.fingerprint:
        return (
            f"other data: fingerprint {_short(own.fingerprint)}, on the board "
            f"{_short(wanted.fingerprint)}; prepare the same release and evaluate again"
        )
    if _disagree(own.revision, wanted.revision):
        return f"other revision of the data: {own.revision}, on the board {wanted.revision}"
    if own.indices != wanted.indices:
        n_shared = len(own.indices & wanted.indices)
        return (
            f"other samples: {len(own.indices)}, of which {n_shared} are among the "
            f"{len(wanted.indices)} of the board"
        )
    if _disagree(own.wording, wanted.wording):
        return (
            f"asked in other words: {_words(own.wording)}, on the board {_words(wanted.wording)}; "
            "use a host that ships the benchmark's prompts for all, or for none"
        )
    if _disagree(own.asked_sha256, wanted.asked_sha256):
        return "asked in other words: the questions have another hash; infer again with one host"
    if own.demonstrations != wanted.demonstrations:
        return "other demonstrations were shown before the samples"
    if own.track != wanted.track:
        return (
            f"another track: {own.track}, on the board {wanted.track}; make a board of the other "
            "track with --like"
        )
    for name in own.metrics.keys() & wanted.metrics.keys():
        if own.metrics[name] != wanted.metrics[name]:
            return f"{name} is defined in another way; evaluate all runs with one version"
    return ""


def _disagree(own: Hashable | None, wanted: Hashable | None) -> bool:
    return own is not None and wanted is not None and own != wanted


def _n_without_reply(run: Run) -> int:
    counts = run.manifest.get("edited") or run.manifest.get("replies") or {}
    return sum(int(counts.get(str(status), 0)) for status in _NO_REPLY)


def _shown_examples(in_context: Mapping[str, Any]) -> str:
    shown = {name: in_context.get(name) for name in ("shots", "rule", "demonstrations")}
    return sha256_bytes(json.dumps(shown, sort_keys=True).encode("utf-8"))


def _notes(manifest: Mapping[str, Any], in_context: Mapping[str, Any]) -> list[str]:
    notes = []
    if manifest.get("takes_one_image_only"):
        notes.append("saw only the first image of each sequence")
    if in_context.get("takes_demonstrations") is False:
        notes.append("makes no use of the demonstrations it was shown")
    if in_context.get("takes_demonstrations") == "unknown":
        notes.append("it is not known whether it makes use of the demonstrations it was shown")
    images = manifest.get("images")
    if isinstance(images, Mapping):
        notes += [str(note) for note in images.get("notes", ())]
    return notes


def _words(wording: tuple[str, ...] | None) -> str:
    names = {"host": "VLMEvalKit's", "own": "ours", "release": "the release's"}
    return " and ".join(names.get(it, it) for it in wording or ())


def _short(fingerprint: str | None) -> str:
    return str(fingerprint)[:12] if fingerprint else "not stated"
