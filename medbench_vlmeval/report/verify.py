"""Recomputing the tables of a run from its rows, to see that one follows from the other."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..files import sha256_file
from ..stats import sum_of_means, summarise
from ..types import MetricInfo, Score, Summary
from .runs import Run, read_score
from .safe_text import visible
from .table_numbers import number_of

_NUMBERS = ("value", "low", "high", "n_expected", "n_answered", "n_scored", "floor", "ceiling")
_TOLERANCE = 1e-9
"""Between versions of numpy; a number that was changed differs by more."""


@dataclass(frozen=True)
class Verification:
    """What was recomputed, and every difference found; none means that the run holds."""

    run: Run
    n_rows: int
    n_numbers: int
    """Numbers of the tables that were recomputed."""
    problems: tuple[str, ...]

    @property
    def holds(self) -> bool:
        return not self.problems

    def lines(self) -> list[str]:
        """What a user should know, a line each."""
        head = f"{visible(self.run.stem)}: {self.n_rows} rows, {self.n_numbers} numbers recomputed"
        if self.holds:
            return [f"{head}, all as written"]
        n = len(self.problems)
        found = f"{head}, {n} {'problem' if n == 1 else 'problems'}"
        return [found, *(f"  {visible(it)}" for it in self.problems)]


def verify_run(run: Run) -> Verification:
    """Recompute every table of a run from ``_scores.jsonl``, and check the hashes of its files.

    Edited images are held against the hashes in their rows, too.

    Raises:
        RunUnreadable: rows or tables that cannot be read at all.
    """
    summaries = tuple(recomputed(run))
    table_problems, n_table = _compared_table(run, summaries)
    flat_problems, n_flat = _compared_summary(run, summaries)
    problems = [
        *_hash_problems(run),
        *_image_problems(run),
        *_row_problems(run),
        *table_problems,
        *flat_problems,
    ]
    return Verification(run, len(run.rows), n_table + n_flat, tuple(problems))


def recomputed(run: Run) -> Iterator[Summary]:
    """The summaries of a run, computed anew from its rows, by the groups its rows name."""
    for (group_by, group), members in _grouped(run.rows).items():
        yield from _of_group(run.metrics, members, group_by, group)


def _grouped(
    rows: Sequence[Mapping[str, Any]],
) -> dict[tuple[str, str], list[Mapping[str, Any]]]:
    groups: dict[tuple[str, str], list[Mapping[str, Any]]] = {("overall", "Overall"): list(rows)}
    for row in rows:
        for group_by, group in row.get("groups", {}).items():
            groups.setdefault((group_by, group), []).append(row)
    return groups


def _of_group(
    metrics: Sequence[MetricInfo], rows: Sequence[Mapping[str, Any]], group_by: str, group: str
) -> Iterator[Summary]:
    found: dict[str, Summary] = {}
    for metric in metrics:
        pairs = [(row, read_score(row["scores"].get(metric.name))) for row in rows]
        scored: list[tuple[Mapping[str, Any], Score]] = [
            (row, score) for row, score in pairs if score is not None
        ]
        if scored:
            found[metric.name] = summarise(
                [score for _, score in scored],
                metric,
                clusters=[row["cluster"] for row, _ in scored],
                group=group,
                group_by=group_by,
            )
    for metric in metrics:
        if metric.sum_of and metric.name in found:
            parts = [found[name] for name in metric.sum_of if name in found]
            found[metric.name] = sum_of_means(found[metric.name], parts)
    yield from found.values()


def _hash_problems(run: Run) -> Iterator[str]:
    predictions = run.manifest.get("predictions", {})
    expected = {predictions.get("file"): predictions.get("sha256")} if predictions else {}
    expected |= run.manifest.get("files", {})
    for name, sha256 in expected.items():
        path = run.manifest_path.with_name(str(name))
        if not path.is_file():
            yield f"{name}: is not there"
        elif sha256_file(path) != sha256:
            yield f"{name}: is not the file that the manifest was written for (other SHA-256)"


def _image_problems(run: Run) -> Iterator[str]:
    folder = run.beside("_images")
    for name, sha256 in _images_of(run.rows).items():
        path = folder / name
        if not path.is_file():
            yield f"{folder.name}/{name}: is not there"
        elif sha256_file(path) != sha256:
            yield f"{folder.name}/{name}: is not the image that was scored (other SHA-256)"


def _images_of(rows: Iterable[Mapping[str, Any]]) -> dict[str, str]:
    """The edited images that rows and replicas name, each once, with its hash."""
    edits = [it for row in rows for it in (row.get("edited"), *row.get("replicas", ())) if it]
    # A name is the hash of its file; the row has it once more, except in replicas.
    return {
        Path(name).name: str(it.get("sha256") or Path(name).stem)
        for it in edits
        if (name := it.get("file"))
    }


def _row_problems(run: Run) -> Iterator[str]:
    expected = run.manifest.get("data", {}).get("n_expected")
    if expected != len(run.rows):
        yield f"expected {expected} rows, as the manifest says, found {len(run.rows)}"
    indices = [row.get("index") for row in run.rows]
    if len(set(indices)) != len(indices):
        yield "some rows have the same index"
    if run.rows and "groups" not in run.rows[0]:
        yield "rows name no groups (an early version wrote them); only overall is recomputed"


def _compared_table(run: Run, summaries: Iterable[Summary]) -> tuple[list[str], int]:
    anew = {(it.group_by, it.group, it.metric): it for it in summaries}
    problems: list[str] = []
    n_compared = 0
    for line in run.table:
        key = (line["group_by"], line["group"], line["metric"])
        summary = anew.pop(key, None)
        if summary is None:
            problems.append(f"{_named(key)}: in the table, but not among the rows")
            continue
        for name in _NUMBERS:
            n_compared += 1
            written, computed = number_of(line, name), getattr(summary, name)
            if not _equal(written, computed):
                problems.append(f"{_named(key)} {name}: written {written}, recomputed {computed}")
    problems += [f"{_named(key)}: follows from the rows, but is not in the table" for key in anew]
    return problems, n_compared


def _compared_summary(run: Run, summaries: Sequence[Summary]) -> tuple[list[str], int]:
    computed: dict[str, float | None] = {}
    for it in summaries:
        if it.group_by == "overall":
            computed |= {it.metric: it.value, f"{it.metric}_low": it.low}
            computed |= {f"{it.metric}_high": it.high, f"{it.metric}_n": it.n_scored}
        else:
            computed[f"{it.metric}|{it.group_by}={it.group}"] = it.value
    problems: list[str] = []
    compared = [name for name in run.summary if name in computed]
    for name in compared:
        if not _equal(run.summary[name], computed[name]):
            problems.append(
                f"{name}: {run.summary[name]} in _score.json, recomputed {computed[name]}"
            )
    return problems, len(compared)


def _named(key: tuple[str, str, str]) -> str:
    group_by, group, metric = key
    return metric if group_by == "overall" else f"{metric}, {group_by} {group}"


def _equal(written: float | None, computed: float | None) -> bool:
    if written is None or computed is None:
        return written is None and computed is None
    return math.isclose(written, computed, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE)
