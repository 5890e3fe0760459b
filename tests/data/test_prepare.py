from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from medbench_vlmeval.data import (
    DataWouldChange,
    load_medebench,
    prepare_medebench,
    verify_data,
)
from medbench_vlmeval.data.places import dataset_root
from medbench_vlmeval.data.prepare import prepare_release
from medbench_vlmeval.data.releases import Release, SourceImage, SourceSample
from medbench_vlmeval.official.medebench import ORGAN_COUNTS
from tests.shared import shared_path

from .releases import encoded, images_of, mask, picture, write, write_official


def prepared(source: Path, **options):
    return prepare_medebench(source, progress=False, **options)


def test_images_keep_their_bytes_and_texts_their_wording(tmp_path):
    write_official(tmp_path / "release")
    prepared(tmp_path / "release")
    data = load_medebench()
    assert [sample.id for sample in data.samples] == [1, 2, 3]
    second = data.samples[1]
    assert second.previous.read_bytes() == images_of(2)["previous"]
    assert second.reference.read_bytes() == images_of(2)["reference"]
    assert second.roi.read_bytes() == images_of(2)["roi"]
    assert second.instruction == "Remove stain 2."
    assert second.description == "Stain 2 is gone."
    assert second.url == "https://example.org/2.jpg"
    assert second.problems == ()


def test_the_editing_folder_itself_is_accepted_under_any_name(tmp_path):
    whole = prepared(write_official(tmp_path / "release"), name="whole")
    (tmp_path / "release" / "editing").rename(tmp_path / "renamed")
    part = prepared(tmp_path / "renamed", name="part")
    assert part.images == {"previous": 3, "reference": 3, "roi": 3}
    assert part.fingerprint == whole.fingerprint


def test_back_slashes_in_paths_are_slashes(tmp_path):
    row = {"previous_image": r"editing\previous\1.png", "changed_image": r"editing\changed\1.png"}
    report = prepared(write_official(tmp_path / "release", [1], rows={1: row}))
    assert report.images == {"previous": 1, "reference": 1, "roi": 1}


@pytest.mark.parametrize("name", ["/etc/hostname", "../../secret.png", "C:\\secret.png"])
def test_a_path_that_leaves_the_release_is_not_followed(tmp_path, name):
    write(tmp_path / "secret.png", picture(9))
    source = write_official(tmp_path / "release", [1, 2], rows={1: {"previous_image": name}})
    report = prepared(source)
    assert report.problems["previous path leaves the release"] == (1,)
    assert report.problems["previous missing"] == (1,)
    assert load_medebench().samples[0].previous is None


def test_absent_images_are_reported_by_id_and_the_sample_is_kept(tmp_path):
    absent = {2: {"reference": None}, 3: {"reference": None, "roi": None}}
    report = prepared(write_official(tmp_path / "release", images=absent))
    assert report.problems == {"reference missing": (2, 3), "roi missing": (3,)}
    assert "  problem      reference missing (2): 2, 3" in report.lines()
    sample = load_medebench().samples[2]
    assert (sample.reference, sample.roi) == (None, None)
    assert sample.problems == ("reference missing", "roi missing")


def test_unreadable_images_are_reported_by_id_and_keep_their_path(tmp_path):
    cut = picture(1)[:200]
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n"
    images = {1: {"previous": cut}, 2: {"roi": b""}, 3: {"reference": pointer}}
    report = prepared(write_official(tmp_path / "release", images=images))
    assert report.problems == {
        "previous unreadable": (1,),
        "reference is a Git LFS pointer (git lfs pull)": (3,),
        "roi unreadable": (2,),
    }
    assert load_medebench().samples[0].previous.read_bytes() == cut


def test_organ_variants_become_the_published_names_and_keep_their_label(tmp_path):
    labels = {1: "GI Tract", 2: "bones", 3: "Elbow"}
    rows = {number: {"Organ": label} for number, label in labels.items()}
    report = prepared(write_official(tmp_path / "release", rows=rows))
    samples = load_medebench().samples
    assert [sample.organ for sample in samples] == [
        "Gastrointestinal Tract",
        "Spine and Bones",
        "Elbow",
    ]
    assert [sample.source_label for sample in samples] == list(labels.values())
    assert report.problems == {"organ unknown": (3,)}


def test_counts_that_differ_from_the_published_ones_are_shown(tmp_path):
    report = prepared(write_official(tmp_path / "release"))
    assert report.organ_differences["Teeth"] == (3, ORGAN_COUNTS["Teeth"])
    assert set(report.organ_differences) == set(ORGAN_COUNTS)
    text = "\n".join(report.lines())
    assert f"Teeth 3/{ORGAN_COUNTS['Teeth']}" in text
    assert "3 samples, the published data has 1182" in text


def test_empty_texts_are_problems(tmp_path):
    rows = {1: {"prompt": "  "}, 2: {"detailed_prompt": None}}
    report = prepared(write_official(tmp_path / "release", rows=rows))
    assert report.problems == {"description empty": (2,), "instruction empty": (1,)}


def test_repeated_ids_are_refused_and_named(tmp_path):
    source = write_official(tmp_path / "release", [1, 2, 3], rows={3: {"id": "2"}})
    with pytest.raises(ValueError, match="1 repeated ids: 2;"):
        prepared(source)
    assert not dataset_root("MedEBench_test").exists()


@pytest.mark.parametrize("value", ["1a", None, True, 1.5, float("nan"), [1]])
def test_an_id_that_is_no_whole_number_is_refused(tmp_path, value):
    source = write_official(tmp_path / "release", [1, 2], rows={2: {"id": value}})
    with pytest.raises(ValueError, match="whole number as id in row 2"):
        prepared(source)


def test_samples_come_in_order_of_their_id_whatever_the_release_does(tmp_path):
    prepared(write_official(tmp_path / "release", [30, 4, 100]))
    assert [sample.id for sample in load_medebench().samples] == [4, 30, 100]


def test_a_second_run_copies_nothing_and_gives_the_same_data(tmp_path):
    source = write_official(tmp_path / "release")
    first, second = prepared(source), prepared(source)
    assert (first.copied, first.reused) == (9, 0)
    assert (second.copied, second.reused) == (0, 9)
    assert first.fingerprint == second.fingerprint


def test_a_file_that_was_cut_is_copied_again(tmp_path):
    source = write_official(tmp_path / "release")
    prepared(source)
    broken = load_medebench().samples[0].previous
    broken.write_bytes(broken.read_bytes()[:50])
    assert prepared(source).copied == 1
    assert verify_data().ok


def test_a_killed_run_leaves_no_table_and_is_continued(tmp_path):
    def samples(stop_after: int):
        for number in range(1, 5):
            if number > stop_after:
                raise KeyboardInterrupt
            images = {
                role: SourceImage("x.png", data=data) for role, data in images_of(number).items()
            }
            yield SourceSample(number, "Teeth", "Task.", "Do.", "Done.", images=images)

    def release(stop_after: int) -> Release:
        return Release("test", "generated", 4, samples(stop_after))

    with pytest.raises(KeyboardInterrupt):
        prepare_release(release(2), name="killed", progress=False)
    folder = dataset_root("killed")
    write(folder / "previous" / ".3.png.abc.part", b"half")
    assert not (folder / "samples.jsonl").exists()
    report = prepare_release(release(4), name="killed", progress=False)
    assert (report.copied, report.reused) == (6, 6)
    assert verify_data("killed").extra == ()


def test_another_picture_under_the_same_name_needs_permission(tmp_path):
    prepared(write_official(tmp_path / "one"))
    before = load_medebench()
    changed = write_official(tmp_path / "two", images={2: {"previous": picture(77)}})
    with pytest.raises(DataWouldChange, match="another previous image of sample 2"):
        prepared(changed)
    assert load_medebench() == before
    assert verify_data().ok
    assert prepared(changed, replace=True).fingerprint != before.fingerprint


@pytest.mark.parametrize(
    ("numbers", "rows", "images"),
    [
        pytest.param([1, 2], {}, {}, id="fewer samples"),
        pytest.param([1, 2, 3], {3: {"prompt": "Other."}}, {}, id="another wording"),
        pytest.param([1, 2, 3], {}, {3: {"roi": None}}, id="an image less"),
    ],
)
def test_losing_data_needs_permission(tmp_path, numbers, rows, images):
    prepared(write_official(tmp_path / "one"))
    before = load_medebench()
    smaller = write_official(tmp_path / "two", numbers, rows=rows, images=images)
    with pytest.raises(DataWouldChange, match=r"ids 3\)"):
        prepared(smaller)
    assert load_medebench() == before
    prepared(smaller, replace=True)
    assert verify_data().extra == ()


def test_data_may_grow_without_permission(tmp_path):
    prepared(write_official(tmp_path / "one", [1, 2], images={1: {"roi": None}}))
    report = prepared(write_official(tmp_path / "two", [1, 2, 3]))
    assert (report.n_samples, report.copied, report.reused) == (3, 4, 5)


def test_a_jpeg_keeps_its_bytes_and_its_suffix(tmp_path):
    jpeg = encoded(np.full((30, 40, 3), 90, dtype=np.uint8), "JPEG")
    row = {"previous_image": "editing/previous/1.JPG"}
    source = write_official(
        tmp_path / "release", [1], rows={1: row}, images={1: {"previous": None}}
    )
    write(source / "editing" / "previous" / "1.JPG", jpeg)
    prepared(source)
    stored = load_medebench().samples[0].previous
    assert stored.name == "1.jpg"
    assert stored.read_bytes() == jpeg


def test_a_replaced_suffix_leaves_no_stale_file(tmp_path):
    prepared(write_official(tmp_path / "one", [1]))
    row = {"previous_image": "editing/previous/1.bmp"}
    source = write_official(tmp_path / "two", [1], rows={1: row}, images={1: {"previous": None}})
    write(source / "editing/previous/1.bmp", encoded(np.zeros((30, 40, 3), dtype=np.uint8), "BMP"))
    prepared(source, replace=True)
    assert [path.name for path in (dataset_root("MedEBench_test") / "previous").iterdir()] == [
        "1.bmp"
    ]


def test_the_manifest_says_where_the_data_came_from_and_what_is_wrong(tmp_path):
    source = write_official(tmp_path / "release", images={2: {"roi": None}})
    commit = "0123456789abcdef0123456789abcdef01234567"
    write(source / ".git" / "HEAD", b"ref: refs/heads/main\n")
    write(source / ".git" / "packed-refs", f"# pack-refs\n{commit} refs/heads/main\n".encode())
    report = prepared(source)
    manifest = load_medebench().manifest
    assert manifest["source"] == str(source)
    assert manifest["revision"] == report.revision == commit
    assert manifest["problems"] == {"roi missing": [2]}
    assert manifest["images"] == {"previous": 3, "reference": 3, "roi": 2}
    assert manifest["package_version"]
    assert manifest["source_columns"]["reference"] == "changed_image"


def test_the_commit_is_read_from_a_loose_reference_or_a_detached_head(tmp_path):
    source = write_official(tmp_path / "release")
    write(source / ".git" / "HEAD", b"ref: refs/heads/main\n")
    write(source / ".git" / "refs" / "heads" / "main", b"a" * 40 + b"\n")
    assert prepared(source).revision == "a" * 40
    write(source / ".git" / "HEAD", b"b" * 40 + b"\n")
    assert prepared(source / "editing").revision == "b" * 40


def test_a_folder_without_a_release_is_refused_with_what_it_holds(tmp_path):
    write(tmp_path / "release" / "data.zip", b"PK")
    with pytest.raises(ValueError, match=r"found data\.zip; unpack archives first"):
        prepared(tmp_path / "release")
    with pytest.raises(FileNotFoundError, match="expected a folder"):
        prepared(tmp_path / "nowhere")


@pytest.mark.parametrize("text", ["{", '{"samples": []}', '{"samples": 3}', "[1, 2]", '"text"'])
def test_broken_metadata_is_refused_with_its_path(tmp_path, text):
    write(tmp_path / "editing" / "editing_metadata.json", text.encode())
    with pytest.raises(ValueError, match=r"editing_metadata\.json"):
        prepared(tmp_path)


def test_a_bare_list_and_a_byte_order_mark_are_read(tmp_path):
    source = write_official(tmp_path / "release")
    file = source / "editing" / "editing_metadata.json"
    rows = json.loads(file.read_text(encoding="utf-8"))["samples"]
    file.write_text(json.dumps(rows), encoding="utf-8-sig")
    assert prepared(source).n_samples == 3


def test_a_data_folder_that_does_not_exist_is_created(tmp_path, monkeypatch):
    monkeypatch.setenv("LMUData", str(tmp_path / "new" / "folder"))
    report = prepared(write_official(tmp_path / "release"))
    assert report.root == tmp_path / "new" / "folder" / "medbench" / "MedEBench_test"
    assert report.root.is_dir()


PREPARE = """
import sys
from medbench_vlmeval.data import prepare_medebench
report = prepare_medebench(sys.argv[1], progress=False)
print(report.copied + report.reused, report.fingerprint)
"""


def test_two_processes_at_once_leave_one_whole_data_set(tmp_path):
    source = write_official(tmp_path / "release", range(1, 31))
    command = [sys.executable, "-c", PREPARE, str(source)]
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    running = [
        subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, text=True)
        for _ in range(2)
    ]
    said = [process.communicate(timeout=60)[0].split() for process in running]
    assert [process.returncode for process in running] == [0, 0]
    assert said[0] == said[1]
    assert said[0][0] == "90"
    verified = verify_data()
    assert verified.ok
    assert verified.extra == ()


def test_the_real_gallery_is_prepared_without_a_problem():
    report = prepared(shared_path("real/medebench_gallery"), name="gallery")
    assert report.organ_counts == {"Gastrointestinal Tract": 2, "Teeth": 1}
    assert report.problems == {}
    assert [sample.id for sample in load_medebench("gallery").samples] == [34, 53, 54]


def test_masks_that_look_wrong_are_reported_by_id(tmp_path):
    images = {
        1: {"roi": mask(0)},
        2: {"roi": mask(1)},
        3: {"roi": mask(0.25, white=1)},
        4: {"roi": mask(0.25, (20, 15))},
        5: {"roi": mask(0.25, (30, 30))},
        6: {"reference": picture(6, (30, 30))},
        7: {"roi": encoded(np.full((30, 40), 128, dtype=np.uint8))},
    }
    report = prepared(write_official(tmp_path / "release", range(1, 21), images=images))
    assert report.problems["roi empty"] == (1,)
    assert report.problems["roi covers everything"] == (2, 7)
    assert report.problems["roi holds 0 and 1 only"] == (3,)
    assert report.problems["roi has another size than previous"] == (4,)
    assert report.problems["roi has another aspect ratio than previous"] == (5,)
    assert report.problems["reference has another aspect ratio than previous"] == (6,)
