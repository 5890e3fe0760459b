from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from medbench_vlmeval.human.cells import cells_sha256, csv_bytes, unguarded
from medbench_vlmeval.human.entries import Entries
from medbench_vlmeval.human.key import SheetKey
from medbench_vlmeval.human.tables import TableUnreadable

from .made import Cells, edit_run, exported, filled, text_run, varied, write_rows

Change = Callable[[list[Cells]], None]


@pytest.fixture(scope="module")
def handed_out(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An export for two raters; nothing below changes it."""
    root = tmp_path_factory.mktemp("entries")
    runs = [edit_run(root, model, varied(n)) for n, model in enumerate(("One", "Two"))]
    exported(root / "out", runs, raters=("A", "B"))
    return root / "out"


@pytest.fixture
def out(handed_out: Path) -> Path:
    return handed_out


@pytest.fixture
def key(handed_out: Path) -> SheetKey:
    return SheetKey.read(handed_out / "key.json")


def read(key: SheetKey, *paths: Path) -> Entries:
    """The entries, without the problem that the other rater's table is absent."""
    found = Entries.read(paths, key)
    found.problems = [it for it in found.problems if it.what != "no table came back"]
    return found


def test_a_filled_sheet_comes_back_whole(key: SheetKey, out: Path, tmp_path: Path) -> None:
    found = read(key, write_rows(tmp_path / "A.csv", filled(out, key)))
    assert found.problems == []
    assert len(found.entries) == 24
    for entry in found.entries:
        assert entry.ratings == key.answers[entry.answer].verdicts
        assert (entry.rater, entry.cannot_judge, entry.comment) == ("A", False, "")


@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig"])
def test_tables_come_as_spreadsheets_save_them(
    key: SheetKey, out: Path, tmp_path: Path, delimiter: str, encoding: str
) -> None:
    rows = filled(out, key, lambda answer, name, verdict: "7,5")
    rows[0]["comment"] = 'größer; "ja", nein\nzweite Zeile'
    path = write_rows(tmp_path / "A.csv", rows, delimiter=delimiter, encoding=encoding)
    found = read(key, path)
    assert found.problems == []
    assert {tuple(entry.ratings.values()) for entry in found.entries} == {(7.5, 7.5, 7.5)}
    assert found.entries[0].comment == 'größer; "ja", nein\nzweite Zeile'


def test_a_line_that_names_the_separator_counts_as_a_row(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = filled(out, key)
    rows[0]["EA"] = "11"
    path = write_rows(tmp_path / "A.csv", rows, delimiter=";", encoding="utf-8")
    path.write_bytes(b"sep=;\r\n" + path.read_bytes())
    (problem,) = read(key, path).problems
    assert problem.row == 3


def change(row: int, **cells: str) -> Change:
    return lambda rows: rows[row].update(cells)


def both_marks(rows: list[Cells]) -> None:
    rows[2]["cannot_judge"] = "x"


def own_column(rows: list[Cells]) -> None:
    for row in rows:
        row["my notes"] = "?"


def swapped_pictures(rows: list[Cells]) -> None:
    rows[2]["edited"], rows[3]["edited"] = rows[3]["edited"], rows[2]["edited"]


@pytest.mark.parametrize(
    ("alter", "row", "what", "n_lost"),
    [
        (change(2, EA=""), 4, "item 3: EA empty", 1),
        (change(2, EA="", CP=" ", VQ=""), 4, "item 3: not rated", 3),
        (change(2, EA="11"), 4, "EA: expected a number from 0 to 10, got '11'", 1),
        (change(2, EA="-1"), 4, "EA: expected a number from 0 to 10, got '-1'", 1),
        (change(2, EA="7/10"), 4, "EA: expected a number from 0 to 10, got '7/10'", 1),
        (change(2, EA="good"), 4, "EA: expected a number from 0 to 10, got 'good'", 1),
        (change(2, EA="1_0"), 4, "EA: expected a number from 0 to 10, got '1_0'", 1),
        (change(2, EA="nan"), 4, "EA: expected a number from 0 to 10, got 'nan'", 1),
        (change(2, EA="07. Mai"), 4, "EA: expected a number from 0 to 10, got '07. Mai'", 1),
        (change(2, item="99"), 4, "unknown item 99", 3),
        (change(2, item=""), 4, "unknown item (empty)", 3),
        (change(2, sheet="HC00000000"), 4, "sheet HC00000000, the key is of", 3),
        (change(2, rater="B"), 4, "rater B in the table of A", 3),
        (change(2, instruction="Another one"), 4, "item 3: cells that are not to be filled in", 3),
        (swapped_pictures, 4, "item 3: cells that are not to be filled in were changed", 6),
        (both_marks, 4, "item 3: rated and marked cannot_judge", 3),
        (change(2, cannot_judge="maybe"), 4, "cannot_judge: expected x or nothing", 0),
        (own_column, 1, "column 'my notes' is none of the sheet's", 0),
        (lambda rows: rows.append(dict(rows[2])), 26, "item 3 of rater A again, as in A.csv", 0),
        (
            lambda rows: rows.append({**rows[2], "EA": "0" if rows[2]["EA"] != "0" else "1"}),
            26,
            "item 3 of rater A again, as in A.csv, row 4, rated otherwise",
            3,
        ),
        (lambda rows: rows.pop(2), None, "no usable row for item 3", 3),
    ],
    ids=[
        *("one empty", "not rated", "above", "below", "a fraction", "a word", "underscore", "nan"),
        *("a date", "unknown item", "no item", "other sheet", "two raters", "changed text"),
        *("changed pictures", "both marks", "odd mark", "own column", "twice alike"),
        *("twice otherwise", "row gone"),
    ],
)
def test_what_cannot_be_used_is_listed_and_the_rest_counts(
    key: SheetKey,
    out: Path,
    tmp_path: Path,
    alter: Change,
    row: int | None,
    what: str,
    n_lost: int,
) -> None:
    rows = filled(out, key)
    alter(rows)
    found = read(key, write_rows(tmp_path / "A.csv", rows))
    first = found.problems[0]
    assert first.row == row
    assert what in first.what
    assert first.remedy
    assert str(first) == f"{first.file}{'' if row is None else f', row {row}'}: " + (
        f"{first.what}; {first.remedy}"
    )
    assert sum(len(entry.ratings) for entry in found.entries) == 72 - n_lost


def test_what_cannot_be_judged_is_no_gap(key: SheetKey, out: Path, tmp_path: Path) -> None:
    rows = filled(out, key)
    for row, mark in zip(rows, ("x", "X", "yes", "1", "ja"), strict=False):
        row.update(EA="", CP="", VQ="", cannot_judge=mark)
    rows[5]["cannot_judge"] = "no"
    found = read(key, write_rows(tmp_path / "A.csv", rows))
    assert found.problems == []
    assert [it.item for it in found.entries if it.cannot_judge] == [1, 2, 3, 4, 5]
    assert all(it.ratings == {} for it in found.entries if it.cannot_judge)


def test_two_tables_of_one_rater_that_say_otherwise_are_both_left_out(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = filled(out, key)
    first = write_rows(tmp_path / "first.csv", rows)
    rows[0]["EA"] = "3" if rows[0]["EA"] != "3" else "4"
    second = write_rows(tmp_path / "second.csv", rows)
    found = read(key, first, second)
    assert len(found.entries) == 23
    assert "row 2, rated otherwise" in found.problems[0].what
    assert (found.problems[0].file, found.problems[0].row) == ("second.csv", 2)
    assert len(found.problems) == 24
    assert read(key, first, first).problems == []


def test_files_of_one_name_are_told_apart(key: SheetKey, out: Path, tmp_path: Path) -> None:
    paths = []
    for rater in "AB":
        (tmp_path / rater).mkdir()
        rows = filled(out, key, rater=rater)
        rows[0]["EA"] = "11"
        paths.append(write_rows(tmp_path / rater / "sheet.csv", rows))
    assert [it.file for it in read(key, *paths).problems] == [str(path) for path in paths]


def test_a_rater_whose_table_is_absent_is_named(key: SheetKey, out: Path, tmp_path: Path) -> None:
    found = Entries.read([write_rows(tmp_path / "A.csv", filled(out, key))], key)
    assert [str(it) for it in found.problems] == [
        "rater B: no table came back; ask for it, or go on"
    ]


def test_a_rater_that_the_key_does_not_know_is_named(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = [{**row, "rater": "Z"} for row in filled(out, key)]
    found = read(key, write_rows(tmp_path / "Z.csv", rows))
    assert (len(found.entries), len(found.problems)) == (0, 24)
    assert "unknown rater Z" in found.problems[0].what
    assert "A, B" in found.problems[0].remedy


def test_white_space_and_apostrophes_of_a_spreadsheet_change_nothing(
    tmp_path: Path,
) -> None:
    out = tmp_path / "out"
    replies = {n: f"=Noise in row {n}.\nBlur at the edge." for n in range(12)}
    run = text_run(tmp_path, "M", varied(1, top=2), replies=replies)
    key = exported(out, [run])
    rows = filled(out, key)
    for row in rows:
        row["text"] = row["text"].removeprefix("'").replace("\n", "\r\n")
    assert read(key, write_rows(tmp_path / "A.csv", rows)).problems == []


def test_points_between_the_grades_are_no_points(tmp_path: Path) -> None:
    out = tmp_path / "out"
    runs = [text_run(tmp_path, "M", varied(1, top=2), roles=("first", "second"))]
    key = exported(out, runs)
    rows = filled(out, key, lambda answer, name, verdict: 2)
    rows[0]["completeness"], rows[1]["quality_accuracy"] = "1,5", "1"
    assert [it.what for it in read(key, write_rows(tmp_path / "A.csv", rows)).problems] == [
        "completeness: expected 0, 1 or 2, got '1,5'",
        "quality_accuracy: expected 0 or 2, got '1'",
    ]


def test_a_table_without_rows_is_told(key: SheetKey, out: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "A.csv", filled(out, key))
    path.write_bytes(path.read_bytes().partition(b"\r\n")[0] + b"\r\n,,,,\r\n")
    assert read(key, path).problems[0].what == "no rows"


def test_a_text_that_lost_its_quotes_is_told(key: SheetKey, out: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "A.csv", filled(out, key))
    lines = path.read_bytes().split(b"\r\n")
    path.write_bytes(b"\r\n".join([*lines[:3], lines[3] + b",blurred, and more", *lines[4:]]))
    found = read(key, path)
    assert (found.problems[0].row, found.problems[0].what) == (4, "more cells than columns")
    assert len(found.entries) == 23


def test_cells_at_the_end_of_a_row_may_be_absent(key: SheetKey, out: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "A.csv", filled(out, key))
    path.write_bytes(path.read_bytes().replace(b",,\r\n", b"\r\n"))
    assert read(key, path).problems == []


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"PK\x03\x04", "got a workbook; save its first sheet as CSV UTF-8"),
        ("größer".encode("cp1252"), r"expected UTF-8, got another encoding \(byte 2\)"),
        (b"a,b\n1,2\n", "sheet, rater, item"),
        (b"", "sheet, rater, item"),
        (b'sheet,rater\n"open', "one that breaks off"),
    ],
    ids=["workbook", "code page", "another table", "empty", "open quote"],
)
def test_what_is_no_sheet_is_refused(
    key: SheetKey, tmp_path: Path, data: bytes, message: str
) -> None:
    path = tmp_path / "A.csv"
    path.write_bytes(data)
    with pytest.raises(TableUnreadable, match=message):
        Entries.read([path], key)


def test_a_column_twice_is_refused(key: SheetKey, out: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "A.csv", filled(out, key))
    path.write_bytes(path.read_bytes().replace(b",CP,VQ,", b",EA,VQ,", 1))
    with pytest.raises(TableUnreadable, match="CP missing"):
        Entries.read([path], key)
    path.write_bytes(path.read_bytes().replace(b",EA,EA,", b",EA,CP,EA,", 1))
    with pytest.raises(TableUnreadable, match="EA twice"):
        Entries.read([path], key)


def test_the_key_of_another_export_takes_nothing(key: SheetKey, out: Path, tmp_path: Path) -> None:
    path = write_rows(tmp_path / "A.csv", filled(out, key))
    found = read(replace(key, sheet="HC11111111"), path)
    assert found.entries == []
    assert found.problems[0].remedy == "give the key of the same export"


@pytest.mark.parametrize("text", ["=1+1", "+1", "-x", "@a", "\tx", "plain", "'quoted'", "'", ""])
def test_a_guarded_cell_comes_back_as_it_was(text: str) -> None:
    (row,) = csv_bytes(["c"], [[text]]).decode("utf-8-sig").splitlines()[1:] or [""]
    cell = row.strip('"')
    assert unguarded(cell) == text
    assert not cell.startswith(("=", "+", "-", "@", "\t"))


def test_the_hash_of_cells_sees_every_word_and_its_column() -> None:
    one = cells_sha256({"a": "x y", "b": "z"})
    assert one == cells_sha256({"a": " x\r\n y ", "b": "z"})
    assert one != cells_sha256({"a": "x", "b": "y z"})
    assert one != cells_sha256({"b": "x y", "a": "z"})


def test_a_decimal_comma_that_lost_its_quotes_shifts_no_rating(
    key: SheetKey, out: Path, tmp_path: Path
) -> None:
    rows = filled(out, key)
    path = write_rows(tmp_path / "A.csv", rows)
    lines = path.read_text(encoding="utf-8-sig").splitlines()
    blank = lines[1].split(",")
    blank[-5:] = ["7", "5", "8", "9", "", ""]  # EA 7,5 by hand; the last cells are empty
    path.write_text("\n".join([lines[0], ",".join(blank), *lines[2:]]), encoding="utf-8")
    found = read(key, path)
    assert 1 not in {entry.item for entry in found.entries if entry.rater == "A"}
    assert str(found.problems[0]) == (
        "A.csv, row 2: more cells than columns; put cells that hold a separator in quotes"
    )


@pytest.mark.parametrize("end", ["\r", "\n", "\r\n"], ids=["CR", "LF", "CRLF"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"], ids=["comma", "semicolon", "tab"])
def test_a_comment_with_line_break_quotes_and_separators_comes_back_whole(
    key: SheetKey, out: Path, tmp_path: Path, delimiter: str, end: str
) -> None:
    rows = filled(out, key)
    rows[2]["comment"] = 'The "edge", blurred;\tsee\nright'
    rows[1]["EA"] = "7,5"
    path = write_rows(tmp_path / "A.csv", rows, delimiter=delimiter)
    text = path.read_bytes().decode("utf-8-sig").replace("\r\n", end)
    path.write_bytes(text.encode("utf-8"))
    entries = {entry.item: entry for entry in read(key, path).entries}
    assert entries[3].comment == rows[2]["comment"]
    assert entries[2].ratings["EA"] == 7.5
    assert len(entries) == len(rows)
