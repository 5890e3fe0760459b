"""MedSG-Bench through the real host: baselines, and a server that answers perfectly."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from medbench_vlmeval.data import load_medsg
from medbench_vlmeval.data.medsg import MedSGSample
from medbench_vlmeval.files import read_jsonl

from ..data.packs import MEDSG, lend_packs
from ..judging.server import Answer, JudgeServer, Request
from .running import HOSTS, Host

pytestmark = pytest.mark.host

BASELINES = ("Baseline-FullImage", "Baseline-CentreBox", "Baseline-DifferenceFinder")
DIFFERENCE_TASKS = ("Registered_Diff", "Non_Registered_Diff")


@pytest.fixture(scope="module", params=HOSTS)
def baseline_run(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Host:
    host = Host(request.param, tmp_path_factory.mktemp("medsg"))
    host.run("--data", "MedSG_sample", "--model", *BASELINES)
    return host


def test_the_host_shows_the_official_headline(baseline_run: Host) -> None:
    status = baseline_run.status("Baseline-CentreBox", "MedSG_sample")
    assert status["status"] == "done"
    assert status["primary_metric"] == ["IoU", "ACC@0.5"]


def test_a_classical_difference_finder_solves_the_difference_tasks(baseline_run: Host) -> None:
    found = baseline_run.scores("Baseline-DifferenceFinder", "MedSG_sample")
    centre = baseline_run.scores("Baseline-CentreBox", "MedSG_sample")
    for task in DIFFERENCE_TASKS:
        assert found[f"IoU|task={task}"] > 0.6 > centre[f"IoU|task={task}"]


def test_what_was_asked_travels_with_the_predictions(baseline_run: Host) -> None:
    predictions = baseline_run.result("Baseline-CentreBox", "MedSG_sample")
    manifest = json.loads(
        predictions.with_name(f"{predictions.stem}_manifest.json").read_text(encoding="utf-8")
    )
    assert (manifest["convention"]["name"], manifest["convention"]["source"]) == (
        "norm1000",
        "prompt",
    )
    rows, _ = read_jsonl(predictions.with_name(f"{predictions.stem}_scores.jsonl"))
    assert {row["status"] for row in rows} == {"answer"}


def _perfect(sample: MedSGSample, convention: str) -> str:
    width, height = sample.size_wh
    x1, y1, x2, y2 = sample.truth
    if convention == "absolute":
        return f"[{x1}, {y1}, {x2}, {y2}]"
    numbers = [x1 / width, y1 / height, x2 / width, y2 / height]
    if convention == "norm1":
        return str([round(number, 6) for number in numbers])
    left, top, right, bottom = (round(1000 * number, 3) for number in numbers)
    if convention == "yxyx1000":
        return str([top, left, bottom, right])
    return str([left, top, right, bottom])


@pytest.mark.parametrize("convention", ["absolute", "norm1000", "norm1", "yxyx1000"])
def test_a_perfect_answer_in_any_convention_scores_one(convention: str, tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    lend_packs(tmp_path / "LMUData", MEDSG)
    samples: Iterator[MedSGSample] = iter(load_medsg("MedSG_sample", tmp_path / "LMUData").samples)
    prompts: list[str] = []

    def answer(request: Request) -> Answer:
        prompts.append(request.text)
        return Answer.says(_perfect(next(samples), convention))

    with JudgeServer(answer) as server:
        endpoint = ("--base-url", server.base_url, "--key", "sk-none", "--api-nproc", "1")
        arguments = ("--data", "MedSG_sample", "--model", "perfect", *endpoint, "--api-mode")
        host.run(*arguments, MEDBENCH_MEDSG_CONVENTION=convention)
    scores = host.scores("perfect", "MedSG_sample")
    assert scores["IoU_strict"] == pytest.approx(1.0, abs=0.005)
    if convention != "yxyx1000":
        assert scores["IoU"] == pytest.approx(1.0, abs=0.005)
    else:
        assert "IoU" not in scores, "no published parser reads y first"
    assert all("bounding box" in prompt for prompt in prompts)
    predictions = host.result("perfect", "MedSG_sample")
    lines, _ = read_jsonl(predictions.with_name(f"{predictions.stem}_samples.jsonl"))
    assert [line["prompt"][-1]["text"] for line in lines] == prompts
    sent = [[part["image"] for part in line["prompt"][:-1]] for line in lines]
    assert sent == [list(range(len(line["images"]))) for line in lines]
