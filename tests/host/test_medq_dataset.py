"""MedQ-Bench's dataset classes inside one process of the real host."""

from __future__ import annotations

import json
import logging
import pickle
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from medbench_vlmeval.data import load_medq, prepare_medq, prepare_medq_sample
from medbench_vlmeval.files import write_jsonl_atomic
from medbench_vlmeval.judging.medq import PUBLISHED_SHA256

from ..data.packs import MEDQ, lend_packs
from ..judging.server import Answer, JudgeServer
from ..shared import shared_path
from .medq_release import prepare_release, write_release

pytestmark = pytest.mark.host

PARTS = ("MedQ_MCQ_sample", "MedQ_Caption_sample", "MedQ_Paired_sample")
HOST_NAMES = (
    "MedqbenchMCQ",
    "MedqbenchMCQ_test",
    "MedqbenchCaption",
    "MedqbenchCaption_test",
    "MedqbenchPairedDescription_test",
)


@pytest.fixture(autouse=True)
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    lend_packs(folder, *MEDQ)
    monkeypatch.setenv("LMUData", str(folder))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    return folder


def build(name: str) -> Any:
    from vlmeval.dataset import build_dataset

    dataset = build_dataset(name)
    assert dataset is not None
    return dataset


def predictions(dataset: Any, folder: Path, replies: dict[int, Any] | str) -> Path:
    rows = [
        {"index": index, "prediction": replies if isinstance(replies, str) else replies.get(index)}
        for index in dataset.data["index"]
    ]
    return write_jsonl_atomic(folder / f"M_{dataset.dataset_name}.jsonl", rows)


@pytest.mark.parametrize("name", PARTS)
def test_a_dataset_is_built_and_survives_pickling(name: str) -> None:
    dataset = pickle.loads(pickle.dumps(build(name)))
    message = dataset.build_prompt(0)
    images = [part["value"] for part in message if part["type"] == "image"]
    sample = dataset.medq.samples[0]
    assert [Path(path).read_bytes() for path in images] == [
        path.read_bytes() for path in sample.images
    ]
    assert message[-1]["type"] == "text"
    assert dataset.build_prompt(dataset.data.iloc[0]) == message
    assert dataset.build_prompt(dict(dataset.data.iloc[0])) == message


def test_a_question_is_asked_as_the_hosts_class_asks_it() -> None:
    from vlmeval.dataset.medqbench_mcq import MedqbenchMCQDataset as HostClass

    ours = build("MedQ_MCQ_sample")
    line = ours.data.iloc[0]
    theirs = HostClass.build_prompt(ours, line)
    assert ours.build_prompt(line) == theirs


@pytest.mark.parametrize(
    ("kind", "module"),
    [("caption", "medqbench_caption"), ("paired", "medqbench_paired_description")],
)
def test_a_description_is_asked_for_in_the_hosts_words(kind: str, module: str) -> None:
    import importlib
    import inspect

    from medbench_vlmeval.hosting.medq_classes import host_description_prompt

    prompt = host_description_prompt(kind)
    source = inspect.getsource(importlib.import_module(f"vlmeval.dataset.{module}"))
    assert prompt is not None
    assert all(word in source for word in prompt.split())
    name = {"caption": PARTS[1], "paired": PARTS[2]}[kind]
    assert build(name).build_prompt(0)[-1]["value"] == prompt


def test_a_fifth_option_is_shown() -> None:
    dataset = build("MedQDEG_sample")
    with_five = [sample for sample in dataset.medq.samples if "E" in sample.options]
    assert with_five
    from medbench_vlmeval.hosting.medq_classes import host_choice_prompt

    options = {letter: letter.lower() * 3 for letter in "ABCDE"}
    assert host_choice_prompt("mcq", "Which?", options) is None
    assert "E. eee" in str(host_choice_prompt("deg", "Which?", options))


def test_texts_that_spreadsheets_lose_are_shown_and_kept(tmp_path: Path) -> None:
    dataset = build("MedQ_MCQ_sample")
    (sample, *_) = [it for it in dataset.medq.samples if "None" in it.options.values()]
    row = dataset.data[dataset.data["index"] == sample.index].iloc[0]
    letter = next(key for key, text in sample.options.items() if text == "None")
    assert row[letter] == "None"
    assert f"{letter}. None" in dataset.build_prompt(row)[-1]["value"]


def test_the_hosts_templates_are_the_published_ones() -> None:
    dataset = build("MedQ_Caption_sample")
    from medbench_vlmeval.evaluation.options import EvaluationOptions

    templates = dataset.templates(EvaluationOptions())
    assert templates.comparable
    assert set(templates.sha256.values()) == set(PUBLISHED_SHA256["caption"].values())
    assert not dataset.templates(EvaluationOptions(judge_wording="own")).comparable


@pytest.mark.parametrize("name", HOST_NAMES)
def test_every_advertised_name_of_the_host_can_be_built(name: str, lmu: Path) -> None:
    prepare_release(lmu)
    dataset = build(name)
    assert type(dataset).__module__ == "medbench_vlmeval.datasets.medq_host"
    host_class = type(dataset).__mro__[-4:]
    assert any(cls.__module__.startswith("vlmeval.dataset") for cls in host_class)
    assert dataset.dataset_name == name


def test_the_take_over_is_said_once(
    lmu: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    from medbench_vlmeval.datasets import medq_host

    monkeypatch.setattr(medq_host, "_said", set())
    monkeypatch.setattr(logging.getLogger("medbench_vlmeval"), "parent", logging.getLogger())
    prepare_release(lmu)
    with caplog.at_level(logging.INFO, logger="medbench_vlmeval"):
        build("MedqbenchMCQ_test")
        build("MedqbenchCaption_test")
    assert caplog.text.count("MEDBENCH_KEEP_HOST_MEDQ=1") == 1


def test_a_table_of_ones_own_is_taken_as_the_hosts_class_takes_it(
    lmu: Path, tmp_path: Path
) -> None:
    from vlmeval.dataset import MedqbenchMCQDataset

    table = write_release(tmp_path / "own", lmu) / "medqbench_QA_test.tsv"
    dataset = MedqbenchMCQDataset("MedqbenchMCQ_test", data_path=str(table))
    assert len(dataset) == len(load_medq("MedQ_MCQ_sample").samples)
    with pytest.raises(FileNotFoundError, match="data_path"):
        MedqbenchMCQDataset("MedqbenchMCQ_test", data_path=str(tmp_path / "none.tsv"))


def test_registering_again_changes_nothing() -> None:
    import vlmeval.dataset as host

    from medbench_vlmeval.hosting.registration import register

    before = list(host.DATASET_CLASSES)
    register()
    assert list(host.DATASET_CLASSES) == before
    assert sum(cls.__name__ == "MedqbenchMCQDataset" for cls in before) == 2


# The host leaves the file that it writes open.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_the_host_and_ours_agree_where_nothing_fails(lmu: Path, tmp_path: Path) -> None:
    from vlmeval.dataset.medqbench_mcq import MedqbenchMCQDataset as HostClass

    prepare_release(lmu)
    dataset = build("MedqbenchMCQ_test")
    letters = "ABAC"
    replies = {
        index: f"The answer is {letters[number % 4]}"
        for number, index in enumerate(dataset.data["index"])
    }
    ours = dataset.evaluate(str(predictions(dataset, tmp_path, replies)))
    frame = dataset.data.assign(prediction=[replies[index] for index in dataset.data["index"]])
    frame.to_excel(tmp_path / "host.xlsx", index=False)
    theirs = HostClass.evaluate(dataset, str(tmp_path / "host.xlsx"))
    assert {name: ours[name] for name in theirs} == pytest.approx(theirs)


def test_the_hosts_judge_and_ours_agree_where_nothing_fails(lmu: Path, tmp_path: Path) -> None:
    from vlmeval.dataset.medqbench_caption import MedQBench_Caption_Scorer

    prepare_release(lmu)
    dataset = build("MedqbenchCaption_test")
    path = predictions(dataset, tmp_path, "Sharp. Overall, the quality of this image is good.")

    def points(text: str) -> int:
        return sum(map(ord, text)) % 3

    class Judge:
        def generate(self, prompt: str) -> str:
            return f"Score: {points(prompt)}"

    frame = dataset.data.assign(prediction="Sharp. Overall, the quality of this image is good.")
    scorer = MedQBench_Caption_Scorer(frame.reset_index(drop=True), Judge(), sleep=0)
    rows = scorer.compute_scores()
    names = ("completeness", "preciseness", "consistency", "quality_accuracy")
    theirs = {name: sum(row[name] for row in rows) / len(rows) for name in names}
    with JudgeServer(lambda request: Answer.says(f"Score: {points(request.text)}")) as server:
        arguments = {"model": "gpt-4o", "api_base": server.base_url, "key": "k"}
        ours = dataset.evaluate(str(path), **arguments)
        body = server.requests[0].json
    assert {name: ours[name] for name in names} == pytest.approx(theirs)
    assert ours["Overall"] == pytest.approx(sum(theirs.values()))
    assert (body["temperature"], body["max_tokens"]) == (0, 2048)
    assert body["model"] == "gpt-4o-2024-05-13"
    assert [message["role"] for message in body["messages"]] == ["user"]


def fault(identifier: str) -> dict[str, Any]:
    records = json.loads(shared_path("data/medq_faults.json").read_text())["faults"]
    return next(record for record in records if record["id"] == identifier)


def test_the_judge_is_asked_many_questions_at_once_and_without_pauses(tmp_path: Path) -> None:
    import time

    dataset = build("MedQ_Caption_sample")
    n_calls = 4 * len(dataset)
    path = predictions(dataset, tmp_path, "Sharp. Overall, the quality of this image is good.")
    with JudgeServer(lambda request: Answer.says("Score: 1"), latency_s=0.3) as server:
        arguments = {"api_base": server.base_url, "key": "k", "nproc": 32}
        start = time.monotonic()
        dataset.evaluate(str(path), sleep=0.5, use_threading=False, **arguments)
        seconds = time.monotonic() - start
        assert server.peak_concurrency == min(32, n_calls)
    # The host's class would wait for 36 replies in turn and pause as often: 29 s.
    assert seconds < n_calls * 0.3
    assert fault("J1")["expected"] == "peak concurrency = min(nproc, calls)"


def test_what_the_host_adds_for_other_benchmarks_never_reaches_the_judge(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dataset = build("MedQ_Caption_sample")
    path = predictions(dataset, tmp_path, "Sharp. Overall, the quality of this image is good.")
    with JudgeServer(lambda request: Answer.says("Score: 1")) as server:
        arguments = {"api_base": server.base_url, "key": "k", "use_verifier": True, "verbose": True}
        dataset.evaluate(str(path), **arguments)
        assert all("use_verifier" not in request.json for request in server.requests)
    assert "JUDGE" not in capsys.readouterr().out


def test_without_the_hosts_default_a_description_is_judged_by_gpt_4o(tmp_path: Path) -> None:
    dataset = build("MedQ_Caption_sample")
    path = predictions(dataset, tmp_path, "Sharp. Overall, the quality of this image is good.")
    # as the host's command line builds them for this TYPE: no model
    host_arguments = {"nproc": 4, "verbose": False, "retry": 6, "timeout": 600}
    with JudgeServer(lambda request: Answer.says("Score: 1")) as server:
        dataset.evaluate(str(path), api_base=server.base_url, key="k", **host_arguments)
        assert {request.json["model"] for request in server.requests} == {"gpt-4o-2024-05-13"}


def test_further_rounds_are_asked_by_the_hosts_own_argument(tmp_path: Path) -> None:
    dataset = build("MedQ_Paired_sample")
    path = predictions(dataset, tmp_path, "Overall, the first image is of higher quality.")
    with JudgeServer(lambda request: Answer.says("Score: 2")) as server:
        dataset.evaluate(str(path), api_base=server.base_url, key="k", n_rounds=3, temperature=0.7)
        assert server.calls == 3 * 4 * len(dataset)


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv", ".csv", ".json", ".pkl"])
@pytest.mark.parametrize("name", ["MedqbenchMCQ_test", "MedqbenchCaption_test"])
def test_scores_lie_beside_untouched_predictions_of_every_format(
    name: str, suffix: str, lmu: Path, tmp_path: Path
) -> None:
    from vlmeval.smp import dump

    prepare_release(lmu)
    dataset = build(name)
    frame = dataset.data.assign(prediction="A. Overall, the quality of this image is good.")
    path = tmp_path / f"M_{name}{suffix}"
    if suffix == ".json":
        path.write_text(frame.to_json(orient="records"), encoding="utf-8")
    elif suffix == ".pkl":
        frame.to_pickle(path)
    else:
        dump(frame, str(path))
    before = path.read_bytes()
    with JudgeServer(lambda request: Answer.says("Score: 2")) as server:
        flat = dataset.evaluate(str(path), api_base=server.base_url, key="k")
    assert path.read_bytes() == before
    written = json.loads(path.with_name(f"M_{name}_score.json").read_text())
    assert written == flat
    assert all(type(value) in (int, float) for value in flat.values())


def test_judgements_without_a_value_are_counted_for_the_host(tmp_path: Path) -> None:
    dataset = build("MedQ_Paired_sample")
    path = predictions(dataset, tmp_path, "Overall, the first image is of higher quality.")

    def answer(request: Any) -> Answer:
        return Answer.says("no idea" if "internal consistency" in request.text else "Score: 2")

    with JudgeServer(answer) as server:
        dataset.evaluate(str(path), api_base=server.base_url, key="k")
    n = len(dataset)
    assert dataset.report_judge_err(path) == {"failed": n, "total": 4 * n}
    assert dataset.report_judge_err(None, total_samples=3) == {"failed": 0, "total": 3}


@pytest.mark.parametrize("name", PARTS[1:])
def test_without_a_judge_the_check_that_needs_none_is_there(
    name: str, tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(logging.getLogger("medbench_vlmeval"), "parent", logging.getLogger())
    dataset = build(name)
    text = (
        "Overall, the quality of this image is good. Overall, the first image is of higher quality."
    )
    with caplog.at_level(logging.INFO, logger="medbench_vlmeval"):
        flat = dataset.evaluate(str(predictions(dataset, tmp_path, text)))
    assert 0 < flat["quality_accuracy_read"] < 2
    assert "Overall" not in flat
    assert "not judged" in caplog.text


def test_options_are_checked(tmp_path: Path) -> None:
    dataset = build("MedQ_MCQ_sample")
    path = predictions(dataset, tmp_path, "A")
    with pytest.raises(ValueError, match="check the spelling"):
        dataset.evaluate(str(path), medbench_extract_choice=True)
    with pytest.raises(ValueError, match="medbench_judge_wording"):
        dataset.evaluate(str(path), medbench_judge_wording="theirs")


def test_data_that_cannot_be_had_names_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    from medbench_vlmeval.data import DataNotPrepared
    from medbench_vlmeval.datasets.medq import MedQMCQ

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataNotPrepared, match="medbench data prepare medq"):
        MedQMCQ("MedQ_MCQ_test")


def test_a_row_without_its_image_is_expected_but_not_asked(tmp_path: Path) -> None:
    table = tmp_path / "medqbench_QA_test.tsv"
    source = load_medq(prepare_medq_sample("MedQ_MCQ_sample").root.name).samples[0]
    import base64

    image = base64.b64encode(source.images[0].read_bytes()).decode()
    rows = [
        {
            "index": 0,
            "image": image,
            "question": "Is it sharp?",
            "A": "Yes",
            "B": "No",
            "answer": "A",
        },
        {"index": 1, "image": "", "question": "Is it noisy?", "A": "Yes", "B": "No", "answer": "B"},
    ]
    pd.DataFrame(rows).to_csv(table, sep="\t", index=False)
    prepare_medq(table, name="MedQ_MCQ_test", progress=False)
    dataset = build("MedQ_MCQ_test")
    assert len(dataset) == 1
    flat = dataset.evaluate(str(predictions(dataset, tmp_path, "A")))
    assert (flat["n_expected"], flat["accuracy_n"], flat["accuracy"]) == (2, 1, 1.0)
