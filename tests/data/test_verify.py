from __future__ import annotations

import pytest

from medbench_vlmeval.data import DataNotPrepared, load_medebench, prepare_medebench, verify_data

from .releases import write_official


@pytest.fixture
def data(tmp_path):
    prepare_medebench(write_official(tmp_path / "release"), progress=False)
    return load_medebench()


def test_untouched_data_verifies(data):
    report = verify_data()
    assert report.ok
    assert (report.n_files, report.changed, report.missing, report.extra) == (9, (), (), ())
    assert report.fingerprint == data.fingerprint
    assert report.lines()[0] == f"MedEBench_test: as prepared, 9 files checked in {data.root}"


def test_one_changed_byte_is_found_even_at_equal_size(data):
    path = data.samples[0].previous
    content = bytearray(path.read_bytes())
    content[-1] ^= 1
    path.write_bytes(bytes(content))
    report = verify_data()
    assert not report.ok
    assert report.changed == ("previous/1.png",)
    assert "NOT as prepared" in report.lines()[0]


def test_a_missing_file_is_found(data):
    data.samples[2].reference.unlink()
    report = verify_data()
    assert not report.ok
    assert report.missing == ("changed/3.png",)


def test_an_extra_file_is_named_but_harmless(data):
    (data.root / "previous" / "999.png").write_bytes(b"x")
    report = verify_data()
    assert report.ok
    assert report.extra == ("previous/999.png",)


def test_an_edited_table_is_found(data):
    table = data.root / "samples.jsonl"
    table.write_text(table.read_text(encoding="utf-8").replace("Teeth", "Eyes"), encoding="utf-8")
    report = verify_data()
    assert not report.ok
    assert not report.table_matches
    assert any("samples.jsonl is not the table" in line for line in report.lines())


def test_data_that_is_not_there_is_an_error():
    with pytest.raises(DataNotPrepared, match="Absent is not prepared"):
        verify_data("Absent")
