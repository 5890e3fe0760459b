from __future__ import annotations

import importlib.util
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.data import (
    load_medebench,
    prepare_medebench_sample,
    sample_pack,
    sample_recipes,
    verify_data,
)
from medbench_vlmeval.data import sample_pictures as pictures
from medbench_vlmeval.data.sample_recipes import RECIPES
from medbench_vlmeval.official.medebench import ORGANS

FROM_SKIMAGE = [recipe.id for recipe in RECIPES if recipe.package == "skimage"]


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    root = tmp_path_factory.mktemp("pack")
    prepare_medebench_sample(root)
    return load_medebench("MedEBench_sample", root)


def pixels_of(path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def test_the_pack_has_about_a_dozen_whole_samples_without_problems(pack):
    assert len(pack.samples) >= 13
    assert all(sample.problems == () for sample in pack.samples)
    assert all(sample.organ in ORGANS for sample in pack.samples)
    assert all(sample.task.endswith(".") for sample in pack.samples)
    assert pack.manifest["organ_differences"] == {}


def test_outside_the_roi_reference_and_picture_are_equal_and_inside_they_differ(pack):
    for sample in pack.samples:
        previous, reference = pixels_of(sample.previous), pixels_of(sample.reference)
        roi = pixels_of(sample.roi)
        assert previous.shape == reference.shape == (*roi.shape, 3)
        assert previous.dtype == roi.dtype == np.uint8
        assert set(np.unique(roi).tolist()) == {0, 255}
        outside = roi == 0
        np.testing.assert_array_equal(previous[outside], reference[outside])
        changed = np.abs(previous.astype(int) - reference).max(axis=-1)
        assert (changed[~outside] > 0).mean() > 0.6, sample.id
        assert changed.max() > 40, sample.id


def test_roi_shares_cover_small_and_large_edits(pack):
    shares = [float((pixels_of(sample.roi) > 0).mean()) for sample in pack.samples]
    assert min(shares) < 0.01
    assert max(shares) >= 0.5
    assert sum(0.05 < share < 0.3 for share in shares) >= 3


def test_the_pack_comes_out_byte_for_byte_again(pack, tmp_path):
    report = prepare_medebench_sample(tmp_path)
    assert report.fingerprint == pack.fingerprint
    assert report.copied == sum(report.images.values())


def test_without_pydicom_the_remaining_samples_are_the_same(pack, tmp_path, monkeypatch):
    find = importlib.util.find_spec

    def without_pydicom(name: str, *arguments: Any) -> Any:
        return None if name == "pydicom" else find(name, *arguments)

    monkeypatch.setattr(pictures.importlib.util, "find_spec", without_pydicom)
    prepare_medebench_sample(tmp_path)
    smaller = load_medebench("MedEBench_sample", tmp_path)
    assert [sample.id for sample in smaller.samples] == FROM_SKIMAGE
    assert len(smaller.samples) >= 10
    for sample in smaller.samples:
        assert sample.sha256 == pack.sample(sample.id).sha256


def test_the_pack_grows_when_pydicom_is_there(tmp_path, monkeypatch):
    pytest.importorskip("pydicom")
    monkeypatch.setattr(sample_recipes, "RECIPES", RECIPES[12:])
    with monkeypatch.context() as patched:
        patched.setattr(pictures.importlib.util, "find_spec", lambda name: None)
        with pytest.raises(FileNotFoundError, match="reinstall"):
            prepare_medebench_sample(tmp_path)
    report = prepare_medebench_sample(tmp_path)
    assert report.n_samples == len(RECIPES[12:])
    assert set(report.organ_counts) == {"Gastrointestinal Tract", "Spine and Bones", "Torso"}


def test_a_second_call_generates_nothing(pack):
    stamps = {path: path.stat().st_mtime_ns for path in pack.root.rglob("*") if path.is_file()}
    report = prepare_medebench_sample(pack.root.parents[1])
    assert (report.copied, report.reused) == (0, 3 * len(pack.samples))
    assert report.fingerprint == pack.fingerprint
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_lost_picture_is_made_again(tmp_path, monkeypatch):
    monkeypatch.setattr(sample_recipes, "RECIPES", RECIPES[7:9])
    prepare_medebench_sample(tmp_path)
    before = load_medebench("MedEBench_sample", tmp_path)
    before.samples[1].roi.unlink()
    assert load_medebench("MedEBench_sample", tmp_path).samples == before.samples
    assert verify_data("MedEBench_sample", tmp_path).ok


def test_ids_and_texts_are_one_of_a_kind():
    assert len({recipe.id for recipe in RECIPES}) == len(RECIPES)
    assert len({recipe.instruction for recipe in RECIPES}) == len(RECIPES)
    assert len({recipe.description for recipe in RECIPES}) == len(RECIPES)


def test_a_pack_of_other_versions_is_made_anew_unless_the_folder_is_read_only(
    tmp_path, monkeypatch
):
    monkeypatch.setattr(sample_recipes, "RECIPES", RECIPES[7:8])
    prepare_medebench_sample(tmp_path)
    monkeypatch.setattr(sample_pack, "RECIPE_VERSION", 99)
    with monkeypatch.context() as patched:
        patched.setattr(sample_pack.os, "access", lambda path, mode: False)
        assert prepare_medebench_sample(tmp_path).revision.startswith("recipes 1, ")
    assert prepare_medebench_sample(tmp_path).revision.startswith("recipes 99, ")
