from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.conventions import convention_for
from medbench_vlmeval.data import MedEBenchData, load_medsg, prepare_medsg_sample
from medbench_vlmeval.evaluation.medebench import evaluate_medebench
from medbench_vlmeval.evaluation.medq_perception import evaluate_medq_perception
from medbench_vlmeval.evaluation.medsg import evaluate_medsg
from medbench_vlmeval.evaluation.medsg_prompt import message_parts
from medbench_vlmeval.evaluation.run_files import RunFiles
from medbench_vlmeval.evaluation.shown_samples import (
    NOT_ASKED,
    NOT_KNOWN,
    AskedPrompts,
    ShownImage,
    ShownSample,
    sample_records,
)
from medbench_vlmeval.files import read_jsonl, sha256_file
from medbench_vlmeval.types import Box

from ..data.releases import picture
from .conftest import Predict
from .medq_questions import OPTIONS, question
from .medq_questions import benchmark as medq_benchmark
from .medq_reasoning_cases import REFERENCE, host_like, table
from .medq_reasoning_cases import predict as predict_descriptions
from .test_medsg import benchmark as medsg_benchmark
from .test_medsg import sample as medsg_sample

MakeData = Callable[..., MedEBenchData]


def written(predictions: Path) -> list[dict[str, Any]]:
    rows, warnings = read_jsonl(RunFiles(predictions).samples)
    assert warnings == []
    return rows


def replies(path: Path, given: dict[int, str | None]) -> Path:
    rows = [{"index": str(index), "prediction": reply} for index, reply in given.items()]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def asked_by(prompts: dict[int, list[tuple[str, str]]], note: str = "") -> AskedPrompts:
    return AskedPrompts(prompts.get, note)


def shown(*images: ShownImage) -> ShownSample:
    return ShownSample(7, "seven", "boxes", images, "a reply", {})


def one_record(
    sample: ShownSample, asked: AskedPrompts | None = None, folder: Path = Path("/elsewhere/a/b")
) -> dict[str, Any]:
    (record,) = sample_records([sample], folder, asked)
    return record


def test_an_edit_shows_its_three_images_and_keeps_the_place_of_an_absent_one(
    make_data: MakeData, predict: Predict, lmu: Path
) -> None:
    data = make_data(3, images={2: {"reference": None}})
    path = predict({1: picture(50), 2: "No, I will not."})
    evaluate_medebench([path], data)
    first, second, third = written(path)
    sample = data.sample(1)
    assert [image["role"] for image in first["images"]] == ["previous", "reference", "roi"]
    assert first["images"][0] == {
        "role": "previous",
        "path": str(sample.previous),
        "stored": "medbench/MedEBench_test/previous/1.png",
        "sha256": sha256_file(sample.previous),
        "size_wh": [40, 30],
    }
    assert (lmu / first["images"][2]["stored"]).is_file()
    absent = {"path": None, "stored": None, "sha256": None, "size_wh": None}
    assert second["images"][1] == {"role": "reference", **absent}
    assert (first["index"], first["key"], first["kind"]) == (1, "1", "edit")
    assert first["about"] == {
        "instruction": sample.instruction,
        "description": sample.description,
        "organ": sample.organ,
        "task": sample.task,
    }
    assert (second["reply"], third["reply"]) == ("No, I will not.", None)
    assert {(row["prompt"], row["prompt_note"]) for row in (first, second, third)} == {
        (None, NOT_KNOWN)
    }


def test_solved_edits_are_images_of_the_sample_and_of_its_prompt(
    make_data: MakeData, predict: Predict
) -> None:
    data = make_data(3)
    path = predict({1: picture(50)})
    one, two, three = data.samples
    prompt = [
        ("text", "Example 1, before the edit:"),
        ("image", str(two.previous)),
        ("image", str(two.reference)),
        ("image", str(three.previous)),
        ("image", str(three.reference)),
        ("image", str(one.previous)),
        ("text", one.instruction),
    ]
    evaluate_medebench(
        [path],
        data,
        demonstrations={1: (two, three)},
        asked=asked_by({1: prompt}),
        expected_ids=[1],
    )
    (row,) = written(path)
    assert [image["role"] for image in row["images"][3:]] == [
        "demonstration 1 previous",
        "demonstration 1 changed",
        "demonstration 2 previous",
        "demonstration 2 changed",
    ]
    assert row["prompt"] == [
        {"text": "Example 1, before the edit:"},
        *({"image": position} for position in (3, 4, 5, 6, 0)),
        {"text": one.instruction},
    ]
    (scores,), _ = read_jsonl(RunFiles(path).scores)
    assert scores["demonstrations"] == [2, 3]


def test_a_sequence_says_where_its_answer_lies_and_how_it_was_asked(
    tmp_path: Path, lmu: Path
) -> None:
    prepare_medsg_sample()
    data = load_medsg("MedSG_sample")
    convention = convention_for("", explicit="norm1000")
    path = replies(tmp_path / "M_MedSG_sample.jsonl", {data.samples[0].index: "[1, 2, 3, 4]"})

    def prompt(index: int) -> list[tuple[str, str]]:
        return [(kind, str(it)) for kind, it in message_parts(data.sample(index), convention)]

    evaluate_medsg(path, data, convention=convention, asked=AskedPrompts(prompt, "as it was"))
    for sample, row in zip(data.samples, written(path), strict=True):
        assert [it["role"] for it in row["images"]] == [
            f"image {number}" for number in range(1, len(sample.images) + 1)
        ]
        assert all((lmu / it["stored"]).is_file() for it in row["images"])
        assert all(it["size_wh"] and it["sha256"] for it in row["images"])
        sent = [part["image"] for part in row["prompt"] if "image" in part]
        assert sent == list(range(len(sample.images)))
        assert row["prompt"][-1] == {"text": prompt(sample.index)[-1][1]}
        about = row["about"]
        assert (about["truth"], about["size_wh"]) == (list(sample.truth), list(sample.size_wh))
        assert about["target"] == sample.target_image
        assert row["images"][about["target"]]["size_wh"] == about["size_wh"]
        assert (about["reference_image"] is None) == (sample.reference_box is None)
        assert row["prompt_note"] == "as it was"
    assert written(path)[0]["reply"] == "[1, 2, 3, 4]"


def test_a_question_carries_its_options_and_the_right_one(tmp_path: Path) -> None:
    data = medq_benchmark(tmp_path, question(1), question(2, images=(None,), level="mild"))
    path = replies(tmp_path / "M_MedQ_MCQ_test.jsonl", {1: "B", 2: "A"})
    prompt = [("image", "1.png"), ("text", "What is it?")]
    evaluate_medq_perception(path, data, asked=asked_by({1: prompt}))
    first, second = written(path)
    assert (first["kind"], first["key"], first["reply"]) == ("choice", "1", "B")
    assert first["about"] == {
        "question": "What is the main degradation?",
        "options": OPTIONS,
        "answer": "B",
        "question_type": "What",
        "modality": "CT",
    }
    assert first["prompt"] == [{"image": 0}, {"text": "What is it?"}]
    assert first["images"][0]["role"] == "image"
    assert Path(first["images"][0]["path"]).is_absolute()
    assert second["about"]["level"] == "mild"
    assert (second["prompt"], second["prompt_note"]) == (None, NOT_ASKED)


@pytest.mark.parametrize(
    ("kind", "roles"), [("caption", ["image"]), ("paired", ["first", "second"])]
)
def test_a_description_carries_its_reference(tmp_path: Path, kind: Any, roles: list[str]) -> None:
    from medbench_vlmeval.evaluation.medq_reasoning import evaluate_medq_reasoning

    data = table(tmp_path, 1, kind)
    path = predict_descriptions(tmp_path, {1: "Blurred."})
    evaluate_medq_reasoning(path, data, templates=host_like(kind))
    (row,) = written(path)
    assert (row["kind"], row["key"], row["reply"]) == ("description", "k1", "Blurred.")
    assert [image["role"] for image in row["images"]] == roles
    assert row["about"] == {"question": "", "reference": REFERENCE[kind], "modality": "CT"}


def test_lines_stand_in_the_order_of_the_scores_and_enter_the_manifest(tmp_path: Path) -> None:
    data = medsg_benchmark(*(medsg_sample(index) for index in (5, 3, 9)), root=tmp_path)
    path = replies(tmp_path / "M_MedSG_test.jsonl", {3: "x"})
    files = evaluate_medsg(path, data, convention=convention_for("", explicit="absolute")).files
    scores, _ = read_jsonl(files.scores)
    assert [row["index"] for row in written(path)] == [row["index"] for row in scores] == [5, 3, 9]
    hashes = json.loads(files.manifest.read_text(encoding="utf-8"))["files"]
    assert hashes[files.samples.name] == sha256_file(files.samples)


def test_one_file_that_stands_for_two_images_is_two_places_of_the_prompt() -> None:
    twice = [ShownImage("image 1", Path("/d/a.png")), ShownImage("image 2", Path("/d/a.png"))]
    parts = [("image", "/d/a.png"), ("text", "and"), ("image", "/d/a.png"), ("image", "/d/a.png")]
    record = one_record(shown(*twice), asked_by({7: parts}))
    assert record["prompt"] == [{"image": 0}, {"text": "and"}, {"image": 1}, {"image": 1}]
    assert len(record["images"]) == 2


def test_an_image_that_was_sent_but_is_none_of_the_samples_is_added() -> None:
    record = one_record(shown(), asked_by({7: [("image", "/d/b.png"), ("image", "/d/b.png")]}))
    assert record["prompt"] == [{"image": 0}, {"image": 0}]
    assert [(it["role"], it["path"]) for it in record["images"]] == [("sent", Path("/d/b.png"))]


def test_a_prompt_that_cannot_be_made_again_stops_nothing() -> None:
    def gone(index: int) -> list[tuple[str, str]]:
        raise FileNotFoundError(f"no such file: {index}.png")

    record = one_record(shown(), AskedPrompts(gone))
    assert record["prompt"] is None
    assert record["prompt_note"] == "the prompt cannot be made again: no such file: 7.png"


@pytest.mark.parametrize(
    ("path", "stored"),
    [
        ("LMUData/medbench/MedSG_test/images/0a/x.png", "medbench/MedSG_test/images/0a/x.png"),
        ("own/medbench/MedSG_test/images/0a/x.png", "medbench/MedSG_test/images/0a/x.png"),
        ("own_too/x.png", None),
    ],
    ids=["below the data root", "below another root", "elsewhere"],
)
def test_an_image_is_named_relative_to_the_data_root(
    tmp_path: Path, path: str, stored: str | None
) -> None:
    sample = shown(ShownImage("image 1", tmp_path / path))
    record = one_record(sample, folder=tmp_path / "own" / "medbench" / "MedSG_test")
    assert record["images"][0]["stored"] == stored


def test_a_truth_that_is_a_box_is_a_list_of_four_numbers(tmp_path: Path) -> None:
    data = medsg_benchmark(medsg_sample(1, reference_box=Box(1, 2, 3, 4)), root=tmp_path)
    path = replies(tmp_path / "M_MedSG_test.jsonl", {1: "[1, 2, 3, 4]"})
    evaluate_medsg(path, data, convention=convention_for("", explicit="absolute"))
    about = written(path)[0]["about"]
    assert (about["truth"], about["reference_box"]) == ([100, 100, 200, 200], [1, 2, 3, 4])
    assert (about["reference_image"], about["target"]) == (0, None)
