from __future__ import annotations

import json

import numpy as np
import pytest

from medbench_vlmeval.data import DataWouldChange, load_medsg, prepare_medsg, verify_data
from medbench_vlmeval.parsing import RunLengths

from .medsg_releases import WH, mirror_row, row, write_mirror, write_unpacked, write_zipped
from .releases import encoded, write

MASK = np.zeros((WH[1], WH[0]), dtype=np.uint8)
MASK[20:60, 30:90] = 255
RUNS = RunLengths.of(MASK)


def prepared(source, **options):
    report = prepare_medsg(source, progress=False, **options)
    return report, load_medsg(options.get("name", "MedSG_test")).samples[0]


@pytest.mark.parametrize("written", [RUNS.to_coco(), json.dumps(RUNS.to_coco())])
def test_run_lengths_of_a_row_are_kept(tmp_path, written):
    source = write_unpacked(tmp_path / "r", {"referring": [row("referring", mask=written)]})
    report, sample = prepared(source)
    assert (sample.mask, report.problems) == (RUNS, {})
    assert verify_data("MedSG_test").ok


@pytest.mark.parametrize("zipped", [True, False])
def test_a_mask_file_of_a_row_is_read_as_white_is_inside(tmp_path, zipped):
    name = "Task8/masks/0.png"
    rows = {"referring": [row("referring", mask=f"MedSG-Bench/MedSG-Bench/{name}")]}
    if zipped:
        import zipfile

        source = write_zipped(tmp_path / "r", rows)
        with zipfile.ZipFile(source / "MedSG-Bench" / "Task8.zip", "a") as archive:
            archive.writestr(name, encoded(MASK))
    else:
        source = write_unpacked(tmp_path / "r", rows)
        write(source / "MedSG-Bench" / name, encoded(MASK))
    assert prepared(source)[1].mask == RUNS


def test_the_mirror_keeps_the_run_lengths_of_the_published_row(tmp_path):
    source = write_mirror(tmp_path / "m", [mirror_row(row("concept", mask=RUNS.to_coco()))])
    assert prepared(source.parent)[1].mask == RUNS


@pytest.mark.parametrize(
    ("mask", "problem"),
    [
        ("MedSG-Bench/MedSG-Bench/Task8/none.png", "mask unreadable"),
        ("../../etc/passwd", "mask unreadable"),
        ({"size": [336, 336], "counts": [7]}, "mask unreadable"),
        ([1, 2, 3], "mask unreadable"),
        ({"size": [2, 2], "counts": [1, 3]}, "mask is not of the size of the image"),
        ({"size": [336, 336], "counts": [336 * 336]}, "mask is empty"),
    ],
)
def test_an_unusable_mask_is_reported_and_the_box_stays(tmp_path, mask, problem):
    source = write_unpacked(tmp_path / "r", {"concept": [row("concept", mask=mask)]})
    report, sample = prepared(source)
    assert (sample.mask, sample.problems) == (None, (problem,))
    assert sample.truth is not None
    assert list(report.problems) == [problem]


def test_rows_without_masks_keep_their_fingerprint_and_masks_change_it(tmp_path):
    plain = write_unpacked(tmp_path / "a", {"concept": [row("concept")]})
    empty = write_unpacked(tmp_path / "b", {"concept": [row("concept", mask=None)]})
    masked = write_unpacked(tmp_path / "c", {"concept": [row("concept", mask=RUNS.to_coco())]})
    before = prepared(plain)[0].fingerprint
    assert prepared(empty)[0].fingerprint == before
    with pytest.raises(DataWouldChange):
        prepared(masked)
    assert prepared(masked, replace=True)[0].fingerprint != before
