"""Judged scores through the real host, with its own judge options, against a local server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from ..judging.server import Answer, JudgeServer
from .running import HOSTS, Host

pytestmark = pytest.mark.host

REPLY = "- Editing Accuracy: 8/10\n- Contextual Preservation: 9/10\n- Visual Quality: 7/10"
KEY = "sk-canary-0123456789"


@pytest.mark.parametrize("name", HOSTS)
def test_the_hosts_judge_options_reach_our_judge(name: str, tmp_path: Path) -> None:
    host = Host(name, tmp_path)
    arguments = ["--data", "MedEBench_sample", "--model", "Baseline-Reference"]
    with JudgeServer(lambda request: Answer.says(REPLY)) as server:
        options = json.dumps({"medbench_judge_layout": "single"})
        judge = ["--judge", "local-judge", "--judge-base-url", server.base_url]
        judge += ["--judge-key", KEY, "--judge-args", options]
        host.run(*arguments, *judge, "--mode", "all")
        calls = server.calls
        request = server.requests[0]
        host.run(*arguments, *judge, "--mode", "all", "--reuse")
        assert server.calls == calls, "a second evaluation asks nobody"
    scores = host.scores("Baseline-Reference", "MedEBench_sample")
    assert calls == scores["n_expected"]
    assert request.json["model"] == "local-judge"
    assert len(request.json["messages"]) == 1
    assert scores["EA"] == pytest.approx(0.8)
    assert scores["VQ_strict"] == pytest.approx(0.7)
    status = host.status("Baseline-Reference", "MedEBench_sample")
    assert status["primary_metric"] == ["EA", "CP", "VQ"]
    ours = host.result("Baseline-Reference", "MedEBench_sample").parent.glob("*_MedEBench_*")
    assert not [path for path in ours if path.is_file() and KEY.encode() in path.read_bytes()]


def test_a_dead_judge_is_an_error_of_the_run_and_not_a_zero(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    datasets = ("MedEBench_sample", "MedQ_Caption_sample")
    judge = ["--judge", "local-judge", "--judge-base-url", "http://127.0.0.1:9/v1"]
    # An editor describes nothing, but what it says is judged like any text.
    arguments = ["--data", *datasets, "--model", "Baseline-CopyInput"]
    host.run(*arguments, *judge, "--judge-retry", "0")
    for dataset in datasets:
        status = host.status("Baseline-CopyInput", dataset)
        assert status["error_message"]
        assert "metrics" not in status
    scores = host.scores("Baseline-CopyInput", "MedEBench_sample")
    assert scores["CP"] == 1.0
    assert "EA" not in scores
    described = host.scores("Baseline-CopyInput", "MedQ_Caption_sample")
    assert "completeness" not in described
    assert "Overall" not in described
