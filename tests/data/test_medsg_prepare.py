from __future__ import annotations

import json
import math
import os
import signal
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

from medbench_vlmeval.data import (
    MEDSG_TASKS,
    DataNotPrepared,
    DataWouldChange,
    load_medsg,
    prepare_medsg,
    prepare_medsg_from_hub,
    verify_data,
)
from medbench_vlmeval.data.places import dataset_root

from .hub_server import COMMIT, hub_of
from .medsg_releases import (
    WH,
    image_bytes,
    row,
    rows_of_all_tasks,
    write_tables,
    write_unpacked,
    write_zipped,
)
from .releases import encoded, picture, write


def prepared(source: Path, **options):
    return prepare_medsg(source, progress=False, **options)


def problems_of(tmp_path: Path, key: str, /, **changes) -> tuple[str, ...]:
    """What is reported for one row that differs from a good one by `changes`."""
    source = write_unpacked(tmp_path / "release", {key: [row(key, **changes)]})
    prepared(source)
    (sample,) = load_medsg().samples
    return sample.problems


def test_zipped_and_unpacked_releases_give_the_same_data(tmp_path):
    rows = rows_of_all_tasks(2)
    zipped = prepared(write_zipped(tmp_path / "zipped", rows), name="zipped")
    unpacked = prepared(write_unpacked(tmp_path / "unpacked", rows), name="unpacked")
    inner = prepared(tmp_path / "unpacked" / "MedSG-Bench", name="inner")
    assert zipped.fingerprint == unpacked.fingerprint == inner.fingerprint
    assert zipped.problems == unpacked.problems == inner.problems == {}
    assert zipped.images == {"named": 42, "present": 42, "different": 42}
    assert verify_data("zipped").ok


def test_images_keep_their_bytes_and_their_order_and_texts_their_wording(tmp_path):
    prepared(write_zipped(tmp_path / "release", rows_of_all_tasks()))
    sample = load_medsg("MedSG_ObjectTracking_test").samples[0]
    expected = [image_bytes(f"Task4/set/0_{position}.png") for position in (1, 2, 3, 4)]
    assert [path.read_bytes() for path in sample.images] == expected
    assert sample.question == row("object_tracking")["question"]
    assert sample.truth == (10, 11, 100, 120)
    assert (sample.key, sample.index) == ("object_tracking-0000", 400_000)


def test_an_image_that_several_rows_show_is_stored_once(tmp_path):
    shared = row("referring")["images"]
    rows = {"referring": [row("referring", number, images=shared) for number in range(3)]}
    report = prepared(write_zipped(tmp_path / "release", rows))
    assert report.images == {"named": 9, "present": 9, "different": 3}
    assert (report.copied, report.reused) == (3, 0)
    assert len(list((report.root / "images").rglob("*.png"))) == 3


def test_counts_that_differ_from_the_published_ones_are_shown(tmp_path):
    rows = rows_of_all_tasks()
    del rows["patch"]
    report = prepared(write_zipped(tmp_path / "release", rows))
    assert report.group_differences["patch"] == (0, 1000)
    assert report.group_differences["crossmodal"] == (1, 2000)
    text = "\n".join(report.lines())
    assert "multi_view 1/1148" in text
    assert "1148 samples for some models and 1153 for others" in text
    assert "Task6.json is missing: no rows of patch" in text
    assert "7 samples, the published data has 9630" in text
    assert sum(task.n_published for task in MEDSG_TASKS) == 9630


def test_a_task_without_its_zip_keeps_its_rows_and_says_what_is_missing(tmp_path):
    source = write_zipped(tmp_path / "release", rows_of_all_tasks(2))
    (source / "MedSG-Bench" / "Task2.zip").unlink()
    report = prepared(source)
    assert any("neither Task2.zip nor a folder Task2" in warning for warning in report.warnings)
    assert any("2 rows of Non_Registered_Diff" in warning for warning in report.warnings)
    keys = ("Non_Registered_Diff-0000", "Non_Registered_Diff-0001")
    assert report.problems == {"image 1 missing": keys, "image 2 missing": keys}
    sample = load_medsg("MedSG_NonRegisteredDiff_test").samples[0]
    assert (sample.images, sample.is_whole) == ((None, None), False)
    assert sample.size_wh == WH


def test_images_that_come_later_are_added_without_permission(tmp_path):
    rows = rows_of_all_tasks()
    source = write_tables(tmp_path / "release", rows)
    before = prepared(source)
    after = prepared(write_zipped(source, rows))
    assert (before.images["present"], after.images["present"], after.copied) == (0, 21, 21)
    assert after.problems == {}


def test_a_missing_image_keeps_the_place_of_the_others(tmp_path):
    rows = {"object_tracking": [row("object_tracking")]}
    source = write_zipped(tmp_path / "release", rows, images={"Task4/set/0_2.png": None})
    report = prepared(source)
    assert report.problems == {"image 2 missing": ("object_tracking-0000",)}
    (sample,) = load_medsg().samples
    assert [path is None for path in sample.images] == [False, True, False, False]
    assert sample.target_image == 3
    assert sample.images[3].read_bytes() == image_bytes("Task4/set/0_4.png")


@pytest.mark.parametrize("writer", [write_zipped, write_unpacked], ids=["zip", "folder"])
def test_damaged_images_are_reported_and_keep_their_bytes(tmp_path, writer):
    cut = image_bytes("Task8/set/0_1.png")[:200]
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    images = {
        "Task8/set/0_1.png": cut,
        "Task8/set/0_2.png": pointer,
        "Task8/set/1_3.png": b"",
    }
    rows = {"referring": [row("referring", number) for number in range(2)]}
    report = prepared(writer(tmp_path / "release", rows, images=images))
    assert report.problems == {
        "image 1 unreadable": ("referring-0000",),
        "image 2 is a Git LFS pointer (git lfs pull)": ("referring-0000",),
        "image 3 unreadable": ("referring-0001",),
    }
    assert load_medsg().samples[0].images[0].read_bytes() == cut
    assert verify_data("MedSG_test").ok


def test_a_zip_member_with_a_wrong_checksum_is_reported(tmp_path):
    rows = {"concept": [row("concept", number) for number in range(2)]}
    source = write_zipped(tmp_path / "release", rows)
    path = source / "MedSG-Bench" / "Task5.zip"
    content = bytearray(path.read_bytes())
    position = content.index(image_bytes("Task5/set/0_2.png")) + 200
    content[position] ^= 0xFF
    path.write_bytes(bytes(content))
    report = prepared(source)
    assert report.problems == {"image 2 unreadable": ("concept-0000",)}
    assert load_medsg().samples[0].images[1] is None


def test_a_cut_zip_stops_the_preparation_before_anything_is_written(tmp_path):
    source = write_zipped(tmp_path / "release", rows_of_all_tasks())
    path = source / "MedSG-Bench" / "Task8.zip"
    path.write_bytes(path.read_bytes()[:-400])
    with pytest.raises(ValueError, match=r"Task8\.zip .* is cut or none .*download it again"):
        prepared(source)
    assert not dataset_root("MedSG_test").exists()


@pytest.mark.parametrize(
    "name", ["../../secret.png", "/etc/hostname", "C:\\x.png", "a/../../b", ".."]
)
def test_a_path_that_leaves_the_release_is_not_followed(tmp_path, name):
    write(tmp_path / "secret.png", picture(9))
    images = [name, row("concept")["images"][1]]
    report = prepared(write_unpacked(tmp_path / "x" / "release", {"concept": [row("concept")]}))
    assert report.problems == {}
    write_tables(tmp_path / "x" / "release", {"concept": [row("concept", images=images)]})
    report = prepared(tmp_path / "x" / "release", name="other")
    assert report.problems["image 1 path leaves the release"] == ("concept-0000",)
    assert report.problems["image 1 missing"] == ("concept-0000",)


def test_a_zip_member_that_climbs_out_is_never_written_under_its_name(tmp_path):
    rows = {"concept": [row("concept")]}
    source = write_zipped(tmp_path / "release", rows)
    with zipfile.ZipFile(source / "MedSG-Bench" / "Task5.zip", "a") as archive:
        archive.writestr("../../../evil.png", picture(1))
        archive.writestr("Task5/../../evil.png", picture(1))
    report = prepared(source)
    assert report.problems == {}
    assert list(tmp_path.rglob("evil.png")) == []
    assert len(list((report.root / "images").rglob("*.png"))) == 2


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        pytest.param([300, 336], "size is not that of the image", id="another width"),
        pytest.param([336, 335], "size is not that of the image", id="another height"),
        pytest.param([336], "size is no width and height", id="one number"),
        pytest.param("large", "size is no width and height", id="text"),
        pytest.param([0, 336], "size is no width and height", id="zero"),
        pytest.param(None, "size absent", id="absent"),
    ],
)
def test_a_wrong_size_field_is_reported(tmp_path, size, problem):
    assert problems_of(tmp_path, "multi_view", size=size) == (problem,)


def test_the_size_is_the_images_own_and_the_field_is_kept_beside_it(tmp_path):
    wide = encoded(np.zeros((60, 90, 3), dtype=np.uint8))
    images = {f"Task3/set/0_{position}.png": wide for position in (1, 2, 3)}
    rows = {"multi_view": [row("multi_view", size=[60, 90], answer=[1, 2, 30, 40])]}
    report = prepared(write_zipped(tmp_path / "release", rows, images=images))
    assert report.problems == {"size is not that of the image": ("multi_view-0000",)}
    (sample,) = load_medsg().samples
    assert (sample.size_wh, sample.declared_size_wh) == ((90, 60), (60, 90))
    assert sample.official_size_wh == (60, 90)


def test_an_image_of_another_size_than_the_script_assumes_is_reported(tmp_path):
    wide = encoded(np.zeros((60, 90, 3), dtype=np.uint8))
    rows = {"concept": [row("concept", answer=[1, 2, 30, 40])]}
    source = write_zipped(tmp_path / "release", rows, images={"Task5/set/0_2.png": wide})
    assert prepared(source).problems == {"image is not 336 x 336": ("concept-0000",)}
    (sample,) = load_medsg().samples
    assert (sample.size_wh, sample.official_size_wh) == ((90, 60), (336, 336))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        pytest.param([1, 2, 3], "answer is no box", id="three numbers"),
        pytest.param(None, "answer is no box", id="absent"),
        pytest.param([1, 2, "3", 4], "answer is no box", id="text inside"),
        pytest.param([1, 2, math.nan, 4], "answer is no box", id="not a number"),
        pytest.param([True, 2, 3, 4], "answer is no box", id="boolean"),
        pytest.param("somewhere", "answer is no box", id="prose"),
        pytest.param([5, 5, 5, 9], "answer has no area", id="no width"),
        pytest.param([9, 9, 5, 5], "answer has no area", id="inverted"),
        pytest.param([1, 2, 337, 40], "answer leaves the image", id="too wide"),
        pytest.param([-1, 2, 30, 40], "answer leaves the image", id="negative"),
    ],
)
def test_a_doubtful_answer_is_reported_and_left_as_it_is(tmp_path, answer, problem):
    assert problems_of(tmp_path, "patch", answer=answer) == (problem,)
    (sample,) = load_medsg().samples
    assert (sample.truth is None) == (problem == "answer is no box")
    assert sample.truth is None or list(sample.truth) == answer


def test_an_answer_on_the_border_is_no_problem_and_may_be_json_text(tmp_path):
    assert problems_of(tmp_path, "patch", answer="[0, 0, 336, 336]") == ()
    assert load_medsg().samples[0].truth == (0, 0, 336, 336)


def test_repeated_rows_are_reported_and_kept(tmp_path):
    rows = {"referring": [row("referring"), row("referring", 1), row("referring")]}
    report = prepared(write_zipped(tmp_path / "release", rows))
    assert report.n_samples == 3
    assert report.problems == {"repeats an earlier row": ("referring-0002",)}


@pytest.mark.parametrize("label", ["patch", "weather", None])
def test_a_task_field_that_contradicts_the_table_is_reported(tmp_path, label):
    assert problems_of(tmp_path, "concept", task=label) == ("task field names another task",)
    assert load_medsg().samples[0].task == "concept"


def test_a_question_about_an_image_that_is_not_in_the_row_is_reported(tmp_path):
    question = "Where is it in the fifth image?"
    found = problems_of(tmp_path, "crossmodal", question=question)
    assert found == ("the answer's image is not among the images",)
    assert load_medsg().samples[0].target_image is None


@pytest.mark.parametrize("images", [None, [], 3])
def test_rows_without_images_or_question_are_reported(tmp_path, images):
    rows = {"patch": [row("patch"), row("patch", 1, images=images, question="  ")]}
    if images == 3:
        rows["patch"][1]["images"] = None
    source = write_zipped(tmp_path / "release", rows)
    rows["patch"][1]["images"] = images
    report = prepared(write_tables(source, rows))
    assert report.problems["no images named"] == ("patch-0001",)
    assert report.problems["question empty"] == ("patch-0001",)


def test_a_second_run_copies_nothing_and_gives_the_same_data(tmp_path):
    source = write_zipped(tmp_path / "release", rows_of_all_tasks())
    first, second = prepared(source), prepared(source)
    assert (first.copied, first.reused) == (21, 0)
    assert (second.copied, second.reused) == (0, 21)
    assert first.fingerprint == second.fingerprint


def test_a_file_that_was_cut_or_altered_is_copied_again(tmp_path):
    source = write_zipped(tmp_path / "release", rows_of_all_tasks())
    prepared(source)
    first, second = load_medsg().samples[0].images
    first.write_bytes(first.read_bytes()[:50])
    altered = bytearray(second.read_bytes())
    altered[-1] ^= 1
    second.write_bytes(bytes(altered))
    assert len(verify_data("MedSG_test").changed) == 2
    assert prepared(source).copied == 2
    assert verify_data("MedSG_test").ok


PREPARE = """
import sys
from medbench_vlmeval.data import prepare_medsg
report = prepare_medsg(sys.argv[1], progress=False)
print(report.copied + report.reused, report.fingerprint)
"""


def run_prepare(source: Path, code: str = PREPARE) -> subprocess.Popen:
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", code, str(source)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)


KILLED_AT_THE_TWENTIETH_IMAGE = """
import os, signal
from medbench_vlmeval.data import image_store
write, written = image_store.stored_once, []
def stored_once(*arguments):
    if len(written) == 20:
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(arguments[0])
    return write(*arguments)
image_store.stored_once = stored_once
"""


def test_a_killed_run_leaves_no_table_and_is_continued(tmp_path):
    source = write_zipped(tmp_path / "release", rows_of_all_tasks(2))
    folder = dataset_root("MedSG_test")
    process = run_prepare(source, KILLED_AT_THE_TWENTIETH_IMAGE + PREPARE)
    process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL
    assert len(list(folder.glob("images/*/*.png"))) == 20
    assert not (folder / "samples.jsonl").exists()
    with pytest.raises(DataNotPrepared):
        load_medsg()
    write(next(folder.glob("images/*")) / ".x.png.abc.part", b"half")
    report = prepared(source)
    assert (report.copied, report.reused) == (22, 20)
    verified = verify_data("MedSG_test")
    assert verified.ok
    assert verified.extra == ()


def test_two_processes_at_once_leave_one_whole_data_set(tmp_path):
    source = write_zipped(tmp_path / "release", rows_of_all_tasks(3))
    running = [run_prepare(source), run_prepare(source)]
    said = [process.communicate(timeout=60)[0].split() for process in running]
    assert said[0] == said[1]
    assert said[0][0] == "63"
    assert verify_data("MedSG_test").ok


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param({"question": "Other."}, id="another wording"),
        pytest.param({"answer": [1, 2, 3, 4]}, id="another answer"),
        pytest.param({"images": row("patch", 7)["images"]}, id="other images"),
        pytest.param({"images": row("patch")["images"][:2]}, id="an image less"),
    ],
)
def test_changing_data_needs_permission(tmp_path, changes):
    prepared(write_zipped(tmp_path / "one", {"patch": [row("patch"), row("patch", 1)]}))
    before = load_medsg()
    rows = {"patch": [row("patch", **changes), row("patch", 1)]}
    other = write_zipped(tmp_path / "two", rows)
    with pytest.raises(DataWouldChange, match="another patch-0000"):
        prepared(other)
    assert load_medsg() == before
    assert prepared(other, replace=True).fingerprint != before.fingerprint
    assert verify_data("MedSG_test").extra == ()


def test_losing_rows_needs_permission_and_new_tasks_do_not(tmp_path):
    prepared(write_zipped(tmp_path / "one", {"patch": [row("patch"), row("patch", 1)]}))
    smaller = write_zipped(tmp_path / "two", {"patch": [row("patch")]})
    with pytest.raises(DataWouldChange, match=r"1 samples would be lost \(patch-0001\)"):
        prepared(smaller)
    rows = {"patch": [row("patch"), row("patch", 1)], "concept": [row("concept")]}
    assert prepared(write_zipped(tmp_path / "three", rows)).n_samples == 3
    prepared(smaller, replace=True)
    assert verify_data("MedSG_test").extra == ()


@pytest.mark.parametrize("text", ["{", "[]", "{}", "[1]", '"text"'])
def test_a_broken_table_is_refused_with_its_path(tmp_path, text):
    write(tmp_path / "Task3.json", text.encode())
    with pytest.raises(ValueError, match=r"Task3\.json"):
        prepared(tmp_path)


def test_a_folder_without_a_release_is_refused_with_what_it_holds(tmp_path):
    write(tmp_path / "release" / "MedSG-Train" / "Task1.json", b"[]")
    with pytest.raises(ValueError, match=r"found MedSG-Train/Task1\.json"):
        prepared(tmp_path / "release")
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        prepared(tmp_path / "nowhere")


def test_the_manifest_says_where_the_data_came_from_and_what_is_wrong(tmp_path):
    source = write_zipped(tmp_path / "release", {"patch": [row("patch", answer=None)]})
    write(source / ".git" / "HEAD", b"c" * 40 + b"\n")
    report = prepared(source)
    manifest = json.loads((report.root / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["source"] == str(source)
    assert manifest["revision"] == "c" * 40
    assert manifest["benchmark"] == "MedSG"
    assert manifest["problems"] == {"answer is no box": ["patch-0000"]}
    assert manifest["task_counts"] == {"patch": 1}
    assert manifest["task_differences"]["patch"] == [1, 1000]
    assert manifest["bytes"] == sum(len(image_bytes(f"Task6/set/0_{k}.png")) for k in (1, 2, 3))


def test_the_commit_is_read_from_the_name_of_a_snapshot_folder(tmp_path):
    rows = {"patch": [row("patch")]}
    assert prepared(write_zipped(tmp_path / "snapshots" / COMMIT, rows)).revision == COMMIT
    assert prepared(write_zipped(tmp_path / "plain", rows)).revision is None


@pytest.mark.parametrize("name", [None, "", "."])
def test_an_image_without_a_name_is_missing(tmp_path, name):
    rows = {"concept": [row("concept")]}
    source = write_zipped(tmp_path / "release", rows)
    rows["concept"][0]["images"][0] = name
    report = prepared(write_tables(source, rows))
    assert report.problems == {"image 1 missing": ("concept-0000",)}


def test_an_unpacked_image_comes_before_the_zipped_one_and_the_zip_fills_gaps(tmp_path):
    rows = {"concept": [row("concept")]}
    source = write_zipped(tmp_path / "release", rows)
    other = image_bytes("another picture")
    write(source / "MedSG-Bench" / "Task5" / "set" / "0_1.png", other)
    prepared(source)
    first, second = load_medsg().samples[0].images
    assert first.read_bytes() == other
    assert second.read_bytes() == image_bytes("Task5/set/0_2.png")


def test_the_benchmark_part_is_downloaded_from_a_hub_and_the_training_part_is_not(
    tmp_path, monkeypatch
):
    from huggingface_hub import _snapshot_download, constants, file_download

    for module in (constants, _snapshot_download, file_download):
        monkeypatch.setattr(module, "HF_HUB_CACHE", str(tmp_path / "cache"), raising=False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_PROGRESS_BARS", True)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True, raising=False)
    source = write_zipped(tmp_path / "source", rows_of_all_tasks())
    write(source / "MedSG-Train" / "Task1.zip", b"not wanted")
    write(source / "bench_task1.parquet", b"not wanted")
    expected = prepared(source, name="local")
    with hub_of(source, "someone/MedSG") as (address, asked):
        monkeypatch.setenv("HF_ENDPOINT", address)
        report = prepare_medsg_from_hub("someone/MedSG", progress=False)
    assert (report.revision, report.fingerprint) == (COMMIT, expected.fingerprint)
    assert report.source == f"{address}/datasets/someone/MedSG"
    assert not any("MedSG-Train/" in path or "bench_task1" in path for path in asked)


def test_without_network_the_error_names_the_command(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(DataNotPrepared, match="medbench data prepare medsg --from FOLDER"):
        prepare_medsg_from_hub(progress=False)
    with pytest.raises(DataNotPrepared, match="expected a snapshot folder"):
        prepare_medsg_from_hub(local_dir=tmp_path / "absent", progress=False)
