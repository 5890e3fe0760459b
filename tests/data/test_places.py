from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.data import lmu_root
from medbench_vlmeval.data.places import data_root_of, dataset_root


def test_the_data_folder_is_the_one_the_variable_names(lmu):
    assert lmu_root() == lmu


def test_without_the_variable_the_data_folder_is_in_the_home(monkeypatch):
    monkeypatch.delenv("LMUData")
    assert lmu_root() == Path.home() / "LMUData"


def test_a_named_folder_that_is_absent_is_kept_and_not_created(monkeypatch, tmp_path):
    monkeypatch.setenv("LMUData", str(tmp_path / "absent"))
    assert lmu_root() == tmp_path / "absent"
    assert not (tmp_path / "absent").exists()


def test_the_home_is_filled_in_where_a_shell_did_not(monkeypatch):
    monkeypatch.setenv("LMUData", "~/somewhere")
    assert lmu_root() == Path.home() / "somewhere"


@pytest.mark.parametrize("name", ["", "..", ".hidden", "a/b", "a\\b", "a b"])
def test_a_name_that_could_leave_the_data_folder_is_refused(name):
    with pytest.raises(ValueError, match="data set name"):
        dataset_root(name)


def test_an_image_outside_prepared_data_has_no_data_folder(tmp_path):
    (tmp_path / "previous").mkdir()
    (tmp_path / "previous" / "1.png").touch()
    assert data_root_of(tmp_path / "previous" / "1.png") is None
    (tmp_path / "samples.jsonl").touch()
    assert data_root_of(tmp_path / "previous" / "1.png") == tmp_path
    assert data_root_of(tmp_path / "elsewhere" / "1.png") is None
