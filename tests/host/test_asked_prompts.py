"""What the data sets say they handed to the host is what they hand to it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.data import prepare_medebench
from medbench_vlmeval.evaluation.run_files import RunFiles
from medbench_vlmeval.evaluation.shown_samples import NOT_ASKED
from medbench_vlmeval.files import read_jsonl, write_jsonl_atomic

from ..data.packs import MEDEBENCH, MEDQ, MEDSG, lend_packs
from ..data.releases import write_official
from .medq_release import prepare_release

pytestmark = pytest.mark.host

KINDS = {
    "MedEBench_sample": "edit",
    "MedEBench_1shot_sample": "edit",
    "MedSG_sample": "boxes",
    "MedQ_MCQ_sample": "choice",
    "MedQDEG_sample": "choice",
    "MedQ_Caption_sample": "description",
    "MedQ_Paired_sample": "description",
}
REWORDED = "a model with a prompt of its own may have reworded it"
IN_API_MODE = f"in VLMEvalKit's API mode {REWORDED}"


@pytest.fixture(autouse=True)
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    lend_packs(folder, MEDEBENCH, MEDSG, *MEDQ)
    monkeypatch.setenv("LMUData", str(folder))
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "MEDBENCH_MEDSG_CONVENTION"):
        monkeypatch.delenv(name, raising=False)
    return folder


def build(name: str) -> Any:
    from vlmeval.dataset import build_dataset

    dataset = build_dataset(name)
    assert dataset is not None
    return dataset


def evaluated(dataset: Any, folder: Path, model: str = "M", **columns: str) -> list[dict[str, Any]]:
    rows = [
        {"index": str(index), "prediction": f"reply {index}", **columns}
        for index in dataset.data["index"]
    ]
    path = write_jsonl_atomic(folder / f"{model}_{dataset.dataset_name}.jsonl", rows)
    dataset.evaluate(str(path))
    lines, warnings = read_jsonl(RunFiles(path).samples)
    assert warnings == []
    return lines


def handed_over(line: dict[str, Any]) -> list[dict[str, str]]:
    """The prompt of a line as the host takes prompts."""
    images = line["images"]
    return [
        {"type": "image", "value": images[part["image"]]["path"]}
        if "image" in part
        else {"type": "text", "value": part["text"]}
        for part in line["prompt"]
    ]


def assert_prompts_are_those_of(dataset: Any, lines: list[dict[str, Any]]) -> None:
    assert [line["index"] for line in lines] == list(dataset.data["index"])
    for position, line in enumerate(lines):
        assert handed_over(line) == dataset.build_prompt(position)


@pytest.mark.parametrize(("name", "kind"), KINDS.items(), ids=KINDS)
def test_a_run_records_the_prompts_that_the_host_was_handed(
    name: str, kind: str, tmp_path: Path, lmu: Path
) -> None:
    dataset = build(name)
    lines = evaluated(dataset, tmp_path)
    assert_prompts_are_those_of(dataset, lines)
    assert {line["kind"] for line in lines} == {kind}
    assert [line["reply"] for line in lines] == [f"reply {line['index']}" for line in lines]
    for image in (image for line in lines for image in line["images"]):
        assert Path(image["path"]) == lmu / image["stored"]
        assert Path(image["path"]).is_file()
        assert image["size_wh"]


@pytest.mark.parametrize(
    ("name", "kind"), [("MedqbenchMCQ_test", "choice"), ("MedqbenchCaption_test", "description")]
)
def test_names_of_the_host_record_them_too(name: str, kind: str, tmp_path: Path, lmu: Path) -> None:
    prepare_release(lmu)
    dataset = build(name)
    lines = evaluated(dataset, tmp_path)
    assert_prompts_are_those_of(dataset, lines)
    assert {line["kind"] for line in lines} == {kind}


def test_boxes_are_recorded_as_the_rows_were_asked_and_not_as_this_process_would_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MEDBENCH_MEDSG_CONVENTION", "absolute")
    asked = build("MedSG_sample")
    monkeypatch.setenv("MEDBENCH_MEDSG_CONVENTION", "norm1000")
    columns = {"convention": "absolute", "convention_source": "explicit", "convention_family": ""}
    lines = evaluated(build("MedSG_sample"), tmp_path, **columns)
    assert_prompts_are_those_of(asked, lines)


def test_a_text_that_was_guarded_is_recorded_guarded(
    tmp_path: Path, lmu: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepare_medebench(write_official(tmp_path / "release", [1, 2]), progress=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "Remove stain 2.").write_text("a file that is named like an instruction")
    lines = evaluated(build("MedEBench_test"), tmp_path)
    texts = [line["prompt"][-1]["text"] for line in lines]
    assert texts == ["Remove stain 1.", "Remove stain 2.\n"]
    assert lines[1]["about"]["instruction"] == "Remove stain 2."


def test_a_sample_that_nobody_is_asked_says_so(tmp_path: Path) -> None:
    images = {2: {"previous": None}}
    prepare_medebench(write_official(tmp_path / "release", [1, 2], images=images), progress=False)
    first, second = evaluated(build("MedEBench_test"), tmp_path)
    assert first["prompt"] is not None
    assert (second["prompt"], second["prompt_note"]) == (None, NOT_ASKED)


@pytest.mark.parametrize(
    ("name", "model", "note"),
    [
        ("MedQ_MCQ_sample", "Qwen2.5-VL-7B-Instruct", REWORDED),
        ("MedQ_MCQ_sample", "elsewhere", REWORDED),
        ("MedQ_MCQ_sample", "GPT4o", ""),
        ("MedQ_Caption_sample", "Qwen2.5-VL-7B-Instruct", IN_API_MODE),
        ("MedSG_sample", "Baseline-CentreBox", ""),
        ("MedSG_sample", "Qwen2.5-VL-7B-Instruct", IN_API_MODE),
        ("MedEBench_sample", "Baseline-CopyInput", ""),
        ("MedEBench_sample", "elsewhere", IN_API_MODE),
    ],
)
def test_a_note_says_where_a_model_may_ask_in_its_own_way(
    name: str, model: str, note: str, tmp_path: Path
) -> None:
    from vlmeval.config import supported_VLM

    assert (model in supported_VLM) == (model != "elsewhere")
    lines = evaluated(build(name), tmp_path, model)
    assert {line["prompt_note"] for line in lines} == {note}
