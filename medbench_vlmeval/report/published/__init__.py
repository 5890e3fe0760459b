"""The published result tables of MedEBench, MedSG-Bench, MedQ-Bench and MedQ-Deg, cell by cell.

The tables are data, one JSON file a paper in this folder; docs/published.md describes them. Figures
are kept as printed. What is doubtful about a cell is marked with a code of `CAVEATS` and a note,
and never corrected.
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files

from ...naming import HOST_NAMES
from .reading import read_tables
from .tables import (
    CAVEATS,
    Column,
    Judge,
    Mark,
    PublishedCell,
    PublishedTable,
    Row,
    Source,
)

__all__ = [
    "CAVEATS",
    "Column",
    "Judge",
    "Mark",
    "PublishedCell",
    "PublishedTable",
    "Row",
    "Source",
    "ledger_name",
    "published_cells",
    "published_models",
    "tables",
]


@cache
def tables() -> tuple[PublishedTable, ...]:
    """Every table of the ledger, file by file in the order of their names.

    Raises:
        ValueError: a file does not follow the schema, or two tables share an id.
    """
    paths = (path for path in files(__package__).iterdir() if path.name.endswith(".json"))
    found: dict[str, PublishedTable] = {}
    for path in sorted(paths, key=lambda path: path.name):
        for table in read_tables(path.read_text(encoding="utf-8"), path.name):
            if table.id in found:
                raise ValueError(
                    f"{path.name}: expected an id of its own for every table, got {table.id!r} "
                    "twice; rename one"
                )
            found[table.id] = table
    return tuple(found.values())


def ledger_name(dataset: str) -> str:
    """The name that the ledger has for a data set: ours, whatever VLMEvalKit calls it."""
    return HOST_NAMES.get(dataset, dataset)


def published_cells(
    benchmark: str | None = None, dataset: str | None = None
) -> tuple[PublishedCell, ...]:
    """The published figures of a benchmark, or those that a run of one data set is held against.

    Args:
        benchmark: ``MedEBench``, ``MedSG-Bench``, ``MedQ-Bench`` or ``MedQ-Deg``; all by default.
        dataset: our name, e.g. ``MedSG_Referring_test``; all by default. Then a column of
            `MedSG_test` that is one task appears as the overall figure of that task's data set.

    Returns:
        One cell for every figure, in the order of the tables; none for a data set that no paper
        reports on. Cells marked ``no_counterpart`` are among them.

    Raises:
        ValueError: there is no such benchmark.
    """
    known = {table.benchmark for table in tables()}
    if benchmark is not None and benchmark not in known:
        raise ValueError(f"expected one of {', '.join(sorted(known))}, got {benchmark!r}")
    chosen = (table for table in tables() if benchmark in (None, table.benchmark))
    return tuple(cell for table in chosen for cell in table.cells(dataset))


def published_models(dataset: str) -> tuple[str, ...]:
    """The models that have figures for `dataset`, as published, in the order of the tables."""
    return tuple(dict.fromkeys(cell.model for cell in published_cells(dataset=dataset)))
