from __future__ import annotations

import json

import pytest

from medbench_vlmeval.data import (
    MEDSG_TASKS,
    DataNotPrepared,
    load_medsg,
    prepare_medsg,
    verify_data,
)
from medbench_vlmeval.data.medsg_cases import assign_cases
from medbench_vlmeval.data.medsg_rows import reference_box, target_of
from medbench_vlmeval.data.medsg_tasks import TASK_OF_KEY, task_named
from tests.shared import shared_path

from .medsg_releases import row, rows_of_all_tasks, write_zipped


@pytest.fixture
def data(tmp_path):
    prepare_medsg(write_zipped(tmp_path / "release", rows_of_all_tasks(2)), progress=False)
    return load_medsg()


def test_samples_come_in_the_order_of_tasks_and_rows(data):
    assert [sample.index for sample in data.samples] == [
        100_000 * task.number + number for task in MEDSG_TASKS for number in range(2)
    ]
    assert data.sample(800_001).key == "referring-0001"
    with pytest.raises(KeyError, match="no sample with index 3"):
        data.sample(3)


@pytest.mark.parametrize("task", MEDSG_TASKS, ids=lambda task: task.key)
def test_each_task_is_a_data_set_of_its_own_with_the_same_samples(data, task):
    part = load_medsg(task.dataset)
    assert part.name == task.dataset
    assert part.samples == tuple(sample for sample in data.samples if sample.task == task.key)
    assert part.root == data.root
    assert part.fingerprint != data.fingerprint
    assert verify_data(task.dataset).ok


def test_no_data_set_name_is_a_prefix_of_another():
    names = ["MedSG_test", "MedSG_sample", *(task.dataset for task in MEDSG_TASKS)]
    assert len(set(names)) == 10
    assert not any(
        a != b and a.startswith(b.removesuffix("_test")) for a in names for b in names[2:]
    )
    assert not any(a != b and a.startswith(b) for a in names for b in names)


def test_a_task_keeps_its_fingerprint_whatever_other_tasks_are_there(data, tmp_path):
    rows = {"patch": rows_of_all_tasks(2)["patch"]}
    prepare_medsg(write_zipped(tmp_path / "alone", rows), name="alone", progress=False)
    assert load_medsg("alone").fingerprint == load_medsg("MedSG_Patch_test").fingerprint


def test_a_task_that_was_not_prepared_is_named(tmp_path):
    rows = {"patch": [row("patch")]}
    prepare_medsg(write_zipped(tmp_path / "release", rows), progress=False)
    with pytest.raises(DataNotPrepared, match=r"MedSG_Concept_test is not prepared: .* no samples"):
        load_medsg("MedSG_Concept_test")


def test_data_that_is_not_there_is_an_error_with_commands_and_files(no_network):
    for attempt in (load_medsg, lambda: verify_data("MedSG_Patch_test")):
        with pytest.raises(DataNotPrepared) as caught:
            attempt()
        text = str(caught.value)
        assert "medbench data prepare medsg --from PATH" in text
        assert "Task1.zip" in text
        assert "MedSG_sample" in text
    assert no_network == []


def test_loading_notices_files_that_are_gone(data):
    data.samples[3].images[1].unlink()
    with pytest.raises(DataNotPrepared, match=r"1 files listed in .* are gone"):
        load_medsg("MedSG_test")
    assert load_medsg("MedSG_Patch_test").samples
    assert not verify_data("MedSG_test").ok


def test_a_table_that_names_files_elsewhere_is_refused(data):
    table = data.root / "samples.jsonl"
    text = table.read_text(encoding="utf-8")
    table.write_text(text.replace('"images/', '"../images/', 1), encoding="utf-8")
    with pytest.raises(ValueError, match="expected paths such as images/"):
        load_medsg()
    assert not verify_data("MedSG_test").table_matches


def test_extra_and_altered_files_are_told_apart(data):
    altered = data.samples[0].images[0]
    altered.write_bytes(altered.read_bytes()[:-1] + b"x")
    (altered.parent / "note.txt").write_text("x", encoding="utf-8")
    report = verify_data("MedSG_test")
    assert report.changed == (altered.relative_to(data.root).as_posix(),)
    assert report.extra == (f"images/{altered.parent.name}/note.txt",)
    assert report.fingerprint == data.fingerprint


def test_the_released_frame_is_336_but_for_views(data):
    assert {sample.official_size_wh for sample in data.samples} == {(336, 336)}
    declared = {sample.task for sample in data.samples if sample.declared_size_wh}
    assert declared == {"multi_view"}


@pytest.mark.parametrize(
    ("key", "question", "info", "expected"),
    [
        ("Registered_Diff", "Compare these two images", "", (0, "task")),
        ("Non_Registered_Diff", "Compare these two images", "", (1, "task")),
        ("patch", "locate the third region picture in the source image.", "", (0, "task")),
        (
            "multi_view",
            "in the first image(...). Locate it in the second image.",
            "",
            (1, "question"),
        ),
        ("crossmodal", "in the first image, ... in the fourth image that", "", (3, "question")),
        ("concept", "object in image-1 locate in the image-2.", "", (1, "question")),
        ("object_tracking", "Locate it in the sixth frame.", "", (5, "question")),
        ("object_tracking", "Locate it.", "the third image", (2, "additional_info")),
        ("object_tracking", "Locate it.", "", (None, "")),
        ("referring", "described by: Skin", "It's in the third image.", (2, "additional_info")),
        ("referring", "described by: the first image", "", (None, "")),
    ],
)
def test_the_image_that_the_answer_lies_in(key, question, info, expected):
    assert target_of(TASK_OF_KEY[key], question, info) == expected


def test_where_the_answer_image_is_unknown_the_common_size_serves(tmp_path):
    rows = {"referring": [row("referring")]}
    report = prepare_medsg(write_zipped(tmp_path / "release", rows), progress=False)
    (sample,) = load_medsg().samples
    assert (sample.target_image, sample.target_by, sample.size_wh) == (None, "", (336, 336))
    assert report.details["answer in"] == "the image named by: nothing 1"
    assert sample.problems == ()


def test_the_reference_box_is_read_from_the_question():
    assert reference_box(row("multi_view")["question"]) == (15, 12, 20, 17)
    assert reference_box("no box (1,2),(3,4)") is None


@pytest.mark.parametrize(
    ("label", "key"),
    [
        ("Registered_Diff", "Registered_Diff"),
        ("registered diff", "Registered_Diff"),
        ("CMG", "crossmodal"),
        ("cross-modal", "crossmodal"),
        ("Task8", "referring"),
        ("weather", None),
    ],
)
def test_task_names_in_other_spellings(label, key):
    found = task_named(label)
    assert (found and found.key) == key


def record(task: str, number: int, hashes: str, target: int | None = None) -> dict:
    images = [{"sha256": each} for each in hashes]
    return {"key": f"{task}-{number}", "task": task, "images": images, "target_image": target}


def cases_of(*records: dict) -> list[str]:
    assign_cases(records)
    return [each["case"] for each in records]


def test_pairs_that_share_the_unchanged_image_are_one_case():
    assert (
        cases_of(
            record("Registered_Diff", 0, "ab", 0),
            record("Registered_Diff", 1, "cd", 0),
            record("Registered_Diff", 2, "eb", 0),
            record("Non_Registered_Diff", 0, "de", 1),
        )
        == ["Registered_Diff-0"] * 4
    )


def test_unrelated_images_in_one_row_do_not_join_cases():
    assert (
        cases_of(
            record("referring", 0, "abc"),
            record("referring", 1, "abd"),
            record("referring", 2, "abc"),
            record("crossmodal", 0, "xy", 1),
            record("crossmodal", 1, "xz", 1),
            record("crossmodal", 2, "wz", 1),
        )
        == ["referring-0", "referring-1", "referring-0", "crossmodal-0"] + ["crossmodal-1"] * 2
    )


def test_rows_of_different_tasks_on_one_image_are_one_case():
    assert cases_of(record("patch", 0, "sp", 0), record("concept", 0, "cs", 1)) == ["patch-0"] * 2


def test_rows_without_images_are_cases_of_their_own():
    rows = [record("patch", number, "", 0) for number in range(2)]
    for each in rows:
        each["images"] = [None, None]
    assert cases_of(*rows) == ["patch-0", "patch-1"]


def test_tasks_and_counts_are_the_published_ones():
    facts = json.loads(shared_path("data/medsg_tasks.json").read_text(encoding="utf-8"))
    assert [
        (task.number, task.key, task.label, task.abbreviation, task.n_published)
        for task in MEDSG_TASKS
    ] == [
        (fact["n"], fact["key"], fact["paper_name"], fact["abbr"], fact["samples"])
        for fact in facts["tasks"]
    ]


def test_the_published_examples_are_read():
    examples = json.loads(shared_path("data/medsg_examples.json").read_text(encoding="utf-8"))
    seen = 0
    for example in examples:
        if example["question"] is None or example.get("split") == "train":
            continue
        task = TASK_OF_KEY[example["task"]]
        target, _ = target_of(task, example["question"], "")
        assert (target is None) == (task.key == "referring")
        assert (reference_box(example["question"]) is not None) == (task.key == "multi_view")
        assert target is None or target < example["num_images"]
        seen += 1
    assert seen >= 10
