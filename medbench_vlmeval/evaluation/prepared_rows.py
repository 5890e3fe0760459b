"""What every evaluation does with its data and predictions before anything is scored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeVar

from ..predictions import PredictionTable, join_on_index


class PreparedData(Protocol):
    """A prepared benchmark, as far as a manifest speaks of it."""

    @property
    def name(self) -> str: ...
    @property
    def fingerprint(self) -> str: ...
    @property
    def revision(self) -> str | None: ...
    @property
    def source(self) -> str: ...
    @property
    def samples(self) -> Sequence[Any]: ...


class IndexedSample(Protocol):
    """A sample, as far as the host's index names it."""

    @property
    def index(self) -> int: ...


Sample = TypeVar("Sample", bound=IndexedSample)


def expected_samples(
    name: str, samples: Sequence[Sample], indices: Sequence[int] | None
) -> list[Sample]:
    """The samples a run is answerable for: those named, in their order, or all.

    Raises:
        ValueError: no samples, or an index that is none of theirs.
    """
    if not samples:
        raise ValueError(f"expected samples in {name}, got none; prepare the data again")
    if indices is None:
        return list(samples)
    by_index = {sample.index: sample for sample in samples}
    unknown = sorted(set(indices) - set(by_index))
    if unknown:
        raise ValueError(f"expected indices of {name}, got {unknown[:10]}; prepare the data again")
    return [by_index[index] for index in indices]


def data_facts(data: PreparedData, n_expected: int) -> dict[str, Any]:
    """What a manifest says about the data: which, from where, and whether only a part was used."""
    return {
        "name": data.name,
        "fingerprint": data.fingerprint,
        "revision": data.revision,
        "source": data.source,
        "n_samples": len(data.samples),
        "n_expected": n_expected,
        "partial": n_expected < len(data.samples),
    }


def predictions_by_index(
    table: PredictionTable, indices: Sequence[int]
) -> tuple[dict[int, str | None], tuple[str, ...]]:
    """Predictions by the index of their sample, and warnings about rows that do not fit.

    Args:
        table: as read; rows that belong to no sample are reported and left out.
        indices: of the samples expected; those without a row are reported.
    """
    joined = join_on_index(table, [str(index) for index in indices])
    warnings = list(table.warnings)
    if joined.unmatched:
        warnings.append(
            f"{table.path.name}: {len(joined.unmatched)} rows belong to no sample, not scored: "
            f"{', '.join(map(str, joined.unmatched[:10]))}"
        )
    if joined.missing:
        warnings.append(
            f"{table.path.name}: no prediction for {len(joined.missing)} of {len(indices)}: "
            f"{', '.join(map(str, joined.missing[:10]))}"
        )
    predictions = {int(index): row.get("prediction") for index, row in joined.matched.items()}
    return predictions, tuple(warnings)
