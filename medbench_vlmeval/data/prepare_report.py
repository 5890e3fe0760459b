"""What a preparation reports: counts, differences from the published ones, problems by id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..official.medebench import ORGAN_COUNTS
from .medebench import fingerprint_of
from .places import ROLE_FOLDERS
from .releases import Release
from .remedies import N_PUBLISHED_SAMPLES, shortened
from .store import Record, SampleStore


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
    """Role to the number of images present."""
    copied: int
    reused: int
    """Image files that were already there with the right hash."""
    organ_counts: Mapping[str, int]
    organ_differences: Mapping[str, tuple[int, int]]
    """Organ to (samples here, samples published), where they differ."""
    problems: Mapping[str, tuple[int, ...]]
    """Problem to the ids of the samples that have it."""
    fingerprint: str
    warnings: tuple[str, ...] = ()

    @classmethod
    def of_earlier(cls, root: Path, manifest: Mapping[str, Any]) -> PrepareReport:
        """The report of a preparation that is already there, with nothing copied."""
        return cls(
            name=manifest["name"],
            root=root,
            source=manifest["source"],
            layout=manifest["source_layout"],
            revision=manifest["revision"],
            n_samples=manifest["n_samples"],
            images=manifest["images"],
            copied=0,
            reused=sum(manifest["images"].values()),
            organ_counts=manifest["organ_counts"],
            organ_differences={
                organ: (here, published)
                for organ, (here, published) in manifest["organ_differences"].items()
            },
            problems={problem: tuple(ids) for problem, ids in manifest["problems"].items()},
            fingerprint=manifest["fingerprint"],
            warnings=tuple(manifest["warnings"]),
        )

    def lines(self) -> list[str]:
        """The report as lines of text, without colour."""
        images = ", ".join(f"{role} {self.images[role]}" for role in ROLE_FOLDERS)
        organs = ", ".join(f"{organ} {count}" for organ, count in self.organ_counts.items())
        return [
            f"{self.name}: {self.n_samples} samples, {self.layout} layout",
            f"  source       {self.source}",
            f"  revision     {self.revision or 'unknown'}",
            f"  written to   {self.root}",
            f"  images       {images} ({self.copied} copied, {self.reused} already there)",
            f"  organs       {organs}",
            *self._difference_lines(),
            *self._problem_lines(),
            *(f"  warning      {warning}" for warning in self.warnings),
            f"  fingerprint  {self.fingerprint}",
        ]

    def _difference_lines(self) -> list[str]:
        if not self.organ_differences:
            return []
        pairs = ", ".join(
            f"{organ} {here}/{published}"
            for organ, (here, published) in self.organ_differences.items()
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
        organ_counts=dict(sorted(organs.items())),
        organ_differences=_organ_differences(organs) if release.is_published else {},
        problems=_ids_by_problem(records),
        fingerprint=fingerprint_of(list(records.values())),
        warnings=_warnings(release, len(records)),
    )


def _organ_differences(organs: Mapping[str, int]) -> dict[str, tuple[int, int]]:
    names = dict.fromkeys([*ORGAN_COUNTS, *sorted(organs)])
    pairs = {organ: (organs.get(organ, 0), ORGAN_COUNTS.get(organ, 0)) for organ in names}
    return {organ: pair for organ, pair in pairs.items() if pair[0] != pair[1]}


def _ids_by_problem(records: Mapping[int, Record]) -> dict[str, tuple[int, ...]]:
    ids: dict[str, list[int]] = {}
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
