from __future__ import annotations

import json
import os
import tracemalloc

import pandas as pd
import pytest

from medbench_vlmeval.data import load_medq, prepare_medq
from medbench_vlmeval.data.medq_tsv import read_medq_tables

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
from .releases import encoded, picture, write


def shown(sample) -> list[bytes | None]:
    return [None if path is None else path.read_bytes() for path in sample.images]


@pytest.mark.parametrize("word", ["None", "N/A", "nan", "NaN", "NULL", "NA", "<NA>", "null", "n/a"])
def test_words_that_pandas_takes_for_nothing_stay_texts_in_every_cell(tmp_path, word):
    # Q11
    rows = [
        mcq_row(0, A="Motion", B="Noise", C="Metal", D=word, answer="D", modality=word),
        mcq_row(1, A=word, B="Noise", C="Metal", D="Ring", answer="A", note=word),
    ]
    first, second = loaded(tmp_path, rows).samples
    assert first.options == {"A": "Motion", "B": "Noise", "C": "Metal", "D": word}
    assert (first.answer, first.modality) == ("D", word)
    assert second.options["A"] == word
    assert second.extra == {"note": word}
    (caption,) = loaded(tmp_path, [caption_row(description=word)], "MedQ_Caption_test").samples
    assert (caption.description, caption.problems) == (word, ())


def test_a_fifth_option_is_offered_and_may_be_right(tmp_path):
    # Q7
    options = {letter: f"{letter.lower()}1" for letter in "ABCDE"}
    (sample,) = loaded(tmp_path, [mcq_row(**options, answer="E")]).samples
    assert (sample.options, sample.answer) == (options, "E")


def test_positions_that_pandas_wrote_as_float_become_letters(tmp_path):
    # Q6b: one empty cell turns the whole column to float
    rows = [mcq_row(number, answer=answer) for number, answer in enumerate([0, 1, None])]
    frame = pd.DataFrame(rows)
    path = tmp_path / "medqbench_QA_test.tsv"
    frame.to_csv(path, sep="\t", index=False)
    assert "\t0.0\t" in path.read_text(encoding="utf-8")
    report = prepared(path)
    assert [sample.answer for sample in load_medq("MedQ_MCQ_test").samples] == ["A", "B", None]
    assert report.problems == {"answer missing": ("2",)}


def test_a_row_without_a_right_answer_is_kept_and_named(tmp_path):
    # Q3, the part of the data: nothing can equal an answer that is not there
    report = prepared(write_table(tmp_path, [mcq_row(0, answer=None), mcq_row(1, answer="D")]))
    first, second = load_medq("MedQ_MCQ_test").samples
    assert (first.answer, second.answer) == (None, None)
    assert report.problems == {
        "answer missing": ("0",),
        "answer not among the options": ("1",),
    }


def test_texts_with_tabs_quotes_and_lines_come_back_as_they_were(tmp_path):
    question = 'How "good"\tis\nthis image?'
    options = {"A": '"Good"', "B": "Us\table", "C": " Reject "}
    for quoting in (0, 1):  # QUOTE_MINIMAL, QUOTE_ALL
        path = tmp_path / f"{quoting}" / "medqbench_QA_test.tsv"
        path.parent.mkdir()
        frame = pd.DataFrame([mcq_row(0, question=question, **options), mcq_row(1)])
        frame.to_csv(path, sep="\t", index=False, quoting=quoting)
        prepared(path)
        first, second = load_medq("MedQ_MCQ_test").samples
        assert first.question == question
        assert first.options == options
        assert shown(second) == [picture(1)]


def test_a_byte_order_mark_and_windows_lines_are_read(tmp_path):
    rows = [{"note": "first"} | mcq_row(number) for number in range(2)]
    text = "\ufeff" + table_text(rows).replace("\n", "\r\n")
    path = tmp_path / "medqbench_QA_test.tsv"
    path.write_bytes(text.encode("utf-8"))
    assert prepared(path).problems == {}
    samples = load_medq("MedQ_MCQ_test").samples
    assert [sample.extra for sample in samples] == [{"note": "first"}] * 2


def test_images_keep_their_bytes_whatever_their_format(tmp_path):
    pixels = pd.Series(range(48)).to_numpy().reshape(4, 4, 3).astype("uint8")
    jpeg = encoded(pixels, "JPEG")
    rows = [
        mcq_row(0, image=b64(jpeg)),
        mcq_row(1, image=f"data:image/png;base64,{b64(picture(7))}"),
    ]
    wrapped = "\n".join([b64(picture(8))[:76], b64(picture(8))[76:]])
    first, second, third = loaded(tmp_path, [*rows, mcq_row(2, image=wrapped)]).samples
    assert [shown(first), shown(second), shown(third)] == [[jpeg], [picture(7)], [picture(8)]]
    assert first.images[0].suffix == ".jpg"


@pytest.mark.parametrize(
    ("cell", "problem"),
    [
        (None, "image missing"),
        ("   ", "image missing"),
        ("x" * 80, "image unreadable"),
        (b64(picture(0))[:-32], "image unreadable"),
        ("!" + b64(picture(0)), "image is no base64"),
        (b64(picture(0))[:101], "image is no base64"),
        (b64(b"no picture at all, only words" * 4), "image unreadable"),
        (b64(b"version https://git-lfs.github.com/spec/v1\noid sha256:0"), "image is a Git LFS"),
        ("[" + b64(picture(0)), "image is no base64"),
        ("['a', 3]" + " " * 70, "image list unreadable"),
        ("[__import__('os').getcwd()]" + " " * 60, "image list unreadable"),
        ("999", "image names no row of the table"),
        ("3", "image names a row that has no image of its own"),
    ],
)
def test_an_image_that_is_none_is_a_problem_of_its_row(tmp_path, cell, problem):
    rows = [mcq_row(0), mcq_row(1, image=cell), mcq_row(3, image="1")]
    data = loaded(tmp_path, rows)
    assert len(data.samples) == 3
    sample = data.samples[1]
    assert len(sample.problems) == 1
    assert sample.problems[0].startswith(problem)
    assert (sample.images, sample.sha256, sample.is_whole) == ((None,), (None,), False)
    assert data.samples[0].problems == ()


def test_a_short_image_cell_names_the_row_whose_image_it_is(tmp_path):
    rows = [mcq_row(5, image="9"), mcq_row(7), mcq_row(9), mcq_row(11, image="7")]
    data = loaded(tmp_path, rows)
    assert [shown(sample)[0] for sample in data.samples] == [
        *(picture(9), picture(7), picture(9), picture(7))
    ]
    assert [sample.case for sample in data.samples] == ["5", "7", "5", "7"]
    assert len({sample.images[0] for sample in data.samples}) == 2


def test_a_pair_is_read_from_two_columns(tmp_path):
    # P0
    (sample,) = loaded(tmp_path, [paired_row(4)], "MedQ_Paired_test").samples
    assert shown(sample) == [picture(8), picture(9)]
    assert (sample.kind, sample.is_whole, sample.problems) == ("paired", True, ())


@pytest.mark.parametrize("spelling", [json.dumps, repr], ids=["json", "python"])
@pytest.mark.parametrize("column", ["image", "image_path"])
def test_a_pair_is_read_from_one_column_of_list_text(tmp_path, spelling, column):
    # P1b
    for number in (0, 1):
        write(tmp_path / "pictures" / f"{number}.png", picture(number))
    cells = {
        "image": [b64(picture(0)), b64(picture(1))],
        "image_path": ["pictures/0.png", "pictures/1.png"],
    }
    row = {"index": 0, column: spelling(cells[column]), "description": "Overall, so."}
    (sample,) = loaded(tmp_path, [row], "MedQ_Paired_test").samples
    assert shown(sample) == [picture(0), picture(1)]
    assert sample.problems == ()


def test_pairs_that_lack_an_image_are_named_and_keep_their_places(tmp_path):
    # P1
    one, other, broken = b64(picture(0)), b64(picture(1)), "!" * 80
    rows = [
        paired_row(0),
        paired_row(1, image_b=None),
        paired_row(2, image_a=None),
        paired_row(3, image_a=None, image_b=None),
        paired_row(4, image_a=broken),
        paired_row(5, image_a=None, image_b=None, image=repr([one])),
        paired_row(6, image_a=None, image_b=None, image=repr(["", other])),
        paired_row(7, image_a=None, image_b=None, image=repr([one, other, one])),
    ]
    report = prepared(write_table(tmp_path, rows, "MedQ_Paired_test"), "MedQ_Paired_test")
    data = load_medq("MedQ_Paired_test")
    assert [[image is not None for image in sample.images] for sample in data.samples] == [
        *([True, True], [True, False], [False, True], [False, False], [False, True]),
        *([True, False], [False, True], [True, True, True]),
    ]
    assert report.problems == {
        "3 images, expected 2": ("7",),
        "first image is no base64": ("4",),
        "first image missing": ("2", "3", "6"),
        "second image missing": ("1", "3", "5"),
    }


def test_a_pair_of_one_file_is_a_problem(tmp_path):
    row = paired_row(image_b=b64(picture(0)))
    (sample,) = loaded(tmp_path, [row], "MedQ_Paired_test").samples
    assert sample.problems == ("both images are the same file",)


@pytest.mark.parametrize("name", ["MedQ_Caption_test", "MedQ_Paired_test"])
def test_a_missing_reference_text_is_none_and_a_problem(tmp_path, name):
    # J8b, the part of the data
    row = (caption_row if name == "MedQ_Caption_test" else paired_row)(description=None)
    (sample,) = loaded(tmp_path, [row], name).samples
    assert (sample.description, sample.problems) == (None, ("description missing",))


def test_paths_are_taken_from_the_folder_of_the_table(tmp_path):
    # Q10
    write(tmp_path / "imgs" / "x.png", picture(3))
    row = {name: cell for name, cell in mcq_row().items() if name != "image"}
    rows = [row | {"image_path": name} for name in ("imgs/x.png", "imgs\\x.png", "imgs/y.png")]
    first, second, third = loaded(
        tmp_path, [row | {"index": n} for n, row in enumerate(rows)]
    ).samples
    assert shown(first) == shown(second) == [picture(3)]
    assert (third.images, third.problems) == ((None,), ("image file not found",))


def test_paths_never_leave_the_folder_of_the_table(tmp_path):
    folder = tmp_path / "release"
    write(tmp_path / "secret.png", picture(1))
    write(folder / "inside.png", picture(2))
    (folder / "link.png").symlink_to(tmp_path / "secret.png")
    (folder / "outside").symlink_to(tmp_path)
    (folder / "fine.png").symlink_to(folder / "inside.png")
    names = ["../secret.png", str(tmp_path / "secret.png"), "link.png", "outside/secret.png"]
    row = {name: cell for name, cell in mcq_row().items() if name != "image"}
    rows = [row | {"index": n, "image_path": name} for n, name in enumerate([*names, "fine.png"])]
    *refused, fine = loaded(folder, rows).samples
    assert [sample.problems for sample in refused] == [("image path leaves the release",)] * 4
    assert all(sample.images == (None,) for sample in refused)
    assert shown(fine) == [picture(2)]


def test_links_of_a_hub_snapshot_into_its_own_cache_are_followed(tmp_path):
    snapshot = tmp_path / "snapshots" / ("ab" * 20)
    write(tmp_path / "blobs" / "0", picture(5))
    row = {name: cell for name, cell in mcq_row(image_path="x.png").items() if name != "image"}
    write(tmp_path / "blobs" / "1", table_text([row]).encode())
    snapshot.mkdir(parents=True)
    (snapshot / "x.png").symlink_to(tmp_path / "blobs" / "0")
    (snapshot / "medqbench_QA_test.tsv").symlink_to(tmp_path / "blobs" / "1")
    report = prepared(snapshot)
    assert (report.problems, report.revision) == ({}, "ab" * 20)
    assert shown(load_medq("MedQ_MCQ_test").samples[0]) == [picture(5)]


def test_image_data_comes_before_a_path_and_the_path_is_kept(tmp_path):
    (sample,) = loaded(tmp_path, [mcq_row(image_path="1.jpg")]).samples
    assert shown(sample) == [picture(0)]
    assert sample.extra == {"image_path": "1.jpg"}


@pytest.mark.parametrize(
    ("written", "expected", "keys"),
    [
        ([3, 1, 2], [3, 1, 2], ["3", "1", "2"]),
        (["3.0", "1.0"], [3, 1], ["3.0", "1.0"]),
        (["a", "b"], [0, 1], ["a", "b"]),
        ([1, 1.5], [0, 1], ["1", "1.5"]),
        ([-1, 1], [0, 1], ["-1", "1"]),
    ],
)
def test_the_index_is_the_releases_own_where_it_is_unique_and_whole(
    tmp_path, written, expected, keys
):
    data = loaded(tmp_path, [mcq_row(0, index=index) for index in written])
    assert [sample.index for sample in data.samples] == expected
    assert [sample.key for sample in data.samples] == keys


def test_repeated_and_missing_indices_are_named_and_rows_numbered(tmp_path):
    rows = [mcq_row(number, index=index) for number, index in enumerate([7, 8, 7, None])]
    report = prepared(write_table(tmp_path, rows))
    data = load_medq("MedQ_MCQ_test")
    assert [sample.index for sample in data.samples] == [0, 1, 2, 3]
    assert [sample.key for sample in data.samples] == ["7", "8", "7", "3"]
    assert report.problems == {"index missing": ("row 3",), "index repeated": ("7", "7#2")}


def test_a_table_without_an_index_is_numbered(tmp_path):
    rows = [{k: v for k, v in mcq_row(n).items() if k != "index"} for n in range(2)]
    data = loaded(tmp_path, rows)
    assert [(sample.index, sample.key, sample.problems) for sample in data.samples] == [
        *((0, "0", ()), (1, "1", ()))
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "the file is empty"),
        (b"index\tquestion\timage\tA\tB\tanswer\n", "only the line of column names"),
        (b"version https://git-lfs.github.com/spec/v1\noid", "git lfs pull"),
        (table_text([mcq_row(0), mcq_row(1)]).encode()[:-30], "row 2 has"),
        (table_text([mcq_row(0, modality='"C\tT')]).encode()[:-4], "damaged near line"),
        (table_text([mcq_row(0)]).encode() + b"a\tb\xff\tc\n", "expected UTF-8"),
        (b"index,question\n1,2\n", "expected columns for question, answer"),
    ],
    ids=["empty", "no rows", "pointer", "cut", "cut in quotes", "other bytes", "commas"],
)
def test_a_damaged_table_stops_before_anything_is_written(tmp_path, lmu, content, message):
    path = tmp_path / "medqbench_QA_test.tsv"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message) as caught:
        prepared(path)
    assert str(path) in str(caught.value)
    assert list(lmu.iterdir()) == []


def test_a_table_is_never_in_memory_as_a_whole(tmp_path):
    noise = b64(os.urandom(1 << 20))
    path = tmp_path / "medqbench_QA_test.tsv"
    path.write_text(
        table_text([mcq_row(0)])
        + "".join(f"{n}\t{noise}\tq\tYes\tNo\t\tA\tCT\n" for n in range(1, 41)),
        encoding="utf-8",
    )
    tracemalloc.start()
    release = read_medq_tables([path], "mcq")
    n_rows = sum(1 for _ in release.rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert (n_rows, release.count) == (41, 41)
    assert peak < path.stat().st_size / 3


def test_the_two_robustness_tables_make_one_data_set(tmp_path):
    name = "MedQDEG_test"
    write_table(tmp_path, [mcq_row(0, **YES_NO, C=None), mcq_row(1)], name, 0)
    rows = [
        mcq_row(0, degradation_severity="L1", degradation_type="noise", question="Rate?", A="x"),
        mcq_row(2, degradation_severity="l2", degradation_type="blur"),
    ]
    write_table(tmp_path, rows, name, 1)
    report = prepare_medq(tmp_path, name=name, progress=False)
    data = load_medq(name)
    assert [sample.level for sample in data.samples] == ["L0", "L0", "L1", "L2"]
    assert [(sample.index, sample.key) for sample in data.samples] == [
        *((0, "0"), (1, "1"), (2, "0"), (3, "2"))
    ]
    assert [sample.extra["table"] for sample in data.samples] == [
        *["MedQ-Robust-good-test.tsv"] * 2,
        *["MedQ-Robust-simulate-test.tsv"] * 2,
    ]
    assert report.group_counts == {"L0": 2, "L1": 1, "L2": 1}
    assert report.problems == {}
    assert [sample.case for sample in data.samples] == ["0", "1", "0", "3"]


def test_robustness_rows_keep_their_indices_where_they_do_not_collide(tmp_path):
    name = "MedQDEG_test"
    write_table(tmp_path, [mcq_row(5, severity="none")], name, 0)
    write_table(tmp_path, [mcq_row(9, severity="L1")], name, 1)
    prepared(tmp_path, name)
    data = load_medq(name)
    assert [(sample.index, sample.level) for sample in data.samples] == [(5, "none"), (9, "L1")]


def test_one_robustness_table_alone_says_what_is_missing(tmp_path):
    write_table(tmp_path, [mcq_row(0)], "MedQDEG_test", 1)
    report = prepared(tmp_path, "MedQDEG_test")
    assert report.warnings == ("MedQ-Robust-good-test.tsv is not there: its rows are missing",)
    assert load_medq("MedQDEG_test").samples[0].level == ""
