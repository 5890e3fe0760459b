from __future__ import annotations

from pathlib import Path

import pytest

from medbench_vlmeval.edits_folder import index_edits_folder


def _folder(tmp_path: Path, *names: str) -> Path:
    for name in names:
        (tmp_path / name).write_bytes(b"x")
    return tmp_path


def test_official_names_are_found_and_other_replicas_left_alone(tmp_path: Path) -> None:
    index = index_edits_folder(_folder(tmp_path, "12_0.png", "12_1.png", "7_0.png", "notes.txt"))
    assert {i: edit.path.name for i, edit in index.edits.items()} == {12: "12_0.png", 7: "7_0.png"}
    assert index.missing([7, 8, 12]) == [8]


@pytest.mark.parametrize("name", ["12.png", "012_0.png", "12_0.PNG", "12_0.tif"])
def test_sensible_variants_are_accepted(tmp_path: Path, name: str) -> None:
    assert index_edits_folder(_folder(tmp_path, name)).edits[12].path.name == name


def test_a_jpeg_is_used_and_flagged(tmp_path: Path) -> None:
    edit = index_edits_folder(_folder(tmp_path, "12_0.jpg")).edits[12]
    assert edit.path.name == "12_0.jpg"
    assert edit.flags == {"lossy"}


def test_the_lossless_of_two_formats_is_used_and_the_other_reported(tmp_path: Path) -> None:
    edit = index_edits_folder(_folder(tmp_path, "12_0.jpg", "12_0.png")).edits[12]
    assert edit.path.name == "12_0.png"
    assert edit.flags == {"also_lossy_copy"}


@pytest.mark.parametrize("names", [("12.png", "12_0.png"), ("012_0.png", "12_0.png")], ids="+".join)
def test_two_different_names_for_a_sample_are_refused(
    tmp_path: Path, names: tuple[str, ...]
) -> None:
    index = index_edits_folder(_folder(tmp_path, *names))
    assert 12 not in index.edits
    assert set(index.ambiguous[12]) == set(names)


def test_names_that_mean_no_sample_are_listed(tmp_path: Path) -> None:
    index = index_edits_folder(_folder(tmp_path, "final_version.png", "12_0_old.png"))
    assert index.edits == {}
    assert set(index.ignored) == {"final_version.png", "12_0_old.png"}


def test_a_file_is_no_folder(tmp_path: Path) -> None:
    with pytest.raises(NotADirectoryError, match="expected a folder"):
        index_edits_folder(_folder(tmp_path, "a.png") / "a.png")


def test_further_numbers_count_on_from_the_first_up_to_a_gap(tmp_path: Path) -> None:
    names = ("12_0.png", "12_1.png", "12_3.png", "7_0.png", "7_01.jpg", "8_1.png")
    index = index_edits_folder(_folder(tmp_path, *names))
    assert [edit.path.name for edit in index.replicas(12)] == ["12_1.png"]
    assert [edit.path.name for edit in index.replicas(7)] == ["7_01.jpg"]
    assert index.replicas(7)[0].flags == {"lossy"}
    assert index.replicas(99) == ()
    assert index.unused() == ["8_1.png", "12_3.png"]
    second = index_edits_folder(tmp_path, replica=1)
    assert {i: edit.path.name for i, edit in second.edits.items()} == {
        7: "7_01.jpg",
        8: "8_1.png",
        12: "12_1.png",
    }
    assert second.replicas(12) == ()


def test_a_further_number_that_two_files_claim_is_a_gap(tmp_path: Path) -> None:
    index = index_edits_folder(_folder(tmp_path, "12_0.png", "12_1.png", "012_1.png", "12_2.png"))
    assert index.replicas(12) == ()
    assert index.ambiguous == {}


def test_a_name_without_a_number_is_the_first_and_no_other(tmp_path: Path) -> None:
    _folder(tmp_path, "12.png", "12_1.png")
    assert index_edits_folder(tmp_path).edits[12].path.name == "12.png"
    assert index_edits_folder(tmp_path, replica=1).edits[12].path.name == "12_1.png"
    assert 12 not in index_edits_folder(tmp_path, replica=2).edits
