"""What preparing MedQ-Bench reports and records: counts beside the published ones, problems."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from .. import __version__
from ..files import sha256_file
from .image_store import ImageStore
from .medq import medq_fingerprint_of
from .medq_rows import MedQRelease
from .medq_tables import QUESTION_TYPES, Kind, MedQTable
from .places import TABLE_NAME
from .prepare_report import PrepareReport, ids_by_problem
from .store import Record

MEDQ_LAYOUT_VERSION = 1

_GROUPINGS: Mapping[Kind, str] = {"mcq": "type", "deg": "level"}
"""What the counts of a report are by; reasoning tables have one group."""


def medq_report_on(
    release: MedQRelease,
    table: MedQTable,
    store: ImageStore,
    records: Sequence[Record],
    *,
    name: str,
    index_text: str,
) -> PrepareReport:
    """What the preparation did and found.

    Args:
        release: What was read.
        table: Which table it should be; its published sizes are compared.
        store: What wrote the images.
        records: The lines of the table.
        name: Name of the prepared data set.
        index_text: What the indices are, see `add_indices`.
    """
    images = [image for record in records for image in record["images"]]
    counts = _group_counts(records, table.kind)
    return PrepareReport(
        name=name,
        root=store.root,
        source=release.source,
        layout=release.layout,
        revision=release.revision,
        n_samples=len(records),
        images={
            "named": len(images),
            "present": sum(image is not None for image in images),
            "different": store.n_files,
        },
        copied=store.copied,
        reused=store.reused,
        group_counts=counts,
        group_differences={
            group: (counts.get(group, 0), published)
            for group, published in table.n_by_type.items()
            if counts.get(group, 0) != published
        },
        problems=ids_by_problem({record["id"]: record for record in records}),
        fingerprint=medq_fingerprint_of(records),
        warnings=(*release.warnings, *_count_warnings(table, len(records))),
        grouping=_GROUPINGS.get(table.kind, "kind"),
        details=_details(release, records, index_text),
    )


def _group_counts(records: Sequence[Record], kind: Kind) -> dict[str, int]:
    if kind == "mcq":
        types = Counter(record["question_type"] or "unclear" for record in records)
        return {group: types[group] for group in (*QUESTION_TYPES, "unclear") if types[group]}
    if kind == "deg":
        return dict(sorted(Counter(record["level"] or "unknown" for record in records).items()))
    return {kind: len(records)}


def _count_warnings(table: MedQTable, n_samples: int) -> tuple[str, ...]:
    if table.n_published is None or n_samples == table.n_published:
        return ()
    return (
        f"{n_samples} rows, the published scores are fractions of {table.n_published}: "
        "scores are not comparable with them",
    )


def _details(release: MedQRelease, records: Sequence[Record], index_text: str) -> dict[str, str]:
    by = Counter(record["question_type_by"] for record in records if record["question_type_by"])
    modalities = Counter(record["modality"] for record in records if record["modality"])
    found = {
        "types by": ", ".join(f"{way} {by[way]}" for way in sorted(by)),
        "modalities": ", ".join(f"{name} {modalities[name]}" for name in sorted(modalities)),
        "index": index_text,
        "cases": str(len({record["case"] for record in records})),
        "read": ", ".join(f"{file} sha256 {digest}" for file, digest in release.files.items()),
    }
    return {label: text for label, text in found.items() if text}


def medq_manifest(
    report: PrepareReport, release: MedQRelease, table: MedQTable, store: ImageStore
) -> dict[str, Any]:
    """What is recorded beside the table."""
    grouping = report.grouping
    return {
        "layout_version": MEDQ_LAYOUT_VERSION,
        "benchmark": "MedQ",
        "kind": table.kind,
        "name": report.name,
        "source": report.source,
        "source_layout": report.layout,
        "source_sha256": dict(release.files),
        "revision": report.revision,
        "package_version": __version__,
        "prepared_at": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "n_samples": report.n_samples,
        "n_files": store.n_files,
        "images": dict(report.images),
        "bytes": store.n_bytes,
        "grouping": grouping,
        f"{grouping}_counts": dict(report.group_counts),
        f"{grouping}_differences": {
            group: list(pair) for group, pair in report.group_differences.items()
        },
        "details": dict(report.details),
        "problems": {problem: list(ids) for problem, ids in report.problems.items()},
        "warnings": list(report.warnings),
        "fingerprint": report.fingerprint,
        "table_sha256": sha256_file(report.root / TABLE_NAME),
    }
