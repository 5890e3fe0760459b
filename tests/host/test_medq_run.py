"""MedQ-Bench through the real host: our names, the host's names, baselines, a local judge."""

from __future__ import annotations

import base64
import json
import time
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.data import load_medq
from medbench_vlmeval.files import read_jsonl

from ..judging.server import Answer, JudgeServer, Request
from .medq_release import prepare_release
from .running import HOSTS, Host

pytestmark = pytest.mark.host

STATISTICS = "Baseline-ImageStatistics"
HOST_KEYS = ("completeness", "preciseness", "consistency", "quality_accuracy")
README_COMMANDS = (
    ("--data", "MedqbenchMCQ_test"),
    ("--data", "MedqbenchCaption_test"),
    ("--data", "MedqbenchPairedDescription_test", "--judge", "gpt-4o"),
)


def manifest_of(host: Host, model: str, dataset: str) -> dict[str, Any]:
    path = host.result(model, dataset)
    return json.loads(path.with_name(f"{path.stem}_manifest.json").read_text(encoding="utf-8"))


@pytest.fixture(scope="module", params=HOSTS)
def choices(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    host = Host(request.param, tmp_path_factory.mktemp("medq"))
    (host.folder / "LMUData").mkdir()
    prepare_release(host.folder / "LMUData", "dev")
    models = ("Baseline-FirstOption", "Baseline-MajorityLetter", "Baseline-QuestionPrior")
    datasets = ("MedQ_MCQ_sample", "MedQDEG_sample")
    host.run("--data", *datasets, "--model", *models, STATISTICS)
    return host


def test_the_board_stands_in_the_hosts_status(choices: Host) -> None:
    status = choices.status("Baseline-FirstOption", "MedQ_MCQ_sample")
    assert (status["status"], status["primary_metric"]) == ("done", "Overall")
    scores = choices.scores("Baseline-FirstOption", "MedQ_MCQ_sample")
    assert {"Overall", "Yes-or-No", "What", "How"} <= set(scores)
    assert scores["n_answered"] == scores["n_expected"]
    assert scores["accuracy"] == scores["accuracy_strict"] == scores["Overall"]


def test_a_prior_learned_from_the_dev_split_beats_the_first_option(choices: Host) -> None:
    # Here the dev split holds the questions of the pack, so the prior knows them.
    first = choices.scores("Baseline-FirstOption", "MedQ_MCQ_sample")["Overall"]
    assert choices.scores("Baseline-QuestionPrior", "MedQ_MCQ_sample")["Overall"] > first


def test_levels_of_degradation_are_compared(choices: Host) -> None:
    scores = choices.scores("Baseline-FirstOption", "MedQDEG_sample")
    assert {"accuracy|level=L0", "drop_L1", "drop_L2"} <= set(scores)


def test_the_manifest_says_how_the_model_was_asked_and_what_it_saw(choices: Host) -> None:
    manifest = manifest_of(choices, STATISTICS, "MedQ_MCQ_sample")
    assert manifest["asked"]["wording"] == {"host": manifest["data"]["n_samples"]}
    assert manifest["images"]["route"] == "file"
    assert sum(manifest["letters_read_from"].values()) == manifest["data"]["n_samples"]


@pytest.mark.parametrize("name", HOSTS)
def test_the_commands_of_the_readme_work_and_ask_nothing_twice(name: str, tmp_path: Path) -> None:
    host = Host(name, tmp_path)
    (tmp_path / "LMUData").mkdir()
    prepare_release(tmp_path / "LMUData")
    with JudgeServer(lambda request: Answer.says("Score: 2")) as server:
        environ = {"OPENAI_API_KEY": "sk-local", "OPENAI_API_BASE": server.base_url}
        outputs = [
            host.run(*command, "--model", STATISTICS, **environ) for command in README_COMMANDS
        ]
        asked = server.calls
        judged = ("--data", *(command[1] for command in README_COMMANDS[1:]))
        host.run(*judged, "--model", STATISTICS, "--judge", "gpt-4o", "--reuse", **environ)
        assert server.calls == asked
    assert all(
        output.count("MedQ-Bench names are served by medbench_vlmeval") >= 1 for output in outputs
    )
    n_rows = 0
    for command in README_COMMANDS[1:]:
        scores = host.scores(STATISTICS, command[1])
        n_rows += scores["n_expected"]
        assert [scores[key] for key in HOST_KEYS] == [2.0] * 4
        assert scores["Overall"] == pytest.approx(sum(scores[key] for key in HOST_KEYS))
        assert host.status(STATISTICS, command[1])["primary_metric"] == "Overall"
    assert asked == 4 * n_rows
    perception = host.scores(STATISTICS, "MedqbenchMCQ_test")
    assert perception["correct"] / perception["total"] == perception["overall_accuracy"]
    assert perception["overall_accuracy"] == perception["Overall"]
    served = manifest_of(host, STATISTICS, "MedqbenchMCQ_test")["taken_over"]
    assert served["name"] == "MedqbenchMCQ_test"


def test_a_killed_evaluation_goes_on_where_it_was(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    (tmp_path / "LMUData").mkdir()
    prepare_release(tmp_path / "LMUData")
    command = ("--data", "MedqbenchCaption_test", "--model", STATISTICS)
    with JudgeServer(lambda request: Answer.says("Score: 2"), latency_s=0.3) as server:
        environ = {"OPENAI_API_KEY": "sk-local", "OPENAI_API_BASE": server.base_url}
        lanes = ("--judge-args", json.dumps({"nproc": 2}))
        process = host.start(*command, *lanes, **environ)
        deadline = time.monotonic() + 120
        while server.calls < 10 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.kill()
        process.wait()
        host.run(*command, *lanes, **environ)
        n_calls = 4 * len(load_medq("MedQ_Caption_test", tmp_path / "LMUData").samples)
        # The two questions that were open when the process died have no answer to keep.
        assert n_calls <= server.calls <= n_calls + 2
    assert host.scores(STATISTICS, "MedqbenchCaption_test")["completeness"] == 2.0


def test_the_host_keeps_its_classes_when_it_should(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path, {"MEDBENCH_KEEP_HOST_MEDQ": "1"}, fresh=True)
    program = (
        "from vlmeval.dataset import DATASET_CLASSES, MedqbenchMCQDataset as found\n"
        "served = {n: c.__module__ for c in reversed(DATASET_CLASSES) "
        "for n in c.supported_datasets()}\n"
        "print(found.__module__, served['MedqbenchMCQ_test'], served['MedQ_MCQ_test'])"
    )
    output = host.python(program).splitlines()[-1]
    host_module = "vlmeval.dataset.medqbench_mcq"
    assert output == f"{host_module} {host_module} medbench_vlmeval.datasets.medq"


def test_a_model_behind_an_api_can_get_the_original_bytes(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)

    def answers(request: Request) -> Answer:
        return Answer.says("A")

    with JudgeServer(answers) as server:
        address = f"{server.base_url}/chat/completions"
        model = {"class": "LosslessAPI", "model": "m", "api_base": address, "key": "sk-secret-9"}
        config = {
            "model": {"lossless": model},
            "data": {"MedQ_MCQ_sample": {"class": "MedQMCQ", "dataset": "MedQ_MCQ_sample"}},
        }
        path = tmp_path / "config.json"
        path.write_text(json.dumps(config), encoding="utf-8")
        output = host.run("--config", str(path))
        requests = list(server.requests)
    sent = set()
    for request in requests:
        for part in request.json["messages"][-1]["content"]:
            if part["type"] == "image_url":
                head, _, data = part["image_url"]["url"].partition(",")
                assert head == "data:image/png;base64"
                sent.add(base64.b64decode(data))
    samples = load_medq("MedQ_MCQ_sample", tmp_path / "LMUData").samples
    assert sent == {path.read_bytes() for sample in samples for path in sample.images if path}
    assert "sk-secret-9" not in output.replace(str(path), "")


def test_what_the_host_does_to_images_is_said(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    with JudgeServer(lambda request: Answer.says("A")) as server:
        arguments = ("--data", "MedQ_MCQ_sample", "--model", "m", "--base-url", server.base_url)
        host.run(*arguments, "--api-mode", "--key", "k")
    images = manifest_of(host, "m", "MedQ_MCQ_sample")["images"]
    assert "re-encoded images (JPEG)" in images["notes"][0]
    assert images["host_encoding"]["changed"] == images["host_encoding"]["checked"] > 0
    rows, _ = read_jsonl(
        host.result("m", "MedQ_MCQ_sample").with_name("m_MedQ_MCQ_sample_scores.jsonl")
    )
    assert {row["strict_letter"] for row in rows} == {"A"}
