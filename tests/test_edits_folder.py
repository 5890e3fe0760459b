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
