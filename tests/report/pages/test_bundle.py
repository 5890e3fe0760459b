from __future__ import annotations

import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.report.pages.bundle import bundle_at, without_paths
from medbench_vlmeval.report.pages.page import write_bundle
from medbench_vlmeval.report.runs import Run

from . import page_runs
from .page_runs import page_data


def contents_of(path: Path) -> dict[str, bytes]:
    if path.is_dir():
        files = [it for it in path.rglob("*") if it.is_file()]
        return {it.relative_to(path).as_posix(): it.read_bytes() for it in files}
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"], ids=["folder", "archive"])
def test_a_bundle_holds_page_and_images_and_no_path_of_this_machine(
    name: str, tmp_path: Path
) -> None:
    run = page_runs.edits(tmp_path / "run", "Blue")
    manifest = {
        **run.manifest,
        "data": {**run.manifest["data"], "source": "/some/where/else/release"},
        "warnings": [f"{run.predictions}: row 9 fits no sample"],
    }
    run.manifest_path.write_text(json.dumps(manifest), encoding="utf-8")
    result = write_bundle([Run.read(run.manifest_path)], tmp_path / "out" / name)
    files = contents_of(tmp_path / "out" / name)
    html = files["index.html"].decode()
    for folder in (tmp_path, Path.home(), "/some/where"):
        assert str(folder) not in html
    assert "fits no sample" in html
    sources = {it["src"] for sample in page_data(html)["samples"] for it in references(sample)}
    assert sources == set(files) - {"index.html"}
    assert len(sources) == 3 + 5 + 1
    assert (result.n_samples, result.missing, result.converted) == (6, 3, 0)


def references(sample: dict[str, Any]) -> list[dict[str, Any]]:
    made = sample["runs"][0]
    found = [*sample["images"], made["edited"], *made.get("replicas", ())]
    return [it for it in found if "src" in it]


def test_the_same_archive_comes_twice(tmp_path: Path) -> None:
    run = page_runs.boxes(tmp_path / "run")
    archives = [tmp_path / f"{name}.zip" for name in "ab"]
    for archive in archives:
        write_bundle([run], archive)
    assert archives[0].read_bytes() == archives[1].read_bytes()


def test_what_browsers_cannot_show_becomes_an_8_bit_png_that_says_so(tmp_path: Path) -> None:
    deep = np.linspace(0, 65535, 64, dtype=np.uint16).reshape(8, 8)
    Image.fromarray(deep).save(tmp_path / "deep.tiff")
    Image.new("RGB", (4, 4)).save(tmp_path / "plain.png")
    with bundle_at(tmp_path / "out") as bundle:
        converted = bundle.reference(tmp_path / "deep.tiff")
        plain = bundle.reference(tmp_path / "plain.png")
    with Image.open(tmp_path / "out" / converted["src"]) as shown:
        assert (shown.format, shown.mode, shown.size) == ("PNG", "RGB", (8, 8))
        assert np.array_equal(np.asarray(shown)[..., 0], np.round(deep / 257).astype(np.uint8))
    assert converted["note"].startswith("shown as 8-bit PNG (format TIFF")
    assert (tmp_path / "out" / plain["src"]).read_bytes() == (tmp_path / "plain.png").read_bytes()
    assert ("note" in plain, bundle.converted, bundle.n_images) == (False, 1, 2)


def test_an_unreadable_image_is_named_and_equal_ones_are_kept_once(tmp_path: Path) -> None:
    (tmp_path / "broken.png").write_bytes(b"no picture")
    for name in ("one.png", "two.png"):
        Image.new("RGB", (4, 4)).save(tmp_path / name)
    with bundle_at(tmp_path / "out.zip") as bundle:
        assert "broken.png cannot be shown" in bundle.reference(tmp_path / "broken.png")["missing"]
        assert bundle.reference(tmp_path / "one.png") == bundle.reference(tmp_path / "two.png")
    assert bundle.n_images == 1


def test_a_folder_with_something_in_it_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with (
        pytest.raises(FileExistsError, match="expected a new or empty folder"),
        bundle_at(tmp_path),
    ):
        pass
    assert [it.name for it in tmp_path.iterdir()] == ["mine.txt"]


@pytest.mark.parametrize("name", ["bundle", "bundle.zip"], ids=["folder", "archive"])
def test_a_bundle_that_fails_leaves_nothing(name: str, tmp_path: Path) -> None:
    def failing() -> None:
        with bundle_at(tmp_path / name) as bundle:
            bundle.write("index.html", b"half")
            raise RuntimeError("stopped")

    with pytest.raises(RuntimeError, match="stopped"):
        failing()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("/home/someone/runs/a.png", "…/a.png"),
        ('{"edited_image": "/data/x/b.jpg"}', '{"edited_image": "…/b.jpg"}'),
        ("C:\\runs\\c.png", "…/c.png"),
        ("in /known/folder/sub/file.txt", "in …/sub/file.txt"),
        ("see https://host/a/b.png and/or 1/2", "see https://host/a/b.png and/or 1/2"),
        ("the ratio /2 and /known elsewhere", "the ratio /2 and /known elsewhere"),
    ],
    ids=["image", "in json", "windows", "known folder", "no path", "too short"],
)
def test_paths_of_the_machine_are_left_out_of_texts(text: str, kept: str) -> None:
    assert without_paths({"a": [text]}, [Path("/known/folder")]) == {"a": [kept]}


def test_of_texts_that_no_model_wrote_every_folder_is_left_out() -> None:
    said = without_paths("from /data/release/v1, sums 1/2", [], every=True)
    assert said == "from …/v1, sums 1/2"
