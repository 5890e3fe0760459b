from __future__ import annotations

import builtins
import csv
import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from medbench_vlmeval.data import ColumnsUnclear, load_medebench, prepare_medebench
from medbench_vlmeval.files import write_jsonl_atomic

from .releases import KEYS, images_of, metadata_row, write, write_official


def prepared(source: Path, **options: Any):
    return prepare_medebench(source, progress=False, **options)


def texts(number: int, **changes: Any) -> dict[str, Any]:
    row = metadata_row(number, **changes)
    return {name: row[name] for name in row if name not in KEYS.values()}


def structs(number: int) -> dict[str, Any]:
    """Images as the Hub stores them: bytes and a file name."""
    images = images_of(number)
    return {KEYS[role]: {"bytes": images[role], "path": f"{number}.png"} for role in KEYS}


def write_parquet(path: Path, rows: list[dict[str, Any]], metadata: Any = None) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    table = pa.Table.from_pylist(rows)
    if metadata is not None:
        table = table.replace_schema_metadata({b"huggingface": json.dumps(metadata).encode()})
    pq.write_table(table, path)


@pytest.fixture
def official(tmp_path: Path) -> str:
    """Fingerprint of the same three samples in the official layout."""
    return prepared(write_official(tmp_path / "official"), name="official").fingerprint


def test_parquet_with_bytes_and_paths_gives_the_same_data(tmp_path, official):
    rows = [texts(number) | structs(number) for number in (1, 2, 3)]
    write_parquet(tmp_path / "hub" / "data" / "train-0.parquet", rows[:2])
    write_parquet(tmp_path / "hub" / "data" / "train-1.parquet", rows[2:])
    report = prepared(tmp_path / "hub")
    assert (report.layout, report.n_samples) == ("parquet", 3)
    assert report.fingerprint == official
    assert load_medebench().samples[0].previous.read_bytes() == images_of(1)["previous"]


def test_parquet_with_plain_bytes_gives_the_same_data(tmp_path, official):
    rows = [
        texts(number) | {KEYS[role]: data for role, data in images_of(number).items()}
        for number in (1, 2, 3)
    ]
    write_parquet(tmp_path / "hub" / "train.parquet", rows)
    assert prepared(tmp_path / "hub").fingerprint == official


def test_parquet_with_paths_gives_the_same_data(tmp_path, official):
    source = write_official(tmp_path / "hub")
    (source / "editing" / "editing_metadata.json").unlink()
    write_parquet(source / "train.parquet", [metadata_row(number) for number in (1, 2, 3)])
    report = prepared(source)
    assert (report.layout, report.fingerprint) == ("parquet", official)


def test_absent_images_in_parquet_are_reported_by_id(tmp_path):
    rows = [texts(number) | structs(number) for number in (1, 2, 3)]
    rows[1][KEYS["roi"]] = None
    rows[2][KEYS["reference"]] = {"bytes": None, "path": "gone.png"}
    write_parquet(tmp_path / "hub" / "train.parquet", rows)
    assert prepared(tmp_path / "hub").problems == {"reference missing": (3,), "roi missing": (2,)}


def test_numbered_organs_are_decoded_with_the_names_beside_them(tmp_path):
    rows = [texts(number, Organ=number - 1) | structs(number) for number in (1, 2, 3)]
    feature = {"Organ": {"names": ["Hair", "GI Tract", "Feet"], "_type": "ClassLabel"}}
    write_parquet(tmp_path / "hub" / "train.parquet", rows, {"info": {"features": feature}})
    assert set(prepared(tmp_path / "hub").organ_counts) == {
        "Hair",
        "Gastrointestinal Tract",
        "Feet",
    }


def test_unclear_columns_are_listed_and_can_be_named(tmp_path, official):
    rows = [texts(number) | structs(number) for number in (1, 2, 3)]
    for row in rows:
        row["image_a"], row["image_b"] = row.pop(KEYS["previous"]), row.pop(KEYS["reference"])
    write_parquet(tmp_path / "hub" / "train.parquet", rows)
    with pytest.raises(ColumnsUnclear, match=r"Columns found: .*image_a, image_b"):
        prepared(tmp_path / "hub")
    columns = {"previous": "image_a", "reference": "image_b"}
    assert prepared(tmp_path / "hub", columns=columns).fingerprint == official


def test_rows_without_an_id_are_numbered_only_when_asked(tmp_path, official):
    rows = [texts(number) | structs(number) for number in (1, 2, 3)]
    for row in rows:
        del row["id"]
    write_parquet(tmp_path / "hub" / "train.parquet", rows)
    with pytest.raises(ColumnsUnclear, match="id: none found"):
        prepared(tmp_path / "hub")
    assert prepared(tmp_path / "hub", columns={"id": "#row"}).fingerprint == official


def test_a_column_that_holds_no_images_is_refused(tmp_path):
    rows = [texts(1) | structs(1) | {"numbers": [1, 2]}]
    write_parquet(tmp_path / "hub" / "train.parquet", rows)
    with pytest.raises(ColumnsUnclear, match=r"expected an image in column 'numbers'.*got list"):
        prepared(tmp_path / "hub", columns={"roi": "numbers"})


def test_parquet_files_with_different_columns_are_refused(tmp_path):
    write_parquet(tmp_path / "hub" / "a.parquet", [texts(1) | structs(1)])
    write_parquet(tmp_path / "hub" / "b.parquet", [texts(2) | structs(2) | {"score": 1.0}])
    with pytest.raises(ColumnsUnclear, match=r"different columns .*b\.parquet: .*score"):
        prepared(tmp_path / "hub")


def test_an_id_in_two_splits_is_refused_before_anything_is_written(tmp_path, lmu):
    write_parquet(
        tmp_path / "hub" / "train.parquet", [texts(1) | structs(1), texts(2) | structs(2)]
    )
    write_parquet(tmp_path / "hub" / "validation.parquet", [texts(2) | structs(2)])
    with pytest.raises(ValueError, match="1 repeated ids: 2;"):
        prepared(tmp_path / "hub")
    assert list(lmu.iterdir()) == []


def test_more_rows_than_one_batch_are_read(tmp_path):
    rows = [texts(number) | structs(number) for number in range(1, 41)]
    write_parquet(tmp_path / "hub" / "train.parquet", rows)
    report = prepared(tmp_path / "hub")
    assert (report.n_samples, report.copied) == (40, 120)


def test_without_pyarrow_the_error_says_what_to_install(tmp_path, monkeypatch):
    write_parquet(tmp_path / "hub" / "train.parquet", [texts(1) | structs(1)])
    original = builtins.__import__

    def without_pyarrow(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("pyarrow"):
            raise ImportError(name)
        return original(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", without_pyarrow)
    with pytest.raises(ImportError, match=r'pip install "medbench-vlmeval\[hub\]"'):
        prepared(tmp_path / "hub")


def imagefolder_rows(source: Path) -> list[dict[str, Any]]:
    rows = []
    for number in (1, 2, 3):
        names = {f"{KEYS[role]}_file_name": f"images/{role}_{number}.png" for role in KEYS}
        for role, data in images_of(number).items():
            write(source / "train" / "images" / f"{role}_{number}.png", data)
        rows.append(texts(number) | names)
    return rows


def test_a_table_of_json_lines_beside_images_gives_the_same_data(tmp_path, official):
    rows = imagefolder_rows(tmp_path / "hub")
    write_jsonl_atomic(tmp_path / "hub" / "train" / "metadata.jsonl", rows)
    report = prepared(tmp_path / "hub")
    assert (report.layout, report.fingerprint) == ("imagefolder", official)


def test_a_csv_table_beside_images_gives_the_same_data(tmp_path, official):
    rows = imagefolder_rows(tmp_path / "hub")
    with (tmp_path / "hub" / "train" / "metadata.csv").open("w", newline="") as stream:
        writer = csv.DictWriter(stream, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    assert prepared(tmp_path / "hub").fingerprint == official


def test_a_snapshot_may_hold_the_official_layout_deeper_down(tmp_path, official):
    write_official(tmp_path / "hub" / "MedEBench")
    report = prepared(tmp_path / "hub")
    assert (report.layout, report.fingerprint) == ("official", official)


def test_a_snapshot_of_links_into_a_cache_is_read(tmp_path, official):
    write_official(tmp_path / "blobs")
    for path in (tmp_path / "blobs").rglob("*.*"):
        link = tmp_path / "snapshot" / path.relative_to(tmp_path / "blobs")
        link.parent.mkdir(parents=True, exist_ok=True)
        link.symlink_to(path)
    report = prepared(tmp_path / "snapshot")
    assert report.fingerprint == official
    assert not load_medebench().samples[0].previous.is_symlink()
