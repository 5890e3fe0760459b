"""Reading the prediction files of VLMEvalKit runs: every text as it was stored, nothing changed."""

from __future__ import annotations

import ast
import json
import math
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from .files import sha256_file
from .parsing import is_api_failure, is_refusal, without_thinking
from .prediction_formats import READERS, Records, Row, cell_text
from .types import Status

_SCORE_COLUMN = re.compile(
    r"hit|score|judge|completeness|preciseness|consistency|quality_accuracy|"
    r"judge_\w+|gpt4o_\w+|\w+_scores?"
)
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][-+]?[0-9]{1,3})?")


@dataclass(frozen=True)
class PredictionTable:
    """One prediction file, read.

    Every cell is the text the file holds, or None where it holds none; ``index`` is never None.
    """

    path: Path
    columns: tuple[str, ...]
    rows: list[Row]
    warnings: list[str]
    sha256: str
    duplicates: tuple[str, ...] = ()
    """Indices that came more than once with different predictions; the first is kept."""


@dataclass(frozen=True)
class Joined:
    """Predictions beside the samples of a data set, by the text of the index."""

    matched: dict[str, Row]
    """Rows by index, in the order of the data set."""
    missing: list[str]
    """Samples without a prediction."""
    unmatched: list[str]
    """Predictions without a sample."""
    hints: list[str] = field(default_factory=list)
    """What probably happened to an index, e.g. a spreadsheet that took its zeros."""


def read_predictions(path: Path | str) -> PredictionTable:
    """Read a prediction file: xlsx, tsv, csv, json, jsonl or pkl. The file is never written to.

    Indices and predictions are texts exactly as stored (``007``, ``1e5``, ``None``, ``N/A`` stay);
    numbers are written without a useless ``.0``; empty and absent cells and real NaN are None. Rows
    with the same index and text are one row; of different texts the first is kept and the index
    reported. An empty file gives no rows and a warning.

    Raises:
        FileNotFoundError: there is no such file.
        ValueError: another format, a file that cannot be read, that already holds scores, lacks a
            column, or has a row without an index. The message names file, row and remedy.
    """
    path = Path(path)
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        known = ", ".join(READERS)
        raise ValueError(f"{path}: expected one of {known}, got {path.suffix!r}; convert the file")
    if not path.is_file():
        raise FileNotFoundError(f"{path}: no such prediction file")
    digest = sha256_file(path)
    if path.stat().st_size == 0:
        return PredictionTable(path, (), [], [f"{path}: no rows, the file is empty"], digest)
    records = reader(path)
    _check_columns(path, records)
    rows, duplicates = _distinct(path, records)
    if not rows and not any("no rows" in warning for warning in records.warnings):
        records.warnings.append(f"{path}: no rows, nothing to score; was the inference finished?")
    return PredictionTable(path, tuple(records.columns), rows, records.warnings, digest, duplicates)


def classify_prediction(text: object) -> Status:
    """What kind of reply a prediction is: ANSWER, MISSING, API_FAIL or REFUSAL.

    None, NaN, blank text, and the text "nan" that some loaders make of an empty cell are MISSING;
    "None" and "N/A" are answers. A refusal may follow a thinking part.
    """
    if text is None or (isinstance(text, float) and math.isnan(text)):
        return Status.MISSING
    words = str(text).strip()
    if not words or words.casefold() == "nan":
        return Status.MISSING
    if is_api_failure(words):
        return Status.API_FAIL
    answer, _ = without_thinking(words)
    return Status.REFUSAL if is_refusal(answer) else Status.ANSWER


def parse_path_list(cell: object) -> list[str]:
    """The paths in a cell: one path, or a list written as JSON or as Python literals.

    Nothing in the cell is ever run. An empty cell gives an empty list.

    Raises:
        ValueError: the cell starts like a list but is not a list of texts.
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return []
    if isinstance(cell, (list, tuple)):
        return _texts_only(cell, cell)
    text = str(cell).strip()
    if not text.startswith("["):
        return [text] if text else []
    try:
        return _texts_only(json.loads(text), cell)
    except (json.JSONDecodeError, RecursionError):
        pass
    try:
        return _texts_only(ast.literal_eval(text), cell)
    except (SyntaxError, ValueError, TypeError, RecursionError, MemoryError) as error:
        raise _not_a_list(cell) from error


def join_on_index(table: PredictionTable, dataset_indices: Iterable[object]) -> Joined:
    """Lay predictions beside the samples of a data set by the text of their index.

    Nothing is matched by similarity: a key that lost its zeros stays unmatched, and a hint says so.

    Raises:
        ValueError: the data set has an index twice.
    """
    wanted = [index_text(index) or "" for index in dataset_indices]
    twice = [index for index, times in Counter(wanted).items() if times > 1]
    if twice:
        raise ValueError(f"expected distinct data set indices, got twice: {twice[:10]}")
    rows = {str(row["index"]): row for row in table.rows}
    missing = [index for index in wanted if index not in rows]
    known = set(wanted)
    unmatched = [index for index in rows if index not in known]
    matched = {index: rows[index] for index in wanted if index in rows}
    return Joined(matched, missing, unmatched, _lost_forms(missing, unmatched))


def index_text(value: object) -> str | None:
    """An index as text: texts as they are, numbers without a useless ``.0``, None for nothing."""
    return cell_text(value)


def _check_columns(path: Path, records: Records) -> None:
    for column in records.columns:
        if _SCORE_COLUMN.fullmatch(column.strip().casefold()):
            raise ValueError(
                f'{path}: expected a prediction file, got one with column "{column}", so it holds '
                "scores already; give the file the inference wrote, without score columns"
            )
    twice = [name for name, times in Counter(records.columns).items() if times > 1]
    if twice:
        raise ValueError(f"{path}: expected distinct column names, got twice {twice}; rename one")
    missing = [name for name in ("index", "prediction") if name not in records.columns]
    if missing and (records.rows or records.columns):
        raise ValueError(
            f"{path}: expected columns index and prediction, got {list(records.columns)}; "
            f"{' and '.join(missing)} missing, is this a prediction file?"
        )


def _distinct(path: Path, records: Records) -> tuple[list[Row], tuple[str, ...]]:
    """One row per index, and the indices whose predictions differ; warnings go to `records`."""
    rows: dict[str, Row] = {}
    repeated: dict[str, None] = {}
    differing: dict[str, None] = {}
    for place, row in records.rows:
        index = row["index"]
        if index is None:
            if any(value is not None for value in row.values()):
                raise ValueError(f"{path}: {place} has no index; fill it in or remove the row")
            continue
        if index not in rows:
            rows[index] = row
        elif row["prediction"] == rows[index]["prediction"]:
            repeated[index] = None
        else:
            differing[index] = None
    if repeated:
        records.warnings.append(
            f"{path}: {len(repeated)} indices come more than once with the same prediction and "
            f"count once: {_shown(repeated)}"
        )
    if differing:
        records.warnings.append(
            f"{path}: {len(differing)} indices come more than once with different predictions, the "
            f"first is used: {_shown(differing)}"
        )
    return list(rows.values()), tuple(differing)


def _shown(indices: Iterable[str]) -> str:
    listed = list(indices)
    return ", ".join(listed[:10]) + (" ..." if len(listed) > 10 else "")


def _lost_forms(missing: Sequence[str], unmatched: Sequence[str]) -> list[str]:
    by_number = {float(index): index for index in missing if _NUMBER.fullmatch(index)}
    hints = []
    for index in unmatched:
        original = by_number.get(float(index)) if _NUMBER.fullmatch(index) else None
        if original is not None:
            hints.append(
                f"prediction {index!r} is probably sample {original!r}: a spreadsheet or loader "
                "read the index as a number; write it as text again"
            )
    return hints


def _texts_only(value: object, cell: object) -> list[str]:
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, str) for item in value):
        raise _not_a_list(cell)
    return list(value)


def _not_a_list(cell: object) -> ValueError:
    return ValueError(
        f"expected a list of paths as JSON or Python literals, got {str(cell)[:200]!r}; "
        'write it like ["a.png", "b.png"]'
    )
