from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.data import (
    MEDSG_TASKS,
    load_medsg,
    medsg_sample,
    medsg_scenes,
    prepare_medsg_sample,
    verify_data,
)
from medbench_vlmeval.data.medsg_tasks import MEDSG_SAMPLE_PACK_NAME


@pytest.fixture(scope="module")
def pack(tmp_path_factory):
    root = tmp_path_factory.mktemp("pack")
    prepare_medsg_sample(root)
    return load_medsg(MEDSG_SAMPLE_PACK_NAME, root)


def pixels_of(path) -> np.ndarray:
    with Image.open(path) as image:
        return np.asarray(image)


def extent(mask: np.ndarray) -> tuple[int, int, int, int]:
    columns, rows = np.flatnonzero(mask.any(axis=0)), np.flatnonzero(mask.any(axis=1))
    return columns[0], rows[0], columns[-1] + 1, rows[-1] + 1


def inside(pixels: np.ndarray, box) -> np.ndarray:
    left, top, right, bottom = map(int, box)
    return pixels[top:bottom, left:right]


def of_task(pack, key):
    return [sample for sample in pack.samples if sample.task == key]


def test_the_pack_has_a_few_whole_samples_of_every_task(pack):
    counts = Counter(sample.task for sample in pack.samples)
    assert set(counts) == {task.key for task in MEDSG_TASKS}
    assert min(counts.values()) >= 2
    assert len(pack.samples) == medsg_sample.N_SCENES
    assert all(sample.problems == () and sample.is_whole for sample in pack.samples)
    assert pack.manifest["task_differences"] == {}
    assert pack.manifest["warnings"] == []


def test_every_answer_has_an_image_and_lies_in_it(pack):
    for sample in pack.samples:
        height, width, _ = pixels_of(sample.images[sample.target_image]).shape
        assert sample.size_wh == (width, height)
        assert 0 <= sample.truth.x1 < sample.truth.x2 <= width
        assert 0 <= sample.truth.y1 < sample.truth.y2 <= height


def test_pairs_differ_exactly_in_the_answer(pack):
    for sample in of_task(pack, "Registered_Diff"):
        first, second = map(pixels_of, sample.images)
        assert extent((first != second).any(axis=-1)) == sample.truth


def test_shifted_pairs_differ_exactly_in_the_answer_once_they_are_aligned(pack):
    for sample, (right_by, down_by) in zip(
        of_task(pack, "Non_Registered_Diff"), ((14, -9), (-11, 17)), strict=True
    ):
        first, second = map(pixels_of, sample.images)
        aligned = np.roll(first, (-down_by, -right_by), axis=(0, 1))
        differs = (aligned != second).any(axis=-1)
        height, width = differs.shape
        differs[:20] = differs[height - 20 :] = differs[:, :20] = differs[:, width - 20 :] = False
        assert extent(differs) == sample.truth


def test_views_show_the_marked_object_turned_or_mirrored(pack):
    for sample, undo in zip(
        of_task(pack, "multi_view"), (np.s_[::-1, ::-1], np.s_[:, ::-1]), strict=True
    ):
        first = pixels_of(sample.images[0])
        target = pixels_of(sample.images[sample.target_image])
        marked = inside(first, sample.reference_box)
        shown = inside(target, sample.truth)[undo]
        np.testing.assert_array_equal(marked[2:-2, 2:-2], shown[2:-2, 2:-2])
        assert sample.declared_size_wh == sample.size_wh != (336, 336)


@pytest.mark.parametrize("key", ["multi_view", "object_tracking", "crossmodal"])
def test_the_first_image_and_no_other_carries_a_red_frame(pack, key):
    for sample in of_task(pack, key):
        for position, path in enumerate(sample.images):
            red = (pixels_of(path) == (255, 0, 0)).all(axis=-1)
            assert red.any() == (position == 0)
            if sample.reference_box is not None and position == 0:
                assert extent(red) == sample.reference_box


def test_tracked_objects_move_and_stay_whole(pack):
    for sample in of_task(pack, "object_tracking"):
        first = pixels_of(sample.images[0])
        frame = extent((first == (255, 0, 0)).all(axis=-1))
        shown = inside(pixels_of(sample.images[sample.target_image]), sample.truth)
        assert inside(first, frame).shape == shown.shape
        np.testing.assert_array_equal(inside(first, frame)[2:-2, 2:-2], shown[2:-2, 2:-2])
        assert frame != sample.truth


def test_the_cut_out_is_the_object_of_the_second_image(pack):
    for sample in of_task(pack, "concept"):
        cut, whole = map(pixels_of, sample.images)
        shown = (cut > 0).any(axis=-1)
        part, original = inside(cut, extent(shown)), inside(whole, sample.truth)
        assert part.shape == original.shape
        kept = part.any(axis=-1)
        np.testing.assert_array_equal(part[kept], original[kept])
        assert kept.mean() > 0.7


def test_the_patch_asked_for_is_the_part_of_the_source_in_the_answer(pack):
    ordinals = ("first", "second", "third", "fourth")
    for sample in of_task(pack, "patch"):
        asked = next(
            i for i, word in enumerate(ordinals) if f"the {word} region" in sample.question
        )
        source, *patches = map(pixels_of, sample.images)
        np.testing.assert_array_equal(inside(source, sample.truth), patches[asked])


def test_described_objects_are_asked_for_in_each_of_the_three_images(pack):
    described = of_task(pack, "referring")
    assert [sample.target_image for sample in described] == [0, 1, 2]
    assert len({sample.images for sample in described}) == 1
    assert len({sample.question for sample in described}) == 3


def test_the_pack_comes_out_byte_for_byte_again(pack, tmp_path):
    report = prepare_medsg_sample(tmp_path)
    assert report.fingerprint == pack.fingerprint
    assert report.copied == pack.manifest["n_files"]


def test_a_second_call_generates_nothing(pack):
    stamps = {path: path.stat().st_mtime_ns for path in pack.root.rglob("*") if path.is_file()}
    report = prepare_medsg_sample(pack.root.parents[1])
    assert (report.copied, report.reused) == (0, pack.manifest["n_files"])
    assert report.grouping == "task"
    assert report.lines()[0] == "MedSG_sample: 17 samples, generated layout"
    assert {path: path.stat().st_mtime_ns for path in stamps} == stamps


def test_a_lost_picture_is_made_again_and_other_versions_make_the_pack_anew(tmp_path, monkeypatch):
    made = list(medsg_scenes.scenes())[:2]
    monkeypatch.setattr(medsg_scenes, "scenes", lambda: iter(made))
    prepare_medsg_sample(tmp_path)
    before = load_medsg(MEDSG_SAMPLE_PACK_NAME, tmp_path)
    before.samples[1].images[0].unlink()
    assert load_medsg(MEDSG_SAMPLE_PACK_NAME, tmp_path).samples == before.samples
    assert verify_data(MEDSG_SAMPLE_PACK_NAME, tmp_path).ok
    monkeypatch.setattr(medsg_sample, "SCENES_VERSION", 99)
    assert prepare_medsg_sample(tmp_path).revision.startswith("scenes 99, ")
