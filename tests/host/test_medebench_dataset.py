"""The dataset class inside the real host: its contract, without a run."""

from __future__ import annotations

import os
import pickle
from pathlib import Path
from typing import Any

import pytest

from ..data.releases import write_official
from ..judging.server import Answer, JudgeServer

pytestmark = pytest.mark.host


@pytest.fixture
def dataset(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    from medbench_vlmeval.data import prepare_medebench
    from medbench_vlmeval.datasets.medebench import MedEBench

    (tmp_path / "LMUData").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    rows = {2: {"prompt": "run"}, 3: {"prompt": "https://example.org/1.png"}}
    prepare_medebench(write_official(tmp_path / "release", rows=rows), progress=False)
    (tmp_path / "run").mkdir()
    return MedEBench("MedEBench_test")


def test_rows_have_plain_unique_indices_and_travel_with_organ_and_task(dataset: Any) -> None:
    assert [int(index) for index in dataset.data["index"]] == [1, 2, 3]
    assert set(dataset.data["organ"]) == {"Teeth"}
    assert dataset.data["index"].is_unique


@pytest.mark.parametrize("kind", ["position", "series", "dict"])
def test_a_prompt_is_image_and_instruction_however_it_is_asked_for(dataset: Any, kind: str) -> None:
    line = {"position": 0, "series": dataset.data.iloc[0], "dict": dataset[0]}[kind]
    image, text = dataset.build_prompt(line)
    assert image["type"] == "image"
    assert Path(image["value"]).name == "1.png"
    assert text == {"type": "text", "value": "Remove stain 1."}
    assert dataset.dump_image(dataset[0]) == [image["value"]]


def test_samples_without_input_are_not_asked_and_still_expected(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.data import prepare_medebench
    from medbench_vlmeval.datasets.medebench import MedEBench

    (tmp_path / "LMUData").mkdir()
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    source = write_official(tmp_path / "release", images={2: {"previous": None}})
    prepare_medebench(source, progress=False)
    dataset = MedEBench("MedEBench_test")
    assert len(dataset) == 2
    assert dataset.expected_ids() == [1, 2, 3]
    dataset.data = dataset.data.head(1)
    assert dataset.expected_ids() == [1]


def test_an_instruction_that_names_a_path_or_address_stays_a_text(dataset: Any) -> None:
    from vlmeval.vlm.base import BaseModel

    for row, words in ((1, "run"), (2, "https://example.org/1.png")):
        message = BaseModel().preproc_content(dataset.build_prompt(row))
        assert [item["type"] for item in message] == ["image", "text"]
        assert message[1]["value"].strip() == words


def test_a_dataset_can_be_sent_to_another_process(dataset: Any) -> None:
    again = pickle.loads(pickle.dumps(dataset))
    assert len(again) == 3
    assert again.build_prompt(0) == dataset.build_prompt(0)


def test_names_are_constant_and_none_begins_another() -> None:
    from vlmeval.dataset import DATASET_TYPE, SUPPORTED_DATASETS

    from medbench_vlmeval.datasets.medebench import MedEBench

    names = MedEBench.supported_datasets()
    assert names == MedEBench.supported_datasets()
    for name in names:
        assert name in SUPPORTED_DATASETS
        assert "EDIT" in DATASET_TYPE(name)
        others = [other for other in SUPPORTED_DATASETS if other != name]
        assert not [other for other in others if other.startswith(name) or name.startswith(other)]


def test_the_headline_is_the_official_one(dataset: Any) -> None:
    metrics = {"CP_strict": 0.1, "CP": 0.2, "VQ": 0.3, "EA": 0.4, "CP_low": 0.0}
    assert dataset.report_primary_metric(metrics) == {"EA": 0.4, "CP": 0.2, "VQ": 0.3}
    assert dataset.report_primary_metric({"CP": 0.2}) == {"CP": 0.2}
    assert dataset.report_primary_metric(None) == {}


def test_reports_of_a_run_that_does_not_exist_are_empty(dataset: Any, tmp_path: Path) -> None:
    assert dataset.report_infer_err(None) == {"failed": 0, "total": 0}
    assert dataset.report_infer_err(tmp_path / "none.xlsx") == {"failed": 0, "total": 0}
    assert dataset.report_judge_err(None, total_samples=None)["failed"] == 0
    dead = dataset.report_judge_err(
        tmp_path / "none.xlsx", total_samples=3, error_message="no judge"
    )
    assert dead == {"failed": 3, "total": 3}


def test_a_prediction_file_under_another_key_is_found(dataset: Any, tmp_path: Path) -> None:
    real = tmp_path / "M_MedEBench_test.xlsx"
    real.write_bytes(b"")
    assert dataset.prediction_file(tmp_path / "M_alias.xlsx") == real
    with pytest.raises(FileNotFoundError, match="--mode infer"):
        dataset.prediction_file(tmp_path / "elsewhere" / "M_alias.xlsx")


def test_a_judge_object_of_the_host_can_be_asked(
    dataset: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.data import sample_of
    from medbench_vlmeval.editing import EditStore, edited_image_line
    from medbench_vlmeval.files import write_jsonl_atomic

    store = EditStore.default()
    rows = []
    for row in range(3):
        sample = sample_of(dataset.data.iloc[row]["image_path"])
        image = store.add(sample.previous.read_bytes())
        line = edited_image_line(image, size_wh=(40, 30))
        rows.append({"index": str(sample.id), "prediction": line})
    predictions = write_jsonl_atomic(tmp_path / "M_MedEBench_test.jsonl", rows)
    reply = "Editing Accuracy: 6/10\nContextual Preservation: 6/10\nVisual Quality: 6/10"
    monkeypatch.setattr("random.random", lambda: 0.0)
    with JudgeServer(lambda request: Answer.says(reply)) as server:
        address = f"{server.base_url}/chat/completions"
        monkeypatch.setenv("OPENAI_API_BASE", address)
        flat = dataset.evaluate(
            os.fspath(predictions),
            model="gpt-4o",
            key="sk-none",
            api_base=address,
            nproc=3,
            retry=1,
            medbench_host_judge=True,
        )
        assert server.calls == 3
    assert flat["EA"] == pytest.approx(0.6)
