"""Making lost edits again: mark just those predictions as failed, and ``--reuse`` redoes them."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from .editing import EditCollector, EditStore, failed_call_line
from .predictions import read_predictions


@dataclass(frozen=True)
class Repair:
    """What a repair did."""

    lost: tuple[str, ...]
    backup: Path | None


def mark_lost_edits(predictions: Path, store: EditStore | None = None) -> Repair:
    """Rewrite the rows whose edited image is gone to the host's text for a failed call.

    This is the one place where a prediction file is changed, at the user's explicit wish; the file
    as it was is kept beside it with the suffix ``.before-repair``.

    Args:
        predictions: a prediction file the host wrote (xlsx, tsv or json).
        store: where the images may still lie.

    Returns:
        The indices rewritten, and the backup; no backup when nothing was lost.

    Raises:
        ValueError: a format in which the host keeps no predictions.
    """
    collector = EditCollector(predictions, store or EditStore.default())
    table = read_predictions(predictions)
    lost = {
        str(row["index"]) for row in table.rows if collector.collect(row.get("prediction")).lost
    }
    if not lost:
        return Repair((), None)
    rows = [
        {**row, "prediction": failed_call_line("edited image lost")}
        if str(row["index"]) in lost
        else row
        for row in table.rows
    ]
    backup = predictions.with_name(predictions.name + ".before-repair")
    shutil.copy2(predictions, backup)
    _write_like(predictions, pd.DataFrame(rows, columns=list(table.columns), dtype=object))
    return Repair(tuple(sorted(lost)), backup)


def _write_like(path: Path, frame: pd.DataFrame) -> None:
    temporary = path.with_name(f".{path.stem}.repair{path.suffix}")
    if path.suffix == ".xlsx":
        frame.to_excel(temporary, index=False)
    elif path.suffix == ".tsv":
        frame.to_csv(temporary, sep="\t", index=False)
    elif path.suffix == ".json":
        frame.to_json(temporary, orient="records", indent=4, force_ascii=False)
    elif path.suffix == ".jsonl":
        frame.to_json(temporary, orient="records", lines=True, force_ascii=False)
    else:
        raise ValueError(f"expected a prediction file in xlsx, tsv, json or jsonl, got {path.name}")
    temporary.replace(path)
