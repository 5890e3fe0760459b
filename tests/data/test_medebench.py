from __future__ import annotations

import pickle
import shutil
import time

import pytest

from medbench_vlmeval.data import (
    DataNotPrepared,
    load_medebench,
    prepare_medebench,
    prepare_medebench_sample,
    sample_of,
    sample_recipes,
)
from medbench_vlmeval.files import read_jsonl, write_jsonl_atomic

from .cases import shared_case
from .releases import write_official


@pytest.fixture
def data(tmp_path):
    prepare_medebench(write_official(tmp_path / "release"), progress=False)
    return load_medebench()


@pytest.mark.parametrize("case", shared_case("runs.jsonl", "B119a"))
def test_prepared_data_loads_without_network(data, no_network, case):
    required = case["required"]
    samples = load_medebench().samples
    assert (len(samples) == 3) is required["works"]
    assert len(no_network) == required["network_calls"]


@pytest.mark.parametrize("case", shared_case("runs.jsonl", "B119b"))
def test_unprepared_data_says_what_to_get_and_takes_no_network(lmu, no_network, case):
    start = time.monotonic()
    with pytest.raises(DataNotPrepared) as caught:
        load_medebench()
    assert time.monotonic() - start < case["required"]["seconds_max"]
    listed = {
        "exact files": ["editing/editing_metadata.json", "editing/previous_mask/{id}.png"],
        "addresses": [
            "https://github.com/mliuby/MedEBench",
            "https://huggingface.co/datasets/LIUMinghao/MedEBench",
        ],
        "sizes": ["0.55 GB", "0.9 MB", "1,182 samples"],
    }
    for kind in case["required"]["message_lists"]:
        assert all(text in str(caught.value) for text in listed[kind]), kind
    assert "medbench data prepare medebench --from PATH" in str(caught.value)
    assert str(lmu) in str(caught.value)
    assert no_network == []


def test_the_message_tells_that_the_named_data_folder_does_not_exist(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path / "typo"))
    with pytest.raises(DataNotPrepared, match=r"typo, named by LMUData; it does not exist yet"):
        load_medebench()


def test_the_fingerprint_does_not_depend_on_the_place(data, tmp_path, monkeypatch):
    shutil.move(tmp_path / "LMUData", tmp_path / "moved")
    monkeypatch.setenv("LMUData", str(tmp_path / "moved"))
    moved = load_medebench()
    assert moved.fingerprint == data.fingerprint
    assert moved.samples[0].previous == tmp_path / "moved/medbench/MedEBench_test/previous/1.png"


@pytest.mark.parametrize("field", ["instruction", "description", "organ", "task"])
def test_the_fingerprint_follows_every_text(data, field):
    table = data.root / "samples.jsonl"
    records = read_jsonl(table)[0]
    write_jsonl_atomic(table, [records[0] | {field: "Other."}, *records[1:]])
    assert load_medebench().fingerprint != data.fingerprint


def test_the_fingerprint_ignores_addresses_notes_and_the_order_of_rows(data):
    table = data.root / "samples.jsonl"
    records = [record | {"url": "", "problems": ["x"]} for record in read_jsonl(table)[0]]
    write_jsonl_atomic(table, reversed(records))
    assert load_medebench().fingerprint == data.fingerprint


def test_a_file_that_is_gone_stops_the_load_and_is_named(data):
    data.samples[1].roi.unlink()
    with pytest.raises(DataNotPrepared, match=r"1 files .*previous_mask/2\.png"):
        load_medebench()


def test_a_table_that_points_outside_the_folder_is_refused(data):
    table = data.root / "samples.jsonl"
    records = read_jsonl(table)[0]
    records[0]["previous"]["file"] = "../../../etc/passwd"
    write_jsonl_atomic(table, records)
    with pytest.raises(ValueError, match="expected paths such as"):
        load_medebench()


def test_a_cut_table_is_refused(data):
    table = data.root / "samples.jsonl"
    table.write_text(table.read_text(encoding="utf-8")[:-20], encoding="utf-8")
    with pytest.raises(ValueError, match="incomplete"):
        load_medebench()


def test_the_sample_of_an_image_is_found_from_any_of_its_files(data):
    for sample in data.samples:
        for path in (sample.previous, sample.reference, sample.roi):
            assert sample_of(path) == sample
            assert sample_of(str(path)).id == sample.id


def test_other_images_belong_to_no_sample(data, tmp_path):
    assert sample_of(tmp_path / "release/editing/previous/1.png") is None
    assert sample_of(data.root / "previous" / "99.png") is None


def test_a_relative_path_finds_its_sample(data, monkeypatch):
    monkeypatch.chdir(data.root)
    assert sample_of("previous/../previous/2.png").id == 2


def test_the_sample_of_an_image_follows_a_new_preparation(data, tmp_path):
    assert sample_of(data.samples[0].previous).instruction == "Remove stain 1."
    again = write_official(tmp_path / "again", rows={1: {"prompt": "New."}})
    prepare_medebench(again, replace=True, progress=False)
    assert sample_of(data.samples[0].previous).instruction == "New."


def test_data_travels_to_other_processes(data):
    assert pickle.loads(pickle.dumps(data)) == data
    assert hash(data.samples[0]) == hash(pickle.loads(pickle.dumps(data.samples[0])))


def test_a_sample_is_found_by_id(data):
    assert data.sample(2).instruction == "Remove stain 2."
    with pytest.raises(KeyError, match="no sample with id 9"):
        data.sample(9)


def test_the_sample_pack_needs_no_preparation(monkeypatch, no_network):
    monkeypatch.setattr(sample_recipes, "RECIPES", sample_recipes.RECIPES[7:9])
    assert [sample.id for sample in load_medebench("MedEBench_sample").samples] == [8, 9]
    assert load_medebench("MedEBench_sample").fingerprint == prepare_medebench_sample().fingerprint
    assert no_network == []
