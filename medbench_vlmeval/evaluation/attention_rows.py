"""Rows of attention scoring: a sample, the word looked for, and its map against the ROI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..data import MedEBenchSample
from ..images import ImageUnreadable, read_roi
from ..metrics.attention import attention_grounding
from ..parsing.key_words import KeyWord, word_positions
from ..types import Score, Status
from .attention_maps import AttentionMaps, Maps, MapsUnreadable, read_maps
from .attention_metrics import ATTENTION_METRICS, values_of
from .run_files import groups_of, score_fields


@dataclass(frozen=True, eq=False)
class AttentionRow:
    """One sample, the word, and what its attention scores."""

    sample: MedEBenchSample
    key: KeyWord
    scores: Mapping[str, Score]
    positions: tuple[int, ...] = ()
    threshold: float | None = None
    file: Path | None = None
    edited_sha256: str = ""
    flags: frozenset[str] = frozenset()
    attention: Maps | None = None
    """The word's map."""

    @property
    def cluster(self) -> str:
        """Samples of one source image belong together."""
        return self.sample.sha256.get("previous", f"sample {self.sample.id}")

    @property
    def groups(self) -> dict[str, str]:
        return groups_of({"organ": self.sample.organ, "task": self.sample.task})


def scored_row(
    sample: MedEBenchSample, key: KeyWord, file: Path | None, absent: Score
) -> AttentionRow:
    """The attention of one sample against its ROI; `absent` is the score without a file."""
    row = AttentionRow(sample, key, {}, file=file)
    if file is None:
        return _without(row, absent)
    if sample.roi is None:
        return _without(row, Score.unscored(Status.DATA_ERROR, "ROI mask missing"))
    try:
        maps, roi = read_maps(file), read_roi(sample.roi)
    except (MapsUnreadable, ImageUnreadable, OSError) as error:
        return _without(row, Score.unscored(Status.DATA_ERROR, str(error)))
    positions = word_positions(maps.tokens, key.word)
    flags = {f"roi_{flag}" for flag in roi.flags} | ({"truncated"} if maps.truncated else set())
    row = replace(
        row, positions=positions, flags=frozenset(flags), edited_sha256=maps.edited_sha256
    )
    if maps.tokens and not positions:
        return _without(row, _no_word(key, maps))
    attention = maps.mean_of(positions)
    grounding = attention_grounding(attention, roi.values)
    reason = Score.unscored(Status.DATA_ERROR, grounding.note)
    scores = {
        name: reason if value is None else Score(value)
        for name, value in values_of(grounding).items()
    }
    return replace(row, scores=scores, threshold=grounding.threshold, attention=attention)


def attention_record(row: AttentionRow) -> dict[str, Any]:
    """One line of ``_attention.jsonl``."""
    return {
        "index": row.sample.id,
        "organ": row.sample.organ,
        "task": row.sample.task,
        "cluster": row.cluster,
        "groups": row.groups,
        "token": row.key.word,
        "token_rule": row.key.rule,
        "positions": row.positions,
        "scores": score_fields(row.scores),
        "threshold": row.threshold,
        "file": None if row.file is None else row.file.name,
        "edited_sha256": row.edited_sha256,
        "flags": sorted(row.flags),
    }


def _without(row: AttentionRow, score: Score) -> AttentionRow:
    return replace(row, scores=dict.fromkeys((it.name for it in ATTENTION_METRICS), score))


def _no_word(key: KeyWord, maps: AttentionMaps) -> Score:
    if key.rule == "none":
        return Score.unscored(Status.DATA_ERROR, "the instruction has no word to look for")
    if maps.truncated:
        note = f"{key.word!r} is not among the {len(maps.tokens)} tokens that the model reads"
        return Score.unscored(Status.TRUNCATED, note)
    return Score.unscored(Status.DATA_ERROR, f"{key.word!r} is no word of the prompt")
