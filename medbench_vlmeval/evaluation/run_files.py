"""The files of a run beside its predictions, and the manifest that says where numbers come from."""

from __future__ import annotations

import csv
import io
import platform
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib import metadata
from pathlib import Path
from typing import Any

from .. import __version__
from ..files import sha256_file, write_json_atomic, write_jsonl_atomic, write_text_atomic
from ..types import MetricInfo, Score, Summary

MANIFEST_SCHEMA = 1
_LIBRARIES = (
    "numpy", "pandas", "pillow", "scikit-image", "opencv-python", "numba", "openai", "torch",
)  # fmt: skip


@dataclass(frozen=True)
class RunFiles:
    """Paths of a run's files, all beside the prediction file, which is never written to."""

    predictions: Path

    def beside(self, suffix: str) -> Path:
        """``<stem of the predictions><suffix>``; the stem may itself hold dots."""
        return self.predictions.with_name(self.predictions.stem + suffix)

    @property
    def scores(self) -> Path:
        """One JSON line a sample."""
        return self.beside("_scores.jsonl")

    @property
    def samples(self) -> Path:
        """One JSON line a sample: what it showed, how it was asked, what was answered."""
        return self.beside("_samples.jsonl")

    @property
    def judge_replies(self) -> Path:
        """One JSON line a judge reply."""
        return self.beside("_judge.jsonl")

    @property
    def summary(self) -> Path:
        """The flat numbers handed to the host."""
        return self.beside("_score.json")

    @property
    def groups(self) -> Path:
        """Every metric of every group with interval and coverage."""
        return self.beside("_acc.csv")

    @property
    def manifest(self) -> Path:
        """Data, code, judge and settings behind the numbers."""
        return self.beside("_manifest.json")

    def write_scores(self, rows: Iterable[Mapping[str, Any]]) -> Path:
        return write_jsonl_atomic(self.scores, rows)

    def write_samples(self, records: Iterable[Mapping[str, Any]]) -> Path:
        """Write what was shown and answered, in the order of the scores."""
        return write_jsonl_atomic(self.samples, records)

    def write_summary(self, flat: Mapping[str, float | int]) -> Path:
        return write_json_atomic(self.summary, flat)

    def write_manifest(self, manifest: Mapping[str, Any]) -> Path:
        """Write the manifest, last: it holds the hashes of the files beside it."""
        written = (self.scores, self.samples, self.judge_replies, self.groups, self.summary)
        hashes = {path.name: sha256_file(path) for path in written if path.is_file()}
        return write_json_atomic(self.manifest, {**manifest, "files": hashes})

    def write_groups(self, summaries: Sequence[Summary], metrics: Sequence[MetricInfo]) -> Path:
        """Write the table of groups, one line a metric and group."""
        protocol_of = {metric.name: metric.protocol for metric in metrics}
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(_GROUP_COLUMNS)
        for summary in summaries:
            writer.writerow(_group_row(summary, protocol_of.get(summary.metric, "")))
        return write_text_atomic(self.groups, stream.getvalue())


_GROUP_COLUMNS = (
    "group_by", "group", "metric", "protocol", "value", "low", "high",
    "n_expected", "n_answered", "n_scored", "floor", "ceiling",
)  # fmt: skip


def _group_row(summary: Summary, protocol: str) -> list[Any]:
    numbers = (summary.value, summary.low, summary.high)
    bounds = (summary.floor, summary.ceiling)
    return [
        summary.group_by,
        summary.group,
        summary.metric,
        protocol,
        *("" if number is None else repr(number) for number in numbers),
        summary.n_expected,
        summary.n_answered,
        summary.n_scored,
        *("" if number is None else repr(number) for number in bounds),
    ]


def score_fields(scores: Mapping[str, Score]) -> dict[str, dict[str, Any]]:
    """The scores of one row for ``_scores.jsonl``, whole enough to recompute every table."""
    return {name: _fields_of(score) for name, score in scores.items()}


def _fields_of(score: Score) -> dict[str, Any]:
    fields: dict[str, Any] = {"value": score.value, "status": score.status}
    if score.note:
        fields["note"] = score.note
    if score.model_fault:
        fields["model_fault"] = True
    return fields


def groups_of(labels: Mapping[str, str]) -> dict[str, str]:
    """The groups a row belongs to, for ``_scores.jsonl``: those it has a label for."""
    return {group_by: group for group_by, group in labels.items() if group}


def flat_summary(
    summaries: Iterable[Summary], metrics: Sequence[MetricInfo], *, group_by: str
) -> dict[str, float | int]:
    """The numbers for the host, plain and by name; nothing where there is no value.

    ``CP`` is the overall value, ``CP_low`` and ``CP_high`` its interval, ``CP_n`` the samples in
    it, ``CP|organ=Teeth`` the value of one group. Only `group_by` groups of official and strict
    metrics are in it; the table of groups has them all. Every number is a ``float`` or ``int`` of
    Python, because the host cannot store numpy's.
    """
    by_name = {metric.name: metric for metric in metrics}
    flat: dict[str, float | int] = {}
    for summary in summaries:
        if summary.value is None:
            continue
        if summary.group_by == "overall":
            flat |= _overall_numbers(summary)
        elif summary.group_by == group_by and by_name[summary.metric].protocol != "extra":
            flat[f"{summary.metric}|{group_by}={summary.group}"] = float(summary.value)
    return flat


def _overall_numbers(summary: Summary) -> dict[str, float | int]:
    numbers = {
        summary.metric: summary.value,
        f"{summary.metric}_low": summary.low,
        f"{summary.metric}_high": summary.high,
    }
    plain: dict[str, float | int] = {
        name: float(number) for name, number in numbers.items() if number is not None
    }
    return plain | {f"{summary.metric}_n": int(summary.n_scored)}


def base_manifest(predictions: Path) -> dict[str, Any]:
    """What every manifest holds: when, which code, which libraries, which prediction file."""
    return {
        "schema": MANIFEST_SCHEMA,
        "created": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "medbench_vlmeval": __version__,
        "python": platform.python_version(),
        "platform": f"{platform.system()} {platform.machine()}",
        "libraries": {name: version for name in _LIBRARIES if (version := _installed(name))},
        "predictions": {"file": predictions.name, "sha256": sha256_file(predictions)},
    }


def _installed(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None
