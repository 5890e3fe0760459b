"""What a preparation reports: counts, differences from the published ones, problems by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from ..official.medebench import ORGAN_COUNTS
from .medebench import fingerprint_of
from .places import ROLE_FOLDERS
from .releases import Release
from .remedies import N_PUBLISHED_SAMPLES, shortened
from .store import Record, SampleStore

Id = TypeVar("Id", int, str)


@dataclass(frozen=True)
class PrepareReport:
    """What a preparation did and found; `lines` is the text a user reads."""

    name: str
    root: Path
    source: str
    layout: str
    revision: str | None
    n_samples: int
    images: Mapping[str, int]
    """Role, or another kind of image, to the number of images present."""
    copied: int
    reused: int
    """Image files that were already there with the right hash."""
    group_counts: Mapping[str, int]
    """Samples by organ or by task, see `grouping`."""
    group_differences: Mapping[str, tuple[int, int]]
    """Group to (samples here, samples published), where they differ."""
    problems: Mapping[str, tuple[int | str, ...]]
    """Problem to the ids of the samples that have it."""
    fingerprint: str
    warnings: tuple[str, ...] = ()
    grouping: str = "organ"
    """What the groups are: ``organ``, or ``task`` for MedSG-Bench."""
    details: Mapping[str, str] = field(default_factory=dict)
    """Further lines of the report: label (at most eleven letters) to text."""

    @property
    def organ_counts(self) -> Mapping[str, int]:
        """`group_counts` of MedEBench, whose groups are organs."""
        return self.group_counts

    @property
    def organ_differences(self) -> Mapping[str, tuple[int, int]]:
        """`group_differences` of MedEBench, whose groups are organs."""
        return self.group_differences

    @classmethod
    def of_earlier(cls, root: Path, manifest: Mapping[str, Any]) -> PrepareReport:
        """The report of a preparation that is already there, with nothing copied."""
        grouping = manifest.get("grouping", "organ")
        return cls(
            name=manifest["name"],
            root=root,
            source=manifest["source"],
            layout=manifest["source_layout"],
            revision=manifest["revision"],
            n_samples=manifest["n_samples"],
            images=manifest["images"],
            copied=0,
            reused=manifest.get("n_files", sum(manifest["images"].values())),
            group_counts=manifest[f"{grouping}_counts"],
            group_differences={
                group: (here, published)
                for group, (here, published) in manifest[f"{grouping}_differences"].items()
            },
            problems={problem: tuple(ids) for problem, ids in manifest["problems"].items()},
            fingerprint=manifest["fingerprint"],
            warnings=tuple(manifest["warnings"]),
            grouping=grouping,
            details=manifest.get("details", {}),
        )

    def lines(self) -> list[str]:
        """The report as lines of text, without colour."""
        images = _counts_text(self.images)
        return [
            f"{self.name}: {self.n_samples} samples, {self.layout} layout",
            f"  source       {self.source}",
            f"  revision     {self.revision or 'unknown'}",
            f"  written to   {self.root}",
            f"  images       {images} ({self.copied} copied, {self.reused} already there)",
            f"  {self.grouping + 's':<11}  {_counts_text(self.group_counts)}",
            *self._difference_lines(),
            *(f"  {label:<11}  {text}" for label, text in self.details.items()),
            *self._problem_lines(),
            *(f"  warning      {warning}" for warning in self.warnings),
            f"  fingerprint  {self.fingerprint}",
        ]

    def _difference_lines(self) -> list[str]:
        if not self.group_differences:
            return []
        pairs = ", ".join(
            f"{group} {here}/{published}"
            for group, (here, published) in self.group_differences.items()
        )
        return [f"  differs      from the published counts (here/published): {pairs}"]

    def _problem_lines(self) -> list[str]:
        if not self.problems:
            return ["  problems     none"]
        return [
            f"  problem      {problem} ({len(ids)}): {shortened(ids)}"
            for problem, ids in self.problems.items()
        ]


def report_on(
    release: Release, name: str, store: SampleStore, records: Mapping[int, Record]
) -> PrepareReport:
    organs = Counter(record["organ"] for record in records.values())
    return PrepareReport(
        name=name,
        root=store.root,
        source=release.source,
        layout=release.layout,
        revision=release.revision,
        n_samples=len(records),
        images={
            role: sum(record[role] is not None for record in records.values())
            for role in ROLE_FOLDERS
        },
        copied=store.copied,
        reused=store.reused,
        group_counts=dict(sorted(organs.items())),
        group_differences=_organ_differences(organs) if release.is_published else {},
        problems=ids_by_problem(records),
        fingerprint=fingerprint_of(list(records.values())),
        warnings=_warnings(release, len(records)),
    )


def _organ_differences(organs: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys([*ORGAN_COUNTS, *sorted(organs)])
    pairs = {organ: (organs.get(organ, 0), ORGAN_COUNTS.get(organ, 0)) for organ in names}
    return {organ: pair for organ, pair in pairs.items() if pair[0] != pair[1]}


def _counts_text(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count}" for name, count in counts.items())


def ids_by_problem(records: Mapping[Id, Record]) -> dict[str, tuple[Id, ...]]:
    """Problem to the ids of the records that have it, problems in alphabetical order."""
    ids: dict[str, list[Id]] = {}
    for number, record in records.items():
        for problem in record["problems"]:
            ids.setdefault(problem, []).append(number)
    return {problem: tuple(ids[problem]) for problem in sorted(ids)}


def _warnings(release: Release, n_samples: int) -> tuple[str, ...]:
    if release.is_published and n_samples != N_PUBLISHED_SAMPLES:
        return (
            f"{n_samples} samples, the published data has {N_PUBLISHED_SAMPLES}: "
            "scores are not comparable with published ones",
        )
    return ()
