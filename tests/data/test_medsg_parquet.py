from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from medbench_vlmeval.data import ColumnsUnclear, load_medsg, prepare_medsg, verify_data

from .medsg_releases import (
    image_bytes,
    mirror_row,
    row,
    rows_of_all_tasks,
    write_mirror,
    write_zipped,
)

pytest.importorskip("pyarrow")


def prepared(source: Path, **options):
    return prepare_medsg(source, progress=False, **options)


def problems_of_cells(tmp_path: Path, key: str, /, **cells) -> tuple[str, ...]:
    prepared(write_mirror(tmp_path / "mirror", [mirror_row(row(key), **cells)]))
    (sample,) = load_medsg().samples
    return sample.problems


def test_the_mirror_gives_the_same_data_as_the_official_layout(tmp_path):
    rows = rows_of_all_tasks(3)
    official = prepared(write_zipped(tmp_path / "official", rows), name="official")
    flat = [mirror_row(each) for of_task in rows.values() for each in of_task]
    write_mirror(tmp_path / "mirror", flat[:10], "bench-0")
    write_mirror(tmp_path / "mirror", flat[10:], "bench-1")
    mirror = prepared(tmp_path / "mirror", name="mirror")
    assert mirror.layout == "parquet"
    assert mirror.problems == {}
    assert mirror.fingerprint == official.fingerprint
    names = [sample.image_names for sample in load_medsg("mirror").samples]
    assert names == [sample.image_names for sample in load_medsg("official").samples]
    assert verify_data("mirror").ok


def test_rows_are_numbered_within_their_task_in_the_order_of_the_files(tmp_path):
    mixed = [row("patch"), row("concept"), row("patch", 1), row("concept", 1)]
    prepared(write_mirror(tmp_path / "mirror", [mirror_row(each) for each in mixed]))
    keys = [(sample.key, sample.truth.y1) for sample in load_medsg().samples]
    assert keys == [
        ("concept-0000", 11),
        ("concept-0001", 12),
        ("patch-0000", 11),
        ("patch-0001", 12),
    ]


def test_rows_of_other_splits_are_left_out(tmp_path):
    rows = [mirror_row(row("patch"), split="train"), mirror_row(row("patch", 1))]
    assert prepared(write_mirror(tmp_path / "mirror", rows)).n_samples == 1
    assert load_medsg().samples[0].truth.y1 == 12


def test_rows_of_an_unknown_task_are_left_out_and_counted(tmp_path):
    rows = [
        mirror_row(row("patch")),
        mirror_row(row("patch", 1), task="weather"),
        mirror_row(row("patch", 2), task="weather"),
    ]
    report = prepared(write_mirror(tmp_path / "mirror", rows))
    assert report.n_samples == 1
    assert "2 rows of the unknown task 'weather' were left out" in report.warnings


def test_a_mirror_of_unknown_tasks_only_is_refused(tmp_path):
    source = write_mirror(tmp_path / "mirror", [mirror_row(row("patch"), task="weather")])
    with pytest.raises(ValueError, match=r"expected tasks such as Registered_Diff .* got weather"):
        prepared(source)


@pytest.mark.parametrize("label", ["Multi-View Grounding", "MultiView", "MV", "Task3"])
def test_other_spellings_of_a_task_are_understood(tmp_path, label):
    assert problems_of_cells(tmp_path, "multi_view", task=label) == ()
    assert load_medsg().samples[0].task == "multi_view"


def test_the_size_is_read_from_the_published_row(tmp_path):
    raw = json.dumps(row("multi_view", size=[300, 200]))
    found = problems_of_cells(tmp_path, "multi_view", raw_json=raw)
    assert found == ("size is not that of the image",)
    assert load_medsg().samples[0].official_size_wh == (300, 200)


def test_without_a_published_row_the_other_columns_serve(tmp_path):
    assert problems_of_cells(tmp_path, "patch", raw_json="{") == ("raw_json unreadable",)
    (sample,) = load_medsg().samples
    assert sample.question == row("patch")["question"]
    assert sample.truth == (10, 11, 100, 120)


def test_an_answer_that_the_columns_give_differently_is_reported(tmp_path):
    found = problems_of_cells(tmp_path, "patch", answer_xyxy=[1, 2, 3, 4])
    assert found == ("answer_xyxy is not the answer of raw_json",)
    assert load_medsg().samples[0].truth == (10, 11, 100, 120)


def test_a_published_row_of_another_task_than_the_column_says_is_reported(tmp_path):
    raw = json.dumps(row("patch", task="concept"))
    assert problems_of_cells(tmp_path, "patch", raw_json=raw) == ("task field names another task",)


def test_images_may_be_structs_of_bytes_and_path(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet

    cells = mirror_row(row("concept"))
    structs = {
        f"image_bytes_{k}": {"bytes": cells[f"image_bytes_{k}"], "path": f"dir/{k}.png"}
        for k in (1, 2)
    }
    plain = {name: cells[name] for name in ("task", "question", "answer_xyxy")}
    (tmp_path / "mirror").mkdir()
    pa.parquet.write_table(
        pa.Table.from_pylist([plain | structs]), tmp_path / "mirror" / "x.parquet"
    )
    assert prepared(tmp_path / "mirror").problems == {}
    (sample,) = load_medsg().samples
    assert sample.image_names == ("1.png", "2.png")
    assert sample.images[1].read_bytes() == cells["image_bytes_2"]


def test_an_absent_image_keeps_the_place_of_the_others(tmp_path):
    assert problems_of_cells(tmp_path, "patch", image_bytes_2=None) == ("image 2 missing",)
    first, second, third = load_medsg().samples[0].images
    assert second is None
    assert third.read_bytes() == image_bytes("Task6/set/0_3.png")
    assert first.read_bytes() == image_bytes("Task6/set/0_1.png")


def test_an_image_more_than_the_row_names_is_kept_and_reported(tmp_path):
    extra = image_bytes("Task6/set/9_9.png")
    found = problems_of_cells(tmp_path, "patch", image_bytes_4=extra)
    assert found == ("num_images is not the number of images",)
    assert len(load_medsg().samples[0].images) == 4


def test_a_damaged_image_in_a_row_is_reported(tmp_path):
    found = problems_of_cells(tmp_path, "patch", image_bytes_1=b"\x89PNG\r\n\x1a\nbroken")
    assert found == ("image 1 unreadable",)


def test_other_parquet_files_are_refused_with_their_columns(tmp_path):
    source = write_mirror(tmp_path / "mirror", [{"task": "patch", "text": "x"}])
    with pytest.raises(ColumnsUnclear, match="found task, text; give the parquet mirror"):
        prepared(source)


MEMORY = """
import sys
from pathlib import Path
from medbench_vlmeval.data import prepare_medsg
def peak_kib():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
prepare_medsg(sys.argv[2], name="small", progress=False)
before = peak_kib()
prepare_medsg(sys.argv[1], progress=False)
print(peak_kib() - before)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads its peak of memory from /proc")
def test_a_mirror_is_never_whole_in_memory(tmp_path):
    # 100 MB that do not compress, and decode to nothing
    random = os.urandom(400_000)
    rows = [
        mirror_row(row("concept", number), image_bytes_1=str(number).encode() + random)
        for number in range(250)
    ]
    small = write_mirror(tmp_path / "small", rows[:1])
    source = write_mirror(tmp_path / "mirror", rows, row_group_size=20)
    size_kib = sum(path.stat().st_size for path in source.iterdir()) // 1024
    process = subprocess.run(
        [sys.executable, "-c", MEMORY, str(source), str(small)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])},
    )
    assert size_kib > 90_000
    assert 0 < int(process.stdout) < size_kib
