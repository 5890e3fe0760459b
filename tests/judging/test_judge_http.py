"""Every case of judge_http.jsonl, played by the local server."""

from __future__ import annotations

import json
import socket
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.judging import (
    JudgeCall,
    JudgeStopped,
    Message,
    PromptTemplate,
    Rubric,
    fenced,
    refusal_counts,
)
from medbench_vlmeval.types import Status

from ..shared import shared_cases
from .asking import MEDEBENCH, SCORE, FastClock, ask, judge_at, row_call, row_calls
from .interrupted import judge_until_killed, judged_again
from .server import Answer, ByRow, JudgeServer, Request

ONE_STATUS = {"B35d", "B41a", "B41b", "B41c", "B41d", "V-H03"}
SEVERAL_ROWS = {"B33c", "V-H02"}
REFUSED_PARAMETERS = {"B39a", "B39b"}
PROMPTS = {"B43c", "B43d"}
SINGLE = {"B21a", "B39c", "B45a", "B45b", "V-H01", "V-H05", "V-H06", "V-H07"}
NOT_OF_THE_ENGINE = {
    "V-H04": "predictions that are missing or failed become no call: tested with the evaluation",
    "V-H08": "a sum of four means: tested with MedQ's summary",
}


def cases(*ids: str) -> list[Any]:
    chosen = [case for case in shared_cases("judge_http.jsonl") if case.id in {*ids, "absent"}]
    assert chosen
    return chosen


def test_every_case_is_tested_here_or_named_as_not_of_the_engine() -> None:
    here = ONE_STATUS | SEVERAL_ROWS | REFUSED_PARAMETERS | PROMPTS | SINGLE
    present = {case.id for case in shared_cases("judge_http.jsonl")}
    if present == {"absent"}:
        pytest.skip("the shared cases are not there")
    assert present == here | set(NOT_OF_THE_ENGINE)


def script(case: dict[str, Any]) -> ByRow:
    rows = dict(enumerate([Answer.from_case(a) for a in row] for row in case.get("per_row", [])))
    return ByRow(rows, [Answer.from_case(a) for a in case.get("per_row_default", [])])


def rubric(case: dict[str, Any]) -> Rubric:
    if "names" in case:
        return Rubric("named", tuple(case["names"]), 0, 10)
    return MEDEBENCH if "Editing Acc" in json.dumps(case) else SCORE


def statuses(wanted: str) -> set[Status]:
    return {Status(name) for name in wanted.split("|")}


@pytest.mark.parametrize("case", cases(*ONE_STATUS))
def test_a_reply_without_scores_ends_in_its_status(case: dict[str, Any]) -> None:
    call = row_call(0, rubric=rubric(case), **case.get("row", {}))
    with JudgeServer(script(case)) as server:
        (verdict,) = ask(server, [call])
    required = case["required"]
    assert verdict.status in statuses(required["class"])
    assert verdict.reading is None
    assert server.calls <= required.get("calls_per_verdict_max", 2)
    assert server.calls - 1 <= required.get("retries_max", 1)
    if "by_modality" in required:
        assert refusal_counts([verdict], "modality") == required["by_modality"]
    if required.get("second_prompt_differs"):
        assert server.requests[0].text != server.requests[1].text


@pytest.mark.parametrize("case", cases(*SEVERAL_ROWS))
def test_failed_rows_are_counted_and_never_become_a_number(case: dict[str, Any]) -> None:
    asked = rubric(case)
    calls = row_calls(case["rows"], rubric=asked)
    with JudgeServer(script(case)) as server:
        verdicts = ask(server, calls, nproc=2)
    required = case["required"]
    values = [v.reading.values[asked.names[0]] for v in verdicts if v.reading is not None]
    failed = len(verdicts) - len(values)
    assert len(verdicts) == required["n"]
    assert len(values) == required["n_scored"]
    if "mean" in required:
        bounds = [(sum(values) + failed * end) / len(verdicts) for end in (asked.low, asked.high)]
        assert sum(values) / len(values) == required["mean"]
        assert bounds == pytest.approx(required["bounds"], abs=0.005)
        counts = Counter(verdict.status for verdict in verdicts)
        for wanted, count in required["classes"].items():
            assert sum(counts[status] for status in statuses(wanted)) == count
    else:
        assert sum(values) / len(values) == required["mean_scored"]
        assert sum(values) / len(verdicts) == required["mean_failed_as_zero"]


def refusing(case: dict[str, Any]) -> Any:
    rule = case["server"]
    good = Answer.from_case(rule["else"])
    bad = Answer(rule["status"], json=rule["json"])
    return lambda request: bad if rule["if_body_has"] in request.json else good


@pytest.mark.parametrize("case", cases(*REFUSED_PARAMETERS))
def test_a_refused_parameter_is_adapted_once_and_remembered(
    case: dict[str, Any], tmp_path: Path
) -> None:
    refused = case["server"]["if_body_has"]
    calls = row_calls(case["rows"])
    log_path = tmp_path / "judge.jsonl"
    with JudgeServer(refusing(case)) as server:
        judge = judge_at(server, nproc=case.get("concurrency", 8), temperature=0.0)
        verdicts = judge.run(calls, log_path=log_path)
        further = judge.run([row_call(99)])
    assert sum(v.status is Status.ANSWER for v in verdicts.values()) == case["required"]["n_scored"]
    assert further["99-0"].status is Status.ANSWER
    assert sum(refused in request.json for request in server.requests) == 1
    assert server.calls - 1 == case["required"].get("calls_total", case["rows"] + 1)
    effective = judge.manifest()["effective_parameters"]
    assert refused not in effective
    assert effective == {
        name: value
        for name, value in server.requests[-1].json.items()
        if name not in ("model", "messages")
    }
    logged = [json.loads(line) for line in log_path.read_text().splitlines()]
    assert all(refused not in record["parameters"] for record in logged)


TEMPLATE = PromptTemplate(
    "Compare.\nReference:\n{{reference}}\nCandidate:\n{{candidate}}\nAnswer with a Score."
)


@pytest.mark.parametrize("case", cases(*PROMPTS))
def test_graded_text_stays_literal_and_fenced(case: dict[str, Any]) -> None:
    candidate, reference = case["row"]["prediction"], case["row"]["description"]
    fence = fenced(candidate, "candidate")
    text = TEMPLATE.fill(candidate=fence, reference=reference)
    with JudgeServer(script(case)) as server:
        ask(server, [JudgeCall("0", (Message("user", (text,)),), SCORE)])
    sent = server.requests[0].text
    checks = case["required"]["request_checks"]
    opening, closing = fence.split(candidate)
    assert sent.count(reference) == checks["reference_occurrences"]
    assert checks.get("candidate_text", candidate) in sent
    assert sent[sent.index(opening) + len(opening) : sent.index(closing)] == candidate


@pytest.mark.parametrize("case", cases("B21a"))
def test_a_row_that_failed_is_asked_again_in_the_next_run(
    case: dict[str, Any], tmp_path: Path
) -> None:
    call = row_call(0, rubric=rubric(case))
    results = []
    for run in case["runs"]:
        answers = [Answer.from_case(answer) for answer in run]
        with JudgeServer(ByRow({0: answers})) as server:
            (verdict,) = ask(server, [call], cache_path=tmp_path / "cache.sqlite")
            results.append((verdict, server.calls))
    (cut, _), (good, calls_run2) = results
    assert (cut.status, cut.reading) == (Status.TRUNCATED, None)
    assert (good.status, calls_run2) == (Status.ANSWER, 1)
    assert good.reading is not None
    assert good.reading.values["Editing Accuracy"] == case["required"]["run2"]["EA"]


@pytest.mark.parametrize("case", cases("B39c"))
def test_the_name_of_a_model_changes_no_parameter(case: dict[str, Any]) -> None:
    with JudgeServer(script(case)) as server:
        ask(server, [row_call(0)], model=case["model"], temperature=0.0)
    assert server.requests[0].json["temperature"] == 0.0
    assert "max_tokens" in server.requests[0].json


@pytest.mark.parametrize("case", cases("B45a"))
def test_a_rate_limit_is_waited_out_as_long_as_it_says(case: dict[str, Any]) -> None:
    clock = FastClock()
    with JudgeServer(script(case)) as server:
        judge = judge_at(server, clock=clock, retries=6)
        verdicts = judge.run([row_call(0)])
    assert verdicts["0-0"].status is Status.ANSWER
    assert server.calls == case["required"]["calls"]
    assert sum(clock.slept) >= case["required"]["wait_total_s_min"]


@pytest.mark.parametrize("case", cases("B45b"))
def test_an_exhausted_quota_stops_after_one_call(case: dict[str, Any], tmp_path: Path) -> None:
    clock = FastClock()
    with JudgeServer(script(case)) as server:
        judge = judge_at(
            server, clock=clock, nproc=case["concurrency"], cache_path=tmp_path / "cache.sqlite"
        )
        with pytest.raises(JudgeStopped, match=case["required"]["message_names"]) as stopped:
            judge.run(row_calls(case["rows"]))
    assert server.calls == 1
    assert server.calls <= case["required"]["calls_max"]
    assert len(stopped.value.verdicts) == case["required"]["rows_kept"]
    assert clock.slept == []


@pytest.mark.parametrize("case", cases("V-H01"))
def test_a_closed_port_is_an_error_and_no_zero(case: dict[str, Any]) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{unused.getsockname()[1]}/v1"
    with pytest.raises(JudgeStopped, match="cannot be reached") as stopped:
        judge_at(address, nproc=8).run(row_calls(20))
    assert len(stopped.value.verdicts) == case["required"]["n_scored"]
    assert stopped.value.kind == "unreachable"


@pytest.mark.parametrize("case", cases("V-H05"))
def test_a_killed_run_goes_on_where_it_was(case: dict[str, Any], tmp_path: Path) -> None:
    required = case["required"]
    run = judge_until_killed(
        tmp_path, rows=case["rows"], metrics=case["metrics"], kill_at=case["kill_during_call"]
    )
    assert run.calls == required["calls_run1"]
    assert run.n_stored == required["cached"]
    verdicts, calls = judged_again(tmp_path, rows=case["rows"], metrics=case["metrics"])
    assert calls == required["calls_run2"]
    assert all(verdict.status is Status.ANSWER for verdict in verdicts.values())


@pytest.mark.parametrize("case", cases("V-H06"))
def test_a_judged_run_is_not_judged_again(case: dict[str, Any], tmp_path: Path) -> None:
    calls = row_calls(case["rows"], metrics=case["metrics"])
    runs = []
    with JudgeServer(script(case)) as server:
        for _ in range(case["runs_count"]):
            before = server.calls
            verdicts = ask(server, calls, cache_path=tmp_path / "cache.sqlite")
            runs.append(([verdict.reading for verdict in verdicts], server.calls - before))
    (first, asked), (second, asked_again) = runs
    assert asked == len(calls)
    assert asked_again == case["required"]["calls_second_evaluation"]
    assert first == second


@pytest.mark.parametrize("case", cases("V-H07"))
def test_as_many_calls_overlap_as_nproc_says(case: dict[str, Any]) -> None:
    calls = row_calls(case["rows"], metrics=case["metrics"])
    answer = Answer.says("Score: 2")

    def constant(request: Request) -> Answer:
        return answer

    with JudgeServer(constant, latency_s=case["latency_ms"] / 1000) as server:
        judge = judge_at(server, nproc=case["nproc"])
        judge.run([row_call(1000)])  # imports and connects
        began = time.monotonic()
        judge.run(calls)
        seconds = time.monotonic() - began
    assert server.peak_concurrency == case["required"]["peak_concurrency"]
    assert seconds <= case["required"]["seconds_max"]
