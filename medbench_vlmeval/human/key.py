"""The unblinding key: whose answer each item of each rater is, and what the judge said of it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ..files import sha256_file, to_plain, write_json_atomic
from ..report.boards.judge_identity import judge_of, snapshots_of
from ..report.runs import Run
from .rubrics import RUBRIC_NAMED, Rubric

KEY_SCHEMA = 1
KEY_NAME = "key.json"
_RUN_FILES = ("_manifest.json", "_scores.jsonl", "_samples.jsonl", "_judge.jsonl")


class KeyUnreadable(ValueError):
    """A key that is absent, damaged, or of a newer version."""


@dataclass(frozen=True)
class RatedAnswer:
    """One model's answer to one sample, as it was when the sheets were made."""

    run: int
    index: int
    sha256: str
    """Of the edited image's file, or of the text."""
    verdicts: Mapping[str, float | None]
    """The judge's, by dimension, on the raters' scale."""
    computed: Mapping[str, float | None]


@dataclass(frozen=True)
class KeyItem:
    """One item of one rater's sheet."""

    item: int
    answer: int
    """Position among the answers."""
    cells_sha256: str
    """Of the cells that a rater does not fill in."""


@dataclass(frozen=True)
class SheetKey:
    """Everything that the sheets hide."""

    sheet: str
    dataset: str
    rubric: Rubric
    settings: Mapping[str, Any]
    runs: Sequence[Mapping[str, Any]]
    """Model, judge, files and their hashes of every run."""
    clusters: Mapping[int, str]
    """Source image of every sample."""
    answers: Sequence[RatedAnswer]
    columns: Sequence[str]
    """Of the tables, as far as a rater does not fill them in."""
    raters: Mapping[str, Sequence[KeyItem]]
    left_out: Mapping[str, int] = field(default_factory=dict)
    schema: int = KEY_SCHEMA

    @property
    def models(self) -> list[str]:
        return [str(run["model"]) for run in self.runs]

    @property
    def judges(self) -> list[str]:
        """Names of the judges, each once."""
        return sorted({str(run["judge"]) for run in self.runs if run["judge"] is not None})

    @property
    def judge_warnings(self) -> list[str]:
        """What keeps the verdicts of the runs from meaning the same."""
        judged = [run["judged_by"] for run in self.runs if run["judged_by"] is not None]
        warnings = [
            f"{run['model']} was not judged, only the raters' side is known"
            for run in self.runs
            if run["judged_by"] is None
        ]
        names = dict.fromkeys(name for facts in judged for name in facts)
        differing = [name for name in names if any(it[name] != judged[0][name] for it in judged)]
        if differing:
            warnings.append(f"the runs were not judged alike: other {', '.join(differing)}")
        return warnings

    def write(self, path: Path) -> Path:
        """Write the key, atomically."""
        return write_json_atomic(path, {**to_plain(self), "rubric": self.rubric.name})

    @classmethod
    def read(cls, path: Path) -> SheetKey:
        """The key in a file.

        Raises:
            KeyUnreadable: no key of this version.
        """
        try:
            written = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise KeyUnreadable(f"{path}: cannot be read ({error})") from error
        schema = written.get("schema") if isinstance(written, dict) else None
        if schema != KEY_SCHEMA:
            raise KeyUnreadable(
                f"{path}: expected a key of schema {KEY_SCHEMA}, got {schema!r}; give the "
                f"{KEY_NAME} that `medbench human export` wrote, and a version that reads it"
            )
        try:
            return cls(**{**written, **_parts(written)})
        except (KeyError, TypeError, ValueError) as error:
            raise KeyUnreadable(
                f"{path}: expected a whole key, got a damaged one ({error!r})"
            ) from error

    def changed_files(self) -> list[str]:
        """Files of the runs that are there and no longer what they were at the export."""
        return [
            f"{path}: changed since the sheets were made; what the judge said then is compared"
            for run in self.runs
            for path, digest in run["files"].items()
            if Path(path).is_file() and sha256_file(path) != digest
        ]


def _parts(written: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "rubric": RUBRIC_NAMED[written["rubric"]],
        "clusters": {int(index): label for index, label in written["clusters"].items()},
        "answers": [RatedAnswer(**answer) for answer in written["answers"]],
        "raters": {
            rater: [KeyItem(**item) for item in items] for rater, items in written["raters"].items()
        },
    }


def run_facts(run: Run) -> dict[str, Any]:
    """What a key says of a run: model, judge, and the hashes of its files."""
    judge = judge_of(run)
    files = [path for suffix in _RUN_FILES if (path := run.beside(suffix)).is_file()]
    if run.predictions.is_file():
        files.append(run.predictions)
    return {
        "model": run.model,
        "judge": None if judge is None else judge.model,
        "judged_by": None if judge is None else dict(judge.facts),
        "judge_returned": snapshots_of(run),
        "predictions": run.manifest["predictions"],
        "files": {str(path.resolve()): sha256_file(path) for path in files},
    }
