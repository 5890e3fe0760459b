from __future__ import annotations

import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.evaluation import judge_check_numbers
from medbench_vlmeval.evaluation.judge_check import CheckResult, check_judge
from medbench_vlmeval.evaluation.judge_check_medq import medq_plan, replies_of_run
from medbench_vlmeval.evaluation.judge_check_plan import CheckOptions, CheckPlan
from medbench_vlmeval.files import read_jsonl
from medbench_vlmeval.judging import JudgeSettings
from medbench_vlmeval.judging.medq import DIMENSIONS, own_templates
from medbench_vlmeval.stats.bootstrap import statistic_interval

from ..judging.server import Answer, JudgeServer, Request
from .medq_reasoning_cases import FAILED, dimension_of, predict, table, text

N = 12
CHANGES = {
    i: {
        "description": f"Case {i} is sharp, case {i} has noise.",
        "modality": "CT" if i % 2 else "MR",
    }
    for i in range(1, N + 1)
}
OPTIONS = CheckOptions(samples=N)


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are tested with the statistics; here they need not take a second a column."""
    few = partial(statistic_interval, n_resamples=40)
    monkeypatch.setattr(judge_check_numbers, "statistic_interval", few)


def comparing(request: Request) -> Answer:
    """Two points for the same text, one for a beginning of it, none for another case."""
    given = dict(re.findall(r"<<<(\w+) \w+>>>\n(.*?)\n<<<end", request.text, re.DOTALL))
    candidate, reference = given["candidate"], given["reference"]
    points = 2 if candidate == reference else int(reference.startswith(candidate))
    return Answer.says(f"Score: {points}")


def check(folder: Path, plan: CheckPlan, script: Any = comparing) -> CheckResult:
    with JudgeServer(script) as server:
        settings = JudgeSettings(
            model="judge",
            base_url=server.base_url,
            retries=0,
            nproc=4,
            cache_path=folder / "replies.sqlite",
        )
        return check_judge(plan, settings, folder / "out", options=OPTIONS)


def made_plan(folder: Path, **options: Any) -> CheckPlan:
    data = table(folder, N, changes=CHANGES)
    chosen = CheckOptions(**{"samples": N, **options})
    return medq_plan(data, None, own_templates("caption"), chosen)


def test_the_same_engine_checks_a_judge_of_descriptions(tmp_path: Path) -> None:
    result = check(tmp_path, made_plan(tmp_path))
    assert [it.column for it in result.findings.retest] == list(DIMENSIONS)
    for it in result.findings.retest:
        assert (it.n, it.equal.value, it.weighted_kappa.value) == (N, 1.0, 1.0)
    assert [it.passed.value for it in result.findings.sanity] == [1.0] * 6
    assert [it.difference.value for it in result.findings.separations] == [2.0, 2.0]
    assert result.findings.shifts == ()
    lines, _ = read_jsonl(result.files.judgements)
    scored = [it["points"] for it in lines if it["kind"] == "as_scored"]
    assert [scored.count({"completeness": points}) for points in (2, 1, 0)] == [4, 4, 4]
    assert result.warnings == ()
    assert "own wording" in " ".join(result.notes)


def test_a_judge_that_likes_every_text_is_found_out(tmp_path: Path) -> None:
    plan = made_plan(tmp_path)
    result = check(tmp_path, plan, lambda _: Answer.says("Score: 2"))
    warned = "\n".join(result.warnings)
    for dimension in DIMENSIONS:
        assert f"{dimension}: the judge gives 2 to everything" in warned
    assert "completeness: the judge does not distinguish" in warned
    assert "consistency: the judge does not distinguish" not in warned


def test_an_unrelated_text_is_of_another_modality_where_there_is_one(tmp_path: Path) -> None:
    plan = made_plan(tmp_path)
    for group in plan.groups:
        number = int(group[0].sample)
        shown = next(it.shown for it in group if it.kind == "unrelated")
        other = int(shown.rpartition(" ")[2])
        assert (number - other) % 2 == 1


def test_a_runs_descriptions_are_judged_where_there_are_any(tmp_path: Path) -> None:
    data = table(tmp_path, 4, changes={2: {"description": None}})
    path = predict(tmp_path, {1: text(1), 2: text(2), 3: FAILED})
    replies = replies_of_run(path, data)
    assert replies == {1: text(1)}
    options = CheckOptions(samples=4, checks=("retest",))
    plan = medq_plan(data, replies, own_templates("caption"), options)
    ((*probes,),) = plan.groups
    assert [it.call.key for it in probes[:4]] == [f"1/as_scored/{it}" for it in DIMENSIONS]
    assert [it.call.repeat for it in probes] == [0] * 4 + [1] * 4
    assert "1 samples can be judged" in plan.notes[-1]


def test_without_any_description_there_is_nothing_to_check(tmp_path: Path) -> None:
    data = table(tmp_path, 2)
    with pytest.raises(ValueError, match="expected a description"):
        medq_plan(data, {}, own_templates("caption"), OPTIONS)


def test_every_dimension_is_traced_to_its_reply(tmp_path: Path) -> None:
    seen: list[str] = []

    def noting(request: Request) -> Answer:
        seen.append(dimension_of(request))
        return comparing(request)

    result = check(tmp_path, made_plan(tmp_path, checks=()), noting)
    lines, _ = read_jsonl(result.files.judgements)
    logged, _ = read_jsonl(result.files.run.judge_replies)
    replies = {it["call_id"]: it["reply"] for it in logged}
    for line in lines:
        ((_, points),) = line["points"].items()
        assert replies[line["call_id"]] == f"Score: {points:g}"
    assert len(lines) == 4 * N
    assert set(seen) == set(DIMENSIONS)
