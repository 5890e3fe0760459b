"""Reads the parquet mirror of MedSG-Bench, batch by batch, with the images inside the rows."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePosixPath
from typing import Any

from .columns import ColumnsUnclear
from .medsg_official import image_names
from .medsg_rows import MedSGRelease, MedSGRow, numbers_in
from .medsg_tasks import MEDSG_TASKS, MedSGTask, task_named
from .parquet import bytes_and_name, pyarrow_parquet, rows_of
from .releases import SourceImage

_SPLIT = "bench"
_MOST_IMAGES = 6
_IMAGE_COLUMNS = tuple(f"image_bytes_{position}" for position in range(1, _MOST_IMAGES + 1))
_TEXT_COLUMNS = (
    "raw_json",
    "question",
    "answer_raw_json",
    "answer_xyxy",
    "additional_info",
    "need_format",
    "size",
    "images_json",
    "num_images",
)
_FIELDS = ("question", "additional_info", "need_format", "size", "mask")


def read_parquet_medsg(
    files: Sequence[Path], *, source: str, revision: str | None = None
) -> MedSGRelease:
    """The rows of the split ``bench`` in `files`; images stay on disk until their row is reached.

    Rows are numbered within their task in the order of the files. The published row is taken from
    ``raw_json``, and from the other columns where that lacks a field.

    Raises:
        ColumnsUnclear: the columns of the mirror are not there.
        ValueError: no row belongs to a known task.
        ImportError: pyarrow is not installed.
    """
    parquet = pyarrow_parquet()
    columns = {file: list(parquet.read_schema(file).names) for file in files}
    for file, names in columns.items():
        _require_columns(file, names)
    labels = Counter(str(row["task"]) for row in _bench_rows(parquet, columns, wanted=("task",)))
    unknown = {label: times for label, times in labels.items() if task_named(label) is None}
    if len(unknown) == len(labels):
        raise ValueError(
            f"expected tasks such as {MEDSG_TASKS[0].key} in {files[0].parent}, "
            f"got {', '.join(unknown) or 'no rows'}; give the MedSG-Bench parquet files"
        )
    return MedSGRelease(
        source=source,
        layout="parquet",
        count=sum(labels.values()) - sum(unknown.values()),
        rows=_rows(parquet, columns),
        revision=revision,
        warnings=tuple(
            f"{times} rows of the unknown task {label!r} were left out"
            for label, times in unknown.items()
        ),
    )


def _require_columns(file: Path, names: Sequence[str]) -> None:
    has_text = "raw_json" in names or {"question", "answer_xyxy"} <= set(names)
    if "task" in names and has_text and _IMAGE_COLUMNS[0] in names:
        return
    raise ColumnsUnclear(
        f"expected the columns task, raw_json (or question and answer_xyxy) and "
        f"{_IMAGE_COLUMNS[0]} in {file}, found {', '.join(names)}; give the parquet mirror of "
        "MedSG-Bench, or the folder with Task1.json to Task8.json"
    )


def _bench_rows(
    parquet: Any, columns: Mapping[Path, Sequence[str]], *, wanted: Sequence[str]
) -> Iterator[dict[str, Any]]:
    for file, names in columns.items():
        read = [name for name in ("split", *wanted) if name in names]
        for row in rows_of(parquet, [file], read):
            if row.get("split") in (None, _SPLIT):
                yield row


def _rows(parquet: Any, columns: Mapping[Path, Sequence[str]]) -> Iterator[MedSGRow]:
    counted: Counter[str] = Counter()
    paths = tuple(f"image_path_{position}" for position in range(1, _MOST_IMAGES + 1))
    wanted = ("task", *_TEXT_COLUMNS, *paths, *_IMAGE_COLUMNS)
    for row in _bench_rows(parquet, columns, wanted=wanted):
        task = task_named(row["task"])
        if task is not None:
            yield _row(task, counted[task.key], row)
            counted[task.key] += 1


def _row(task: MedSGTask, number: int, row: Mapping[str, Any]) -> MedSGRow:
    problems: list[str] = []
    raw = _json_of(row.get("raw_json"))
    if not isinstance(raw, dict):
        problems += ["raw_json unreadable"] if row.get("raw_json") else []
        raw = {}
    if task_named(raw.get("task", task.key)) is not task:
        problems.append("task field names another task")
    fields = {name: raw.get(name, row.get(name)) for name in _FIELDS}
    fields["answer"] = _answer(raw, row, problems)
    names = image_names(raw.get("images", _json_of(row.get("images_json"))))
    images = _images(row, names)
    if row.get("num_images") not in (None, len(images)):
        problems.append("num_images is not the number of images")
    whole_names = tuple(
        names[position] if position < len(names) else image.name if image else ""
        for position, image in enumerate(images)
    )
    return MedSGRow(task, number, fields, images, whole_names, tuple(problems))


def _answer(raw: Mapping[str, Any], row: Mapping[str, Any], problems: list[str]) -> Any:
    column = row.get("answer_xyxy")
    if "answer" in raw:
        if numbers_in(column) not in (None, numbers_in(raw["answer"])):
            problems.append("answer_xyxy is not the answer of raw_json")
        return raw["answer"]
    stored = _json_of(row.get("answer_raw_json"))
    return column if stored is None else stored


def _images(row: Mapping[str, Any], names: Sequence[str]) -> tuple[SourceImage | None, ...]:
    found: list[SourceImage | None] = []
    for position, column in enumerate(_IMAGE_COLUMNS, start=1):
        data, inner_name = bytes_and_name(row.get(column), column)
        path = row.get(f"image_path_{position}") or inner_name
        name = PurePosixPath(str(path).replace("\\", "/")).name
        found.append(SourceImage(name=name, data=data) if data is not None else None)
    filled = max((index for index, image in enumerate(found, start=1) if image), default=0)
    return tuple(found[: max(filled, min(len(names), _MOST_IMAGES))])


def _json_of(value: Any) -> Any:
    if not isinstance(value, (str, bytes)):
        return value
    try:
        return json.loads(value)
    except ValueError:
        return None
