from __future__ import annotations

import io
import json
import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from medbench_vlmeval.files import sha256_file
from medbench_vlmeval.human.cells import unguarded
from medbench_vlmeval.human.export import FOR_RATERS, ExportChoices, export_sheets
from medbench_vlmeval.human.key import KeyUnreadable, SheetKey
from medbench_vlmeval.images import read_rgb
from medbench_vlmeval.report.runs import Run, RunUnreadable

from .made import MODELS, coloured, edit_run, exported, read_rows, sheet_path, text_run, varied


@pytest.fixture
def runs(tmp_path: Path) -> list[Run]:
    return [edit_run(tmp_path, model, varied(seed)) for seed, model in enumerate(MODELS)]


def contents(folder: Path) -> dict[str, bytes]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}


def test_one_seed_gives_the_same_bytes_and_another_one_others(
    tmp_path: Path, runs: list[Run]
) -> None:
    for name, seed in (("a", 5), ("b", 5), ("c", 6)):
        exported(tmp_path / name, runs, n_samples=6, seed=seed, raters=("A", "B"))
    assert contents(tmp_path / "a") == contents(tmp_path / "b")
    assert contents(tmp_path / "a").keys() == contents(tmp_path / "c").keys()
    assert contents(tmp_path / "a") != contents(tmp_path / "c")


def test_nothing_that_raters_get_names_a_model(tmp_path: Path, runs: list[Run]) -> None:
    exported(tmp_path / "out", runs)
    pictures = [path for run in runs for path in run.beside("_images").iterdir()]
    assert all(b"made by" in path.read_bytes() for path in pictures)
    for name, data in contents(tmp_path / "out" / FOR_RATERS).items():
        hay = f"{name} ".encode() + data
        assert not [model for model in MODELS if model.lower().encode() in hay.lower()]
        assert b"made by" not in data
        if name.endswith(".png"):
            with Image.open(io.BytesIO(data)) as image:
                assert (image.format, image.info, dict(image.getexif())) == ("PNG", {}, {})


def test_no_automated_score_is_in_what_raters_get(tmp_path: Path) -> None:
    odd = [edit_run(tmp_path, it, lambda sample, dimension: 7.654321) for it in MODELS[:2]]
    exported(tmp_path / "out", odd)
    assert b"7.654321" in (tmp_path / "out" / "key.json").read_bytes()
    for data in contents(tmp_path / "out" / FOR_RATERS).values():
        assert b"7.654321" not in data
        assert b"0.7654321" not in data


def test_the_pixels_of_every_item_are_those_of_its_model(tmp_path: Path, runs: list[Run]) -> None:
    key = exported(tmp_path / "out", runs)
    folder = sheet_path(tmp_path / "out").parent
    for row, item in zip(read_rows(folder / "sheet.csv"), key.raters["A"], strict=True):
        answer = key.answers[item.answer]
        original = runs[answer.run].beside("_images") / f"{answer.index:02d}ab.png"
        assert answer.sha256 == sha256_file(original)
        shown, wanted = read_rgb(folder / row["edited"]), read_rgb(original)
        assert (shown.pixels == wanted.pixels).all()
        previous = tmp_path / "data" / "previous" / f"{answer.index}.png"
        assert (read_rgb(folder / row["previous"]).pixels == read_rgb(previous).pixels).all()


def test_all_models_have_the_same_samples_spread_over_the_groups(
    tmp_path: Path, runs: list[Run]
) -> None:
    key = exported(tmp_path / "out", runs, n_samples=6)
    by_run = {
        run: sorted(answer.index for answer in key.answers if answer.run == run) for run in range(3)
    }
    assert by_run[0] == by_run[1] == by_run[2]
    assert Counter(index % 3 for index in by_run[0]) == {0: 2, 1: 2, 2: 2}
    assert Counter(index % 6 for index in by_run[0]) == dict.fromkeys(range(6), 1)
    assert key.settings["groups"] == {"Eyes": 2, "Spine": 2, "Torso": 2}


def test_the_models_change_places_from_sample_to_sample(tmp_path: Path, runs: list[Run]) -> None:
    key = exported(tmp_path / "out", runs)
    order = [key.answers[item.answer].run for item in key.raters["A"]]
    places = {tuple(order[start : start + 3]) for start in range(0, 36, 3)}
    assert len(places) > 3
    assert all(sorted(place) == [0, 1, 2] for place in places)


def test_every_rater_has_an_order_of_their_own(tmp_path: Path, runs: list[Run]) -> None:
    key = exported(tmp_path / "out", runs, raters=("A", "B"))
    orders = {rater: [item.answer for item in items] for rater, items in key.raters.items()}
    assert orders["A"] != orders["B"]
    assert sorted(orders["A"]) == sorted(orders["B"]) == list(range(36))
    for rater in "AB":
        rows = read_rows(sheet_path(tmp_path / "out", rater))
        assert {row["rater"] for row in rows} == {rater}
        assert [row["item"] for row in rows] == [str(n) for n in range(1, 37)]


def test_the_key_holds_the_hashes_of_the_runs_and_lies_outside(
    tmp_path: Path, runs: list[Run]
) -> None:
    key = exported(tmp_path / "out", runs)
    assert not [*(tmp_path / "out" / FOR_RATERS).rglob("key*")]
    assert key.models == list(MODELS)
    for run, facts in zip(runs, key.runs, strict=True):
        assert facts["files"][str(run.beside("_scores.jsonl"))] == sha256_file(
            run.beside("_scores.jsonl")
        )
        assert len(facts["files"]) == 4
    assert key.changed_files() == []
    runs[0].beside("_scores.jsonl").write_text("{}\n", encoding="utf-8")
    assert len(key.changed_files()) == 1


def test_sheets_and_keys_are_never_replaced(tmp_path: Path, runs: list[Run]) -> None:
    exported(tmp_path / "out", runs)
    before = contents(tmp_path / "out")
    with pytest.raises(FileExistsError, match="never replaced, choose another --out"):
        export_sheets(runs, tmp_path / "out", ExportChoices(seed=9))
    assert contents(tmp_path / "out") == before
    file = tmp_path / "file"
    file.write_text("", encoding="utf-8")
    with pytest.raises(FileExistsError):
        export_sheets(runs, file, ExportChoices())


def test_an_export_that_fails_leaves_nothing(tmp_path: Path, runs: list[Run]) -> None:
    empty = edit_run(tmp_path, "Silent", varied(1), without_picture=range(12))
    before = sorted(tmp_path.iterdir())
    with pytest.raises(ValueError, match=r"a model gave no picture \(missing\) \(12\)"):
        export_sheets([runs[0], empty], tmp_path / "out", ExportChoices())
    assert sorted(tmp_path.iterdir()) == before


def test_samples_that_a_model_did_not_answer_are_skipped_and_counted(
    tmp_path: Path, runs: list[Run]
) -> None:
    lazy = edit_run(tmp_path, "Lazy", varied(1), without_picture=(0, 1, 2))
    damaged = lazy.beside("_images") / "03ab.png"
    before = sha256_file(damaged)
    damaged.write_bytes(b"\x89PNG no picture")
    scores = lazy.beside("_scores.jsonl")
    scores.write_text(scores.read_text().replace(before, sha256_file(damaged)), encoding="utf-8")
    lazy = Run.at(lazy.manifest_path)
    (tmp_path / "data" / "reference" / "4.png").unlink()
    done = export_sheets([runs[0], lazy], tmp_path / "out", ExportChoices(n_samples=99))
    assert done.key.left_out == {
        "a model gave no picture (missing)": 3,
        "an edited image cannot be read": 1,
        "the image `reference` is missing": 1,
    }
    assert sorted(done.key.clusters) == list(range(5, 12))
    assert "99 samples were asked for" in "\n".join(done.lines())


def test_a_run_cannot_put_other_files_before_raters(tmp_path: Path) -> None:
    coloured(tmp_path / "runs" / "secret.png", 1)
    run = edit_run(tmp_path, "M", varied(1), n=2)
    path = run.beside("_scores.jsonl")
    path.write_text(path.read_text().replace("00ab.png", "../../secret.png"), encoding="utf-8")
    key = exported(tmp_path / "out", [Run.at(run.manifest_path)])
    assert key.left_out == {"an edited image lies outside its run": 1}


def test_only_pictures_that_the_judge_saw_are_put_before_raters(
    tmp_path: Path, runs: list[Run]
) -> None:
    coloured(runs[1].beside("_images") / "01ab.png", 99)
    shown = runs[0].beside("_samples.jsonl")
    lines = [json.loads(line) for line in shown.read_text(encoding="utf-8").splitlines()]
    lines[2]["images"][0]["sha256"] = "0" * 64
    shown.write_text("".join(json.dumps(it) + "\n" for it in lines), encoding="utf-8")
    key = exported(tmp_path / "out", runs)
    assert key.left_out == {
        "an edited image is not the one that was evaluated": 1,
        "the image `previous` is not the one that was evaluated": 1,
    }


def test_an_empty_folder_may_be_there_already(tmp_path: Path, runs: list[Run]) -> None:
    (tmp_path / "out").mkdir()
    exported(tmp_path / "out", runs)
    assert (tmp_path / "out").stat().st_mode & 0o077 == (tmp_path / "runs").stat().st_mode & 0o077


def test_images_are_found_where_the_data_moved_to(tmp_path: Path, runs: list[Run]) -> None:
    (tmp_path / "data").rename(tmp_path / "moved")
    with pytest.raises(ValueError, match=r"the image `previous` is missing \(12\)"):
        export_sheets(runs, tmp_path / "out", ExportChoices())
    done = export_sheets(
        runs, tmp_path / "out", ExportChoices(n_samples=12), data_root=tmp_path / "moved"
    )
    assert done.n_samples == 12


def test_the_reference_can_be_hidden_and_raters_are_told(tmp_path: Path, runs: list[Run]) -> None:
    exported(tmp_path / "shown", runs)
    exported(tmp_path / "hidden", runs, hide_reference=True)
    shown, hidden = (contents(tmp_path / name / FOR_RATERS) for name in ("shown", "hidden"))
    assert any("reference" in name for name in shown)
    assert not any("reference" in name for name in hidden)
    told = hidden["rater_A/how_to_rate.txt"].decode()
    assert "The automated judge is also shown a picture of a real result; you are not." in told
    assert "the one of a real result included" in shown["rater_A/how_to_rate.txt"].decode()


@pytest.mark.parametrize("roles", [("image",), ("first", "second")], ids=["caption", "pair"])
def test_descriptions_are_shown_with_images_and_reference(
    tmp_path: Path, roles: tuple[str, ...]
) -> None:
    runs = [text_run(tmp_path, it, varied(1, top=2), roles=roles) for it in MODELS]
    key = exported(tmp_path / "out", runs)
    rows = read_rows(sheet_path(tmp_path / "out"))
    first = rows[0]
    assert key.rubric.name == ("captions" if len(roles) == 1 else "pairs")
    assert first["question"] == "Describe the image."
    assert first["reference"].startswith("Reference ")
    assert "It is usable." in first["text"]
    assert all(first[role] == f"images/sample_001_{role}.png" for role in roles)
    assert list(first)[-6:] == [*key.rubric.names, "cannot_judge", "comment"]


def test_a_text_that_names_a_model_is_not_shown(tmp_path: Path) -> None:
    replies = {3: "As BETAPAINT I see noise.", 4: "AlphaEditor is a word.", 5: " "}
    runs = [text_run(tmp_path, it, varied(1, top=2), replies=replies) for it in MODELS[:2]]
    key = exported(tmp_path / "out", runs)
    assert key.left_out == {"a text names a model": 1, "a model gave no text (answer)": 1}
    assert sorted(set(range(12)) - set(key.clusters)) == [3, 5]


def test_no_cell_is_a_formula(tmp_path: Path) -> None:
    replies = {n: f'{"=+-@"[n % 4]}cmd|"/c calc"!A{n}' for n in range(12)}
    run = text_run(tmp_path, "Sly", varied(1, top=2), replies=replies)
    exported(tmp_path / "out", [run])
    rows = read_rows(sheet_path(tmp_path / "out"))
    assert all(row["text"][:2] in ("'=", "'+", "'-", "'@") for row in rows)
    assert {unguarded(row["text"]) for row in rows} == set(replies.values())


def make_boxes(folder: Path) -> list[Run]:
    run = edit_run(folder, "Boxes", varied(1))
    path = run.beside("_samples.jsonl")
    path.write_text(path.read_text().replace('"edit"', '"boxes"'), encoding="utf-8")
    return [run]


def make_old(folder: Path) -> list[Run]:
    run = edit_run(folder, "Old", varied(1))
    run.beside("_samples.jsonl").unlink()
    return [run]


@pytest.mark.parametrize(
    ("made", "message"),
    [
        (lambda it: [], "at least one run"),
        (lambda it: [edit_run(it, "M", varied(1))] * 2, "several of M"),
        (
            lambda it: [edit_run(it, "M", varied(1)), edit_run(it, "N", varied(1), dataset="O")],
            "runs of one data set in one state",
        ),
        (make_boxes, "edits or descriptions, got boxes"),
        (make_old, "evaluate again to see images and prompts"),
    ],
    ids=["none", "twice", "other data", "boxes", "earlier version"],
)
def test_runs_that_cannot_be_rated_together_are_refused(
    tmp_path: Path, made: Callable[[Path], list[Run]], message: str
) -> None:
    with pytest.raises(RunUnreadable, match=message):
        export_sheets(made(tmp_path), tmp_path / "out", ExportChoices())
    assert not (tmp_path / "out").exists()


def test_the_reference_of_descriptions_is_part_of_their_rubric(tmp_path: Path) -> None:
    run = text_run(tmp_path, "M", varied(1, top=2))
    with pytest.raises(RunUnreadable, match="leave --hide-reference away"):
        export_sheets([run], tmp_path / "out", ExportChoices(hide_reference=True))


@pytest.mark.parametrize(
    "choices",
    [
        {"n_samples": 0},
        {"raters": ()},
        {"raters": ("A", "a")},
        {"raters": ("../A",)},
        {"raters": ("1e5",)},
    ],
    ids=["no samples", "no rater", "twice", "a path", "a number"],
)
def test_choices_without_sense_are_refused(choices: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        ExportChoices(**choices)


def test_missing_verdicts_are_told_at_once(tmp_path: Path) -> None:
    unjudged = edit_run(tmp_path, "Unjudged", lambda *_: None, judge=None)
    partly = edit_run(tmp_path, "Partly", lambda sample, d: None if sample < 2 else 5.0)
    done = export_sheets([unjudged, partly], tmp_path / "out", ExportChoices())
    lines = "\n".join(done.lines())
    assert "Unjudged was not judged, only the raters' side is known" in lines
    assert "Partly: 2 of 12 items lack a verdict of the judge" in lines


def test_judges_that_differ_are_told(tmp_path: Path) -> None:
    one = edit_run(tmp_path, "One", varied(1))
    two = edit_run(tmp_path, "Two", varied(1), judge={"model_requested": "other"})
    done = export_sheets([one, two], tmp_path / "out", ExportChoices())
    assert "the runs were not judged alike: other judge model" in "\n".join(done.lines())


def test_a_key_survives_its_file(tmp_path: Path, runs: list[Run]) -> None:
    done = export_sheets(runs, tmp_path / "out", ExportChoices())
    read = SheetKey.read(tmp_path / "out" / "key.json")
    assert (read.sheet, read.rubric, read.raters) == (
        done.key.sheet,
        done.key.rubric,
        done.key.raters,
    )
    assert [it.verdicts for it in read.answers] == [it.verdicts for it in done.key.answers]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "cannot be read"),
        ("[]", "schema 1, got None"),
        ('{"schema": 2}', "schema 1, got 2"),
        ('{"schema": 1, "rubric": "edits"}', "damaged"),
    ],
    ids=["no JSON", "a list", "newer", "half"],
)
def test_what_is_no_key_is_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "key.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(KeyUnreadable, match=message):
        SheetKey.read(path)


def test_the_judges_verdicts_are_on_the_raters_scale(tmp_path: Path) -> None:
    run = edit_run(tmp_path, "M", lambda sample, dimension: sample / 2 + dimension)
    key = exported(tmp_path / "out", [run])
    for answer in key.answers:
        expected = {"EA": 0, "CP": 1, "VQ": 2}
        assert answer.verdicts == {
            name: pytest.approx(answer.index / 2 + more) for name, more in expected.items()
        }
        assert answer.computed["CP"] == pytest.approx(0.9 + answer.index / 1000)


def test_pictures_of_any_mode_are_taken_as_the_scoring_reads_them(tmp_path: Path) -> None:
    run = edit_run(tmp_path, "M", varied(1), n=1)
    path = run.beside("_images") / "00ab.png"
    before = sha256_file(path)
    coloured(path, 3)
    with Image.open(path) as image:
        image.convert("LA").save(path)
    scores = run.beside("_scores.jsonl")
    scores.write_text(scores.read_text().replace(before, sha256_file(path)), encoding="utf-8")
    run = Run.at(run.manifest_path)
    exported(tmp_path / "out", [run])
    shown = sheet_path(tmp_path / "out").parent / "images" / "item_0001.png"
    assert (read_rgb(shown).pixels == read_rgb(path).pixels).all()


def test_the_name_of_a_sheet_is_no_number(tmp_path: Path, runs: list[Run]) -> None:
    key = exported(tmp_path / "out", runs)
    assert re.fullmatch(r"HC[0-9a-f]{8}", key.sheet)
    assert json.loads((tmp_path / "out" / "key.json").read_text())["sheet"] == key.sheet
