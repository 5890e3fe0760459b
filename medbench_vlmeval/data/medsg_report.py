"""What preparing MedSG-Bench reports and records: counts beside the published ones, problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from .. import __version__
from ..files import sha256_file
from .image_store import ImageStore
from .medsg import medsg_fingerprint_of
from .medsg_rows import MedSGRelease
from .medsg_tasks import MEDSG_TASKS, MULTI_VIEW_NOTE, N_PUBLISHED_MEDSG
from .places import TABLE_NAME
from .prepare_report import PrepareReport, ids_by_problem
from .store import Record

MEDSG_LAYOUT_VERSION = 1


def medsg_report_on(
    release: MedSGRelease, name: str, store: ImageStore, records: Mapping[str, Record]
) -> PrepareReport:
    """What the preparation did and found."""
    counts = Counter(record["task"] for record in records.values())
    images = [image for record in records.values() for image in record["images"]]
    present = sum(image is not None for image in images)
    pairs = {task.key: (counts[task.key], task.n_published) for task in MEDSG_TASKS}
    differences = {key: pair for key, pair in pairs.items() if pair[0] != pair[1]}
    return PrepareReport(
        name=name,
        root=store.root,
        source=release.source,
        layout=release.layout,
        revision=release.revision,
        n_samples=len(records),
        images={"named": len(images), "present": present, "different": store.n_files},
        copied=store.copied,
        reused=store.reused,
        group_counts={task.key: counts[task.key] for task in MEDSG_TASKS if counts[task.key]},
        group_differences=differences if release.is_published else {},
        problems=ids_by_problem(records),
        fingerprint=medsg_fingerprint_of(records.values()),
        warnings=(*release.warnings, *_count_warnings(release, len(records))),
        grouping="task",
        details=_details(release, list(records.values())),
    )


def _details(release: MedSGRelease, records: Sequence[Record]) -> dict[str, str]:
    sources = Counter(record["target_by"] or "nothing" for record in records)
    named_by = ", ".join(f"{source} {sources[source]}" for source in sorted(sources))
    cases = len({record["case"] for record in records})
    details = {"answer in": f"the image named by: {named_by}", "cases": str(cases)}
    return details | ({"published": MULTI_VIEW_NOTE} if release.is_published else {})


def _count_warnings(release: MedSGRelease, n_samples: int) -> tuple[str, ...]:
    if not release.is_published or n_samples == N_PUBLISHED_MEDSG:
        return ()
    return (
        f"{n_samples} samples, the published data has {N_PUBLISHED_MEDSG}: "
        "overall scores are not comparable with published ones",
    )


def medsg_manifest(report: PrepareReport, store: ImageStore) -> dict[str, Any]:
    """What is recorded beside the table."""
    return {
        "layout_version": MEDSG_LAYOUT_VERSION,
        "benchmark": "MedSG",
        "name": report.name,
        "source": report.source,
        "source_layout": report.layout,
        "revision": report.revision,
        "package_version": __version__,
        "prepared_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "n_samples": report.n_samples,
        "n_files": store.n_files,
        "images": dict(report.images),
        "bytes": store.n_bytes,
        "grouping": report.grouping,
        "task_counts": dict(report.group_counts),
        "task_differences": {task: list(pair) for task, pair in report.group_differences.items()},
        "details": dict(report.details),
        "problems": {problem: list(ids) for problem, ids in report.problems.items()},
        "warnings": list(report.warnings),
        "fingerprint": report.fingerprint,
        "table_sha256": sha256_file(report.root / TABLE_NAME),
    }
