"""A finished run as its files tell it: manifest, rows, tables; nothing of how it came about."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from pathlib import Path
from typing import Any

from ..naming import parse_stem
from ..types import MetricInfo, Score, Status
from .lines import RunUnreadable, read_whole

MANIFEST_SUFFIX = "_manifest.json"
KNOWN_SCHEMA = 1
"""The newest manifest that this version can read."""


@dataclass(frozen=True)
class Run:
    """One evaluated prediction file and what lies beside it."""

    manifest_path: Path
    manifest: Mapping[str, Any]
    origin: str = ""
    """Where a reader finds it when that is not its folder: the archive it was unpacked from."""

    @classmethod
    def at(cls, path: Path | str) -> Run:
        """The run behind a path: its manifest, its predictions, any file of it, or its folder.

        Raises:
            RunUnreadable: no manifest there, several of them in a folder, a manifest that is no
                JSON, or of a newer version.
        """
        return cls.read(_manifest_of(Path(path)))

    @classmethod
    def read(cls, manifest_path: Path, origin: str = "") -> Run:
        """The run whose manifest this is.

        Raises:
            RunUnreadable: no JSON object, or of a newer version.
        """
        try:
            manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunUnreadable(f"{manifest_path}: cannot be read ({error})") from error
        if not isinstance(manifest, dict) or not isinstance(manifest.get("data", {}), dict):
            raise RunUnreadable(f"{manifest_path}: expected a JSON object, and one as its data")
        schema = manifest.get("schema")
        if not isinstance(schema, int) or schema > KNOWN_SCHEMA:
            raise RunUnreadable(
                f"{manifest_path}: expected a manifest of schema up to {KNOWN_SCHEMA}, got "
                f"{schema!r}; it was written by medbench-vlmeval "
                f"{manifest.get('medbench_vlmeval')!r}: use that version or a newer one"
            )
        return cls(manifest_path, manifest, origin)

    @property
    def stem(self) -> str:
        """The name that all files of the run begin with."""
        return self.manifest_path.name[: -len(MANIFEST_SUFFIX)]

    def beside(self, suffix: str) -> Path:
        return self.manifest_path.with_name(self.stem + suffix)

    @property
    def dataset(self) -> str:
        return str(self.manifest.get("data", {}).get("name", ""))

    @property
    def model(self) -> str:
        """The model's name, as far as the name of the files tells.

        VLMEvalKit writes ``model_dataset``; `medbench score` a reversible ``model@dataset``.
        """
        try:
            model, dataset = parse_stem(self.stem)
        except ValueError:
            model, dataset = self.stem, ""
        return model if dataset == self.dataset else self.stem.removesuffix(f"_{self.dataset}")

    @property
    def place(self) -> str:
        """Where the run lies, for a reader."""
        return self.origin or str(self.manifest_path.parent)

    @property
    def created(self) -> str:
        """When it was evaluated, as ISO 8601 in UTC; empty where the manifest does not say."""
        return str(self.manifest.get("created") or "")

    @property
    def predictions(self) -> Path:
        return self.manifest_path.with_name(str(self.manifest["predictions"]["file"]))

    @cached_property
    def metrics(self) -> tuple[MetricInfo, ...]:
        """The columns of the run, as it was evaluated.

        Raises:
            RunUnreadable: the manifest describes them in another form.
        """
        try:
            return tuple(map(_metric, self.manifest.get("metrics", ())))
        except (AttributeError, TypeError) as error:
            raise RunUnreadable(
                f"{self.manifest_path}: expected metrics with name and label ({error}); evaluate "
                "again"
            ) from error

    @cached_property
    def rows(self) -> tuple[Mapping[str, Any], ...]:
        """The lines of ``_scores.jsonl``.

        Raises:
            RunUnreadable: the file is absent or damaged.
        """
        path = self.beside("_scores.jsonl")
        rows = read_whole(path)
        for number, row in enumerate(rows, start=1):
            if not isinstance(row, dict) or not {"index", "cluster", "scores"} <= row.keys():
                raise RunUnreadable(
                    f"{path}: expected index, cluster and scores in line {number}; evaluate again"
                )
        return tuple(rows)

    @cached_property
    def summary(self) -> Mapping[str, float]:
        """The flat numbers that the host was given."""
        path = self.beside("_score.json")
        try:
            numbers: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise RunUnreadable(f"{path}: cannot be read ({error})") from error
        if not isinstance(numbers, dict):
            raise RunUnreadable(f"{path}: expected a JSON object; evaluate again")
        return numbers

    @cached_property
    def table(self) -> tuple[Mapping[str, str], ...]:
        """The lines of ``_acc.csv``, as texts."""
        path = self.beside("_acc.csv")
        try:
            with path.open(encoding="utf-8", newline="") as stream:
                lines = tuple(csv.DictReader(stream))
        except (OSError, ValueError, csv.Error) as error:
            raise RunUnreadable(f"{path}: cannot be read ({error})") from error
        for number, line in enumerate(lines, start=2):
            if any(line.get(name) is None for name in ("group_by", "group", "metric")):
                raise RunUnreadable(
                    f"{path}: expected group_by, group and metric in line {number}; evaluate again"
                )
        return lines

    @cached_property
    def _scores(self) -> dict[str, list[Score | None]]:
        return {}

    def scores_of(self, metric: str) -> list[Score | None]:
        """The score of every row; None where a row has no such column.

        Raises:
            RunUnreadable: the rows cannot be read, or a score contradicts itself.
        """
        if metric not in self._scores:
            self._scores[metric] = [read_score(row["scores"].get(metric)) for row in self.rows]
        return self._scores[metric]


def _metric(described: Mapping[str, Any]) -> MetricInfo:
    known = {field.name for field in fields(MetricInfo)}
    given: dict[str, Any] = {
        name: tuple(value) if isinstance(value, list) else value
        for name, value in described.items()
        if name in known
    }
    return MetricInfo(**given)


def read_score(written: Any) -> Score | None:
    """A score as ``_scores.jsonl`` holds it.

    Raises:
        RunUnreadable: value and status contradict each other.
    """
    if written is None:
        return None
    try:
        return Score(
            written["value"],
            Status(written["status"]),
            written.get("note", ""),
            bool(written.get("model_fault", False)),
        )
    except (KeyError, ValueError, TypeError) as error:
        raise RunUnreadable(f"expected a score with value and status, got {written!r}") from error


def runs_below(paths: Sequence[Path]) -> Iterator[Path]:
    """The manifests below files and folders, each once however many links lead to it."""
    seen: set[Path] = set()
    for path in paths:
        found = sorted(path.rglob(f"*{MANIFEST_SUFFIX}")) if path.is_dir() else [path]
        for manifest in found:
            real = manifest.resolve()
            if real not in seen and real.with_name(_beside(real)).is_file():
                seen.add(real)
                yield real


def _beside(manifest: Path) -> str:
    # Prepared data has a manifest.json of its own; a run has scores beside its manifest.
    return manifest.name[: -len(MANIFEST_SUFFIX)] + "_scores.jsonl"


def _manifest_of(path: Path) -> Path:
    if path.name.endswith(MANIFEST_SUFFIX) and path.is_file():
        return path
    if path.is_dir():
        found = list(runs_below([path]))
        if len(found) != 1:
            names = ", ".join(sorted(str(it.relative_to(path.resolve())) for it in found)[:10])
            raise RunUnreadable(
                f"{path}: expected one finished run, found {len(found)}"
                + (f" ({names}); name one of them" if found else "; evaluate a run first")
            )
        return found[0]
    folder = path.parent if path.parent.is_dir() else Path()
    manifests = folder.glob(f"*{MANIFEST_SUFFIX}")
    matching = [it for it in manifests if path.name.startswith(it.name[: -len(MANIFEST_SUFFIX)])]
    if not path.exists() or not matching:
        packed = "; unpack it first" if path.suffix.lower() == ".zip" else ""
        raise RunUnreadable(f"{path}: expected a file or folder of a finished run{packed}")
    return max(matching, key=lambda it: len(it.name))
