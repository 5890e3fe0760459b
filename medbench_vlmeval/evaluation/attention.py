"""Attention grounding of MedEBench from maps to numbers: find the word, score, summarise, write.

Source: project page of MedEBench (formula) and src/attention_map.ipynb of its released code (maps);
what neither says is chosen in `metrics.attention` and `parsing.key_words`.
"""

from __future__ import annotations

import json
import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from tqdm import tqdm

from .. import __version__
from ..data import MedEBenchData
from ..files import read_jsonl, sha256_file, write_bytes_atomic, write_json_atomic
from ..images import ImageUnreadable, read_rgb, read_roi, resize_like
from ..metrics.attention import ALPHA, SIDE
from ..parsing.key_words import KeyWord
from ..stats import RESAMPLES, summarise
from ..types import Score, Status, Summary
from .attention_maps import maps_folder
from .attention_metrics import ATTENTION_IOU, ATTENTION_METRICS
from .attention_overlay import attention_panels
from .attention_rows import AttentionRow, attention_record, scored_row
from .prepared_rows import data_facts
from .run_files import RunFiles

logger = logging.getLogger(__name__)

EDITS_LOG = "edits.jsonl"
"""Beside the maps: what became of each edit that was watched."""
DESCRIPTION = "maps.json"
"""Beside the maps: which model, data and settings made them."""
EDITED_FOLDER = "edited"


class AttentionFiles(RunFiles):
    """Paths of what attention scoring writes, beside a run or beside the maps."""

    @property
    def scores(self) -> Path:
        return self.beside("_attention.jsonl")

    @property
    def groups(self) -> Path:
        return self.beside("_attention.csv")

    @property
    def manifest(self) -> Path:
        return self.beside("_attention_settings.json")


def check_maps_folder(out: Path, description: Mapping[str, Any]) -> None:
    """Describe the maps of a new folder, or see that a folder's maps are so described.

    Raises:
        ValueError: they are of other settings.
    """
    path = out / DESCRIPTION
    if not path.is_file():
        write_json_atomic(path, description)
        return
    try:
        earlier = json.loads(path.read_text(encoding="utf-8"))
        differing = [key for key in description if earlier.get(key) != description[key]]
    except (ValueError, AttributeError) as error:
        raise ValueError(f"{path}: cannot be read ({error}); name another --out") from error
    if differing:
        raise ValueError(
            f"expected maps of the same settings in {out}, got others ({', '.join(differing)} "
            "differ); name another --out"
        )


@dataclass(frozen=True)
class AttentionResult:
    """Rows and summaries, and where they were written."""

    rows: tuple[AttentionRow, ...]
    summaries: tuple[Summary, ...]
    files: AttentionFiles

    def notes(self) -> list[str]:
        """What a reader of the table should know, a line each."""
        rules = Counter(row.key.rule for row in self.rows)
        reasons = Counter(
            score.note or str(score.status)
            for score in (row.scores[ATTENTION_IOU.name] for row in self.rows)
            if score.value is None
        )
        flags = Counter(flag for row in self.rows for flag in row.flags)
        lines = ["words by rule: " + ", ".join(f"{name} {n}" for name, n in rules.items())]
        lines += [f"{n} without IoU: {reason}" for reason, n in reasons.most_common(10)]
        if flags["other_edit"]:
            lines.append(f"{flags['other_edit']} maps belong to another image than the run's")
        return lines


def evaluate_attention(
    folder: Path,
    data: MedEBenchData,
    keys: Mapping[int, KeyWord],
    files: AttentionFiles,
    *,
    edits: Mapping[int, str | None] | None = None,
    overlays: Path | None = None,
) -> AttentionResult:
    """Score the maps of a folder and write rows, groups and settings.

    Args:
        folder: maps by sample, see `attention_maps`.
        data: the prepared benchmark.
        keys: the word of each sample.
        files: what to write.
        edits: of a judged run, the samples it is answerable for and the SHA-256 of what it edited;
            rows whose map belongs to another image are flagged ``other_edit``. None: all samples.
        overlays: folder for a picture of each scored sample.

    Raises:
        ValueError: two files for one sample, or samples that the data set does not have.
    """
    samples = [it for it in data.samples if edits is None or it.id in edits]
    if edits is not None and len(samples) != len(edits):
        raise ValueError(f"expected samples of {data.name}, got a run on other data")
    found, failures = maps_folder(folder), _failures(folder / EDITS_LOG)
    rows = []
    for sample in tqdm(samples, desc="Scoring attention", unit="sample"):
        absent = failures.get(sample.id, Score.unscored(Status.MISSING, "no attention map"))
        row = scored_row(sample, keys[sample.id], found.get(sample.id), absent)
        if overlays is not None and row.attention is not None:
            _write_overlay(row, folder / EDITED_FOLDER, overlays)
        row = _compared(row, (edits or {}).get(sample.id))
        rows.append(replace(row, attention=None))
    summaries = tuple(summarise_attention(rows))
    files.write_scores(map(attention_record, rows))
    files.write_groups(summaries, ATTENTION_METRICS)
    write_json_atomic(files.manifest, _settings(folder, data, rows, files))
    return AttentionResult(tuple(rows), summaries, files)


def summarise_attention(rows: Sequence[AttentionRow]) -> Iterator[Summary]:
    """Means with intervals: overall, by organ, by task."""
    groups: dict[tuple[str, str], list[AttentionRow]] = {("overall", "Overall"): list(rows)}
    for group_by in ("organ", "task"):
        for row in sorted(rows, key=lambda it: it.groups.get(group_by, "")):
            if group_by in row.groups:
                groups.setdefault((group_by, row.groups[group_by]), []).append(row)
    for (group_by, group), members in groups.items():
        clusters = [row.cluster for row in members]
        for metric in ATTENTION_METRICS:
            scores = [row.scores[metric.name] for row in members]
            yield summarise(scores, metric, clusters=clusters, group=group, group_by=group_by)


def _failures(log: Path) -> dict[int, Score]:
    """Why there is no map, by sample, as the last try recorded it."""
    if not log.is_file():
        return {}
    last = {int(record["index"]): record for record in read_jsonl(log)[0]}
    return {
        index: Score(
            None, Status(record["status"]), record["note"], bool(record.get("model_fault"))
        )
        for index, record in last.items()
        if not Status(record["status"]).has_value
    }


def _compared(row: AttentionRow, edited_sha256: str | None) -> AttentionRow:
    known = bool(row.edited_sha256 and edited_sha256)
    if not known or row.edited_sha256 == edited_sha256:
        return row
    return replace(row, flags=row.flags | {"other_edit"})


def _write_overlay(row: AttentionRow, edited_folder: Path, overlays: Path) -> None:
    sample, edited = row.sample, edited_folder / f"{row.sample.id}.png"
    if sample.previous is None or sample.roi is None or row.attention is None:
        return
    try:
        previous, roi = read_rgb(sample.previous), read_roi(sample.roi)
        after = resize_like(read_rgb(edited), previous.size_wh)[0] if edited.is_file() else None
    except ImageUnreadable as error:
        logger.warning("no overlay of sample %d: %s", sample.id, error)
        return
    picture = attention_panels(previous.pixels, after, row.attention, roi.values)
    write_bytes_atomic(overlays / f"{sample.id}.png", picture)


def _settings(
    folder: Path, data: MedEBenchData, rows: Sequence[AttentionRow], files: AttentionFiles
) -> dict[str, Any]:
    description = folder / DESCRIPTION
    return {
        "schema": 1,
        "medbench_vlmeval": __version__,
        "data": data_facts(data, len(rows)),
        "maps": description.read_text(encoding="utf-8") if description.is_file() else None,
        "rule": {"alpha": ALPHA, "side": SIDE, "otsu_bins": 256, "roi": "> 127, nearest"},
        "bootstrap_resamples": RESAMPLES,
        "metrics": ATTENTION_METRICS,
        "files": {it.name: sha256_file(it) for it in (files.scores, files.groups)},
    }
