from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from medbench_vlmeval.conventions import convention_for
from medbench_vlmeval.data import load_medsg, prepare_medsg_sample
from medbench_vlmeval.evaluation.medsg import evaluate_medsg
from medbench_vlmeval.evaluation.shown_samples import AskedPrompts
from medbench_vlmeval.report.runs import Run, RunUnreadable
from medbench_vlmeval.report.samples import (
    SamplesAbsent,
    sample_lines,
    shown_sample,
    shown_samples,
)
from medbench_vlmeval.report.verify import verify_run

from .test_verify import choices, write


@pytest.fixture
def data_root(lmu: Path) -> Path:
    return lmu


@pytest.fixture
def run(tmp_path: Path, data_root: Path) -> Run:
    prepare_medsg_sample()
    data = load_medsg("MedSG_sample")
    first = data.samples[0]
    path = write(tmp_path / "run" / "M_MedSG_sample.jsonl", {first.index: "[1, 2, 3, 4]"})

    def prompt(index: int) -> list[tuple[str, str]]:
        images = [("image", str(path)) for path in data.sample(index).images]
        return [images[0], ("text", "Look."), *images[1:]]

    convention = convention_for("", explicit="absolute")
    evaluate_medsg(path, data, convention=convention, asked=AskedPrompts(prompt, "a note"))
    return Run.at(path)


def changed(run: Run, **fields: object) -> Run:
    """The run with other fields in the first line of its samples."""
    path = run.beside("_samples.jsonl")
    first, *rest = path.read_text(encoding="utf-8").splitlines()
    line = json.dumps(json.loads(first) | fields)
    path.write_text("\n".join([line, *rest]) + "\n", encoding="utf-8")
    return run


def test_samples_are_read_as_they_were_shown(run: Run) -> None:
    first, second, *_ = shown_samples(run)
    assert [sample.index for sample in shown_samples(run)] == [row["index"] for row in run.rows]
    assert (first.kind, first.reply, second.reply) == ("boxes", "[1, 2, 3, 4]", None)
    assert first.prompt == (0, "Look.", 1)
    assert first.prompt_note == "a note"
    assert first.about["truth"] == list(run.rows[0]["truth"])
    for image in first.images:
        assert image.exists
        assert image.found == image.recorded
        assert (image.size_wh, len(image.sha256 or "")) == ((336, 336), 64)


def test_images_are_found_again_below_another_data_root(run: Run, data_root: Path) -> None:
    moved = data_root.with_name("moved")
    shutil.move(data_root, moved)
    lost = shown_samples(run)[0].images[0]
    assert (lost.exists, lost.recorded is None) == (False, False)
    found = shown_samples(run, moved)[0].images[0]
    assert found.found == moved / "medbench" / found.recorded.relative_to(data_root / "medbench")


@pytest.mark.parametrize("stored", ["../secret.png", "medbench/../../secret.png"])
def test_a_run_from_elsewhere_points_at_nothing_outside_the_data_root(
    run: Run, data_root: Path, stored: str
) -> None:
    (data_root.parent / "secret.png").write_bytes(b"secret")
    image = {"role": "image 1", "path": None, "stored": stored}
    changed(run, images=[image, {**image, "stored": str(data_root.parent / "secret.png")}])
    assert [it.exists for it in shown_samples(run, data_root)[0].images] == [False, False]


def test_an_image_that_the_data_set_lacks_was_nowhere(run: Run) -> None:
    changed(run, images=[{"role": "roi", "path": None, "stored": None, "size_wh": None}])
    (image,) = shown_samples(run)[0].images
    assert (image.recorded, image.exists, image.sha256, image.size_wh) == (None, False, None, None)


def test_a_prompt_that_is_not_known_is_none(tmp_path: Path, data_root: Path) -> None:
    sample = shown_samples(choices(tmp_path, {1: "A"}))[0]
    assert sample.prompt is None
    assert "not known" in sample.prompt_note


def test_a_run_of_an_earlier_version_says_what_to_do_and_still_holds(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "A"})
    path = run.beside("_samples.jsonl")
    path.unlink()
    manifest = json.loads(run.manifest_path.read_text(encoding="utf-8"))
    del manifest["files"][path.name]
    run.manifest_path.write_text(json.dumps(manifest), encoding="utf-8")
    old = Run.at(run.manifest_path)
    with pytest.raises(SamplesAbsent, match="evaluate again to see images and prompts"):
        shown_samples(old)
    assert verify_run(old).holds


def test_changed_samples_are_caught_by_their_hash(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "A"})
    changed(run, reply="B")
    assert verify_run(run).problems == (
        "M_MedQ_MCQ_test_samples.jsonl: is not the file that the manifest was written for "
        "(other SHA-256)",
    )


@pytest.mark.parametrize("text", ["not JSON\n{}\n", '{"index": 1', ""], ids=["no JSON", "cut", ""])
def test_a_damaged_file_is_named(tmp_path: Path, text: str) -> None:
    run = choices(tmp_path, {1: "A"})
    run.beside("_samples.jsonl").write_text(text, encoding="utf-8")
    with pytest.raises(RunUnreadable, match=r"_samples\.jsonl"):
        sample_lines(run)


@pytest.mark.parametrize(
    "line",
    [
        {"index": 1},
        {
            "index": 1,
            "key": "1",
            "kind": "edit",
            "prompt": 3,
            "images": [],
            "reply": "",
            "about": {},
        },
    ],
    ids=["fields absent", "another form"],
)
def test_a_line_of_another_form_is_refused(line: dict[str, object]) -> None:
    with pytest.raises(RunUnreadable, match="evaluate again"):
        shown_sample(line)
