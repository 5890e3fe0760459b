from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from medbench_vlmeval.data import (
    DataNotPrepared,
    DataWouldChange,
    MedQRelease,
    MedQRow,
    load_medebench,
    load_medq,
    prepare_medq,
    prepare_medq_release,
    verify_data,
)
from medbench_vlmeval.data.medq_tables import MEDQ_TABLES
from medbench_vlmeval.data.places import dataset_root
from medbench_vlmeval.data.releases import SourceImage

from .medq_releases import (
    YES_NO,
    b64,
    caption_row,
    loaded,
    mcq_row,
    paired_row,
    prepared,
    table_text,
    write_table,
)
from .releases import picture, write, write_official


def test_types_are_counted_and_compared_with_the_published_ones(tmp_path):
    rows = [
        mcq_row(0),
        mcq_row(1, **YES_NO, C=None),
        mcq_row(2, question="Which part?", A="Left"),
        mcq_row(3, question="Is it?", A="Left"),
    ]
    report = prepared(write_table(tmp_path, rows))
    assert report.group_counts == {"Yes-or-No": 1, "What": 1, "How": 1, "unclear": 1}
    assert report.group_differences == {"Yes-or-No": (1, 558), "What": (1, 258), "How": (1, 489)}
    assert report.problems == {"question type unclear": ("3",)}
    assert "4 rows, the published scores are fractions of 1305" in report.warnings[0]
    assert any("Yes-or-No 1/558" in line for line in report.lines())


def test_a_table_of_the_published_size_differs_in_nothing(tmp_path):
    image = b64(picture(0))
    rows = [mcq_row(n, image=image, **YES_NO, C=None) for n in range(558)]
    rows += [mcq_row(n, image=image, question="What is it?", A="Left") for n in range(558, 816)]
    rows += [mcq_row(n, image=image) for n in range(816, 1305)]
    report = prepared(write_table(tmp_path, rows))
    assert (report.group_differences, report.warnings, report.problems) == ({}, (), {})
    assert report.images == {"named": 1305, "present": 1305, "different": 1}
    assert report.details["cases"] == "1"


@pytest.mark.parametrize(
    ("name", "row", "published"),
    [("MedQ_Caption_test", caption_row, 221), ("MedQ_Paired_test", paired_row, 133)],
)
def test_sizes_of_reasoning_tables_are_compared_too(tmp_path, name, row, published):
    report = prepared(write_table(tmp_path, [row(0), row(1)], name), name)
    assert f"2 rows, the published scores are fractions of {published}" in report.warnings[0]
    dev = name.replace("test", "dev")
    assert prepared(write_table(tmp_path, [row(0)], dev), dev).warnings == ()


def test_rows_that_share_an_image_are_one_case_also_over_other_rows(tmp_path):
    rows = [
        paired_row(0),
        paired_row(1),
        paired_row(2, image_a=b64(picture(1))),
        paired_row(3, image_a=b64(picture(4)), image_b=b64(picture(5))),
        paired_row(4, image_b=b64(picture(5))),
        paired_row(5, image_a=None, image_b=None),
        paired_row(6, image_a=None, image_b=None),
    ]
    data = loaded(tmp_path, rows, "MedQ_Paired_test")
    assert [sample.case for sample in data.samples] == ["0", "1", "0", "0", "0", "5", "6"]


def test_the_report_and_the_manifest_record_the_bytes_that_were_read(tmp_path):
    # Q9
    source = write_table(tmp_path, [mcq_row()])
    report = prepared(source)
    data = load_medq("MedQ_MCQ_test")
    (digest,) = data.manifest["source_sha256"].values()
    assert report.details["read"] == f"medqbench_QA_test.tsv sha256 {digest}"
    prepared(write_table(tmp_path / "other", [mcq_row(modality="MRI")]), replace=True)
    (other,) = load_medq("MedQ_MCQ_test").manifest["source_sha256"].values()
    assert other != digest
    assert data.manifest["benchmark"] == "MedQ"


def test_changed_tables_are_refused_and_never_show_old_pictures(tmp_path):
    # P2
    first = loaded(tmp_path / "old", [mcq_row(0), mcq_row(1)])
    old = first.samples[0].images[0]
    revised = write_table(tmp_path / "new", [mcq_row(0, image=b64(picture(50))), mcq_row(1)])
    with pytest.raises(DataWouldChange, match="already holds another 0"):
        prepared(revised)
    assert load_medq("MedQ_MCQ_test").samples[0].images[0].read_bytes() == picture(0)
    report = prepared(revised, replace=True)
    second = load_medq("MedQ_MCQ_test")
    assert second.samples[0].images[0].read_bytes() == picture(50)
    assert second.samples[1].images == first.samples[1].images
    assert second.fingerprint == report.fingerprint != first.fingerprint
    assert not old.exists()
    assert verify_data("MedQ_MCQ_test").extra == ()


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "B"},
        {"question": "How bad?"},
        {"D": "Worse"},
        {"A": "Better"},
        {"modality": "MRI"},
        {"note": "new column"},
        {"index": 3},
    ],
)
def test_nothing_a_run_depends_on_changes_silently(tmp_path, change):
    prepared(write_table(tmp_path / "old", [mcq_row(0), mcq_row(1)]))
    with pytest.raises(DataWouldChange):
        prepared(write_table(tmp_path / "new", [mcq_row(0, **change), mcq_row(1)]))


def test_rows_may_be_added_but_neither_lost_nor_numbered_anew(tmp_path):
    rows = [mcq_row(0, index=7), mcq_row(1, index=8)]
    prepared(write_table(tmp_path / "1", rows))
    assert prepared(write_table(tmp_path / "2", [*rows, mcq_row(2, index=9)])).copied == 1
    with pytest.raises(DataWouldChange, match="2 samples would be lost"):
        prepared(write_table(tmp_path / "3", rows[:1]))
    repeated = [*rows, mcq_row(2, index=9), mcq_row(3, index=9)]
    with pytest.raises(DataWouldChange, match="row 7 as index 7, it would become 0"):
        prepared(write_table(tmp_path / "4", repeated))


def test_a_second_run_copies_nothing_and_gives_the_same_data(tmp_path):
    source = write_table(tmp_path, [paired_row(n) for n in range(3)], "MedQ_Paired_dev")
    first, second = (prepared(source, "MedQ_Paired_dev") for _ in range(2))
    assert (first.copied, first.reused, second.copied, second.reused) == (6, 0, 0, 6)
    assert first.fingerprint == second.fingerprint


def test_damaged_files_are_found_by_verify_and_repaired_by_preparing_again(tmp_path):
    source = write_table(tmp_path, [mcq_row(n) for n in range(3)])
    prepared(source)
    first, second, third = (sample.images[0] for sample in load_medq("MedQ_MCQ_test").samples)
    first.write_bytes(first.read_bytes()[:50])
    second.unlink()
    write(third.parent / "extra.png", b"x")
    report = verify_data("MedQ_MCQ_test")
    assert [len(report.changed), len(report.missing), len(report.extra)] == [1, 1, 1]
    with pytest.raises(DataNotPrepared, match="1 files listed in"):
        load_medq("MedQ_MCQ_test")
    assert prepared(source).copied == 2
    assert verify_data("MedQ_MCQ_test").ok
    assert len(load_medq("MedQ_MCQ_test").samples) == 3


def test_an_edited_table_is_found_and_may_not_name_other_files(tmp_path):
    prepared(write_table(tmp_path, [mcq_row()]))
    table = dataset_root("MedQ_MCQ_test") / "samples.jsonl"
    record = json.loads(table.read_text(encoding="utf-8"))
    record["images"][0]["file"] = "../secret.png"
    table.write_text(json.dumps(record) + "\n", encoding="utf-8")
    assert not verify_data("MedQ_MCQ_test").table_matches
    with pytest.raises(ValueError, match=r"expected paths such as images/0a/HASH\.png"):
        load_medq("MedQ_MCQ_test")


KILLED_AT_THE_FOURTH_IMAGE = """
import os, signal, sys
from medbench_vlmeval.data import image_store, prepare_medq
write, written = image_store.stored_once, []
def stored_once(*arguments):
    if len(written) == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    written.append(arguments[0])
    return write(*arguments)
image_store.stored_once = stored_once
prepare_medq(sys.argv[1], name="MedQ_MCQ_test", progress=False)
"""


def test_a_killed_run_leaves_no_table_and_is_continued(tmp_path):
    source = write_table(tmp_path, [mcq_row(n) for n in range(6)])
    environment = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2])}
    command = [sys.executable, "-c", KILLED_AT_THE_FOURTH_IMAGE, str(source)]
    process = subprocess.run(command, env=environment, timeout=60, check=False)
    assert process.returncode == -signal.SIGKILL
    with pytest.raises(DataNotPrepared):
        load_medq("MedQ_MCQ_test")
    report = prepared(source)
    assert (report.copied, report.reused) == (2, 4)
    assert verify_data("MedQ_MCQ_test").ok


@pytest.mark.parametrize("name", [table.name for table in MEDQ_TABLES if table.files])
def test_without_data_the_error_lists_commands_files_and_address(name, no_network):
    with pytest.raises(DataNotPrepared) as caught:
        load_medq(name)
    text = str(caught.value)
    (table,) = (table for table in MEDQ_TABLES if table.name == name)
    assert f"medbench data prepare medq --from PATH --name {name}" in text
    assert f"medbench data prepare medq --hub --name {name}" in text
    assert f"https://huggingface.co/datasets/{table.repository}" in text
    assert all(file in text for file in table.files)
    assert f"MedQ{'DEG' if table.kind == 'deg' else ''}_" in text.rpartition("use ")[2]
    assert no_network == []
    with pytest.raises(DataNotPrepared, match=f"{name} is not prepared"):
        verify_data(name)


def test_an_unknown_name_lists_the_known_ones():
    # Q8 of the host: a name that nothing stands for is refused before anything is read
    with pytest.raises(DataNotPrepared, match="MedQ_MCQ_dev, MedQ_MCQ_test"):
        load_medq("MedQ_MCQ")


def test_a_table_may_be_prepared_under_another_name(tmp_path):
    source = write_table(tmp_path, [mcq_row()]) / "medqbench_QA_test.tsv"
    prepared(source, "mine")
    assert (load_medq("mine").kind, load_medq("mine").name) == ("mcq", "mine")
    renamed = source.rename(tmp_path / "renamed.tsv")
    prepared(renamed, "MedQ_MCQ_dev")
    assert load_medq("MedQ_MCQ_dev").fingerprint == load_medq("mine").fingerprint
    with pytest.raises(FileNotFoundError, match="expected one of medqbench_QA_dev"):
        prepared(renamed, "yours")


def test_a_name_that_does_not_tell_the_table_is_refused(tmp_path):
    write_table(tmp_path, [mcq_row()])
    write_table(tmp_path, [caption_row()], "MedQ_Caption_test")
    with pytest.raises(ValueError, match="holds MedQ_MCQ_test, MedQ_Caption_test"):
        prepared(tmp_path, "mine")
    with pytest.raises(ValueError, match="medq-sample"):
        prepared(tmp_path, "MedQ_MCQ_sample")


def test_a_folder_without_the_table_is_an_error_that_lists_what_is_there(tmp_path):
    write(tmp_path / "release" / "data" / "other.tsv", b"x")
    with pytest.raises(FileNotFoundError) as caught:
        prepared(tmp_path / "release")
    assert "medqbench_QA_test.tsv" in str(caught.value)
    assert "data/other.tsv" in str(caught.value)
    with pytest.raises(FileNotFoundError, match="is not there"):
        prepared(tmp_path / "absent")


def test_a_table_in_an_inner_folder_is_found_but_two_are_one_too_many(tmp_path):
    write_table(tmp_path / "data" / "v0.3", [mcq_row()])
    assert prepared(tmp_path).n_samples == 1
    write_table(tmp_path / "data" / "v0.4", [mcq_row()])
    with pytest.raises(ValueError, match="expected one medqbench_QA_test"):
        prepared(tmp_path)
    write_table(tmp_path, [mcq_row()])
    assert prepared(tmp_path).n_samples == 1


def test_data_of_another_benchmark_is_not_taken_for_this_one(tmp_path):
    from medbench_vlmeval.data import prepare_medebench

    prepare_medebench(write_official(tmp_path), progress=False)
    with pytest.raises(ValueError, match="got one of MedEBench"):
        load_medq("MedEBench_test")
    assert load_medebench().samples


def made(*rows: MedQRow) -> MedQRelease:
    return MedQRelease(source="made here", layout="generated", count=len(rows), rows=rows)


def test_rows_that_were_made_need_no_table(tmp_path):
    row = MedQRow(
        number=0,
        fields={"question": "How good?", "A": "Good", "B": "None", "answer": "1", "Level": "Mild"},
        images=(SourceImage("x.png", data=picture(1)),),
    )
    report = prepare_medq_release(made(row), name="MedQ_MCQ_dev", progress=False)
    (sample,) = load_medq("MedQ_MCQ_dev").samples
    assert (sample.index, sample.key, sample.answer, sample.level) == (0, "0", "B", "mild")
    assert (sample.question_type, sample.question_type_by) == ("How", "derived")
    assert (report.layout, report.source, report.problems) == ("generated", "made here", {})


@pytest.mark.parametrize("images", [(), (None,), (None, None)])
def test_made_rows_without_images_are_named(tmp_path, images):
    row = MedQRow(0, {"description": "d"}, images)
    prepare_medq_release(made(row), name="MedQ_Paired_dev", progress=False)
    (sample,) = load_medq("MedQ_Paired_dev").samples
    assert sample.images == (None, None)
    assert sample.problems == ("first image missing", "second image missing")


def test_made_rows_need_a_known_name():
    with pytest.raises(ValueError, match="expected one of MedQ_MCQ_dev"):
        prepare_medq_release(made(), name="mine", progress=False)


def test_rows_without_question_or_options_are_named(tmp_path):
    rows = [mcq_row(0, question=" "), mcq_row(1, B=None, C="  ", question="What?")]
    first, second = loaded(tmp_path, rows).samples
    assert first.problems == ("question empty",)
    assert second.problems == ("fewer than two options",)


def test_a_question_of_a_reasoning_table_is_kept_and_may_be_absent(tmp_path):
    first, second = loaded(
        tmp_path, [caption_row(0), caption_row(1, question="Describe.")], "MedQ_Caption_dev"
    ).samples
    assert (first.question, second.question) == ("", "Describe.")
    assert (first.options, first.answer, first.question_type) == ({}, None, "")


def test_a_sample_is_found_by_its_index(tmp_path):
    data = loaded(tmp_path, [mcq_row(4), mcq_row(2)])
    assert [sample.index for sample in data.samples] == [4, 2]
    assert data.sample(2).key == "2"
    with pytest.raises(KeyError, match="no sample with index 3"):
        data.sample(3)


def test_loading_takes_no_network_and_sees_a_new_preparation(tmp_path, no_network):
    first = loaded(tmp_path, [mcq_row(0)])
    assert load_medq("MedQ_MCQ_test") is first
    prepared(write_table(tmp_path, [mcq_row(0), mcq_row(1)]))
    assert len(load_medq("MedQ_MCQ_test").samples) == 2
    assert no_network == []


def test_the_fingerprint_does_not_depend_on_layout_or_place(tmp_path):
    one = loaded(tmp_path / "1", [paired_row(3)], "MedQ_Paired_test").fingerprint
    for number in (6, 7):
        write(tmp_path / "2" / f"{number}.png", picture(number))
    row = {
        "index": 3,
        "image_path": '["6.png", "7.png"]',
        "description": paired_row()["description"],
    }
    path = tmp_path / "2" / "medqbench_paired_description_test.tsv"
    path.write_text(table_text([row]), encoding="utf-8")
    report = prepare_medq(
        path, name="MedQ_Paired_test", root=tmp_path / "elsewhere", progress=False
    )
    assert report.fingerprint == one
