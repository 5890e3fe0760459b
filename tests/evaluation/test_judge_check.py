from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.evaluation import judge_check_numbers
from medbench_vlmeval.evaluation.judge_check import CheckResult, check_judge, estimated_check
from medbench_vlmeval.evaluation.judge_check_medebench import edits_of_run, medebench_plan
from medbench_vlmeval.evaluation.judge_check_numbers import Agreement, Sanity, Shift
from medbench_vlmeval.evaluation.judge_check_plan import CheckOptions, CheckPlan, Limits
from medbench_vlmeval.files import read_jsonl
from medbench_vlmeval.judging import JudgeSettings, JudgeStopped
from medbench_vlmeval.stats.bootstrap import statistic_interval

from ..data.releases import picture
from ..judging.server import Answer, JudgeServer, Request
from .conftest import Predict
from .seeing_judges import (
    Opinion,
    SeeingJudge,
    always_ten,
    format_bound,
    harsh,
    honest,
    order_bound,
    squeamish,
    wavering,
)

MakeData = Callable[..., MedEBenchData]

CALLS_OF_THREE = 6 + 7 + 6
"""Different questions about three samples with made edits: two edits are the ground truth or the
input themselves, and the PNG of a PNG is that PNG."""


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch: pytest.MonkeyPatch) -> None:
    """Intervals are tested with the statistics; here they need not take a second a column."""
    few = partial(statistic_interval, n_resamples=40)
    monkeypatch.setattr(judge_check_numbers, "statistic_interval", few)


def plan_of(data: MedEBenchData, folder: Path, **options: Any) -> tuple[CheckPlan, CheckOptions]:
    chosen = CheckOptions(**{"samples": 12, **options})
    return medebench_plan(data, None, folder / "out" / "images", chosen), chosen


def settings_at(server: JudgeServer | str, folder: Path, **settings: Any) -> JudgeSettings:
    address = server if isinstance(server, str) else server.base_url
    given = {"model": "judge", "base_url": address, "retries": 0, "nproc": 4, **settings}
    return JudgeSettings(cache_path=folder / "replies.sqlite", **given)


@pytest.fixture
def check(make_data: MakeData, tmp_path: Path) -> Callable[..., CheckResult]:
    """Checks a judge of this opinion on made edits."""

    def run(
        opinion: Opinion,
        *,
        n: int = 12,
        second: Opinion | None = None,
        nproc: int = 4,
        **options: Any,
    ) -> CheckResult:
        plan, chosen = plan_of(make_data(n), tmp_path, **options)
        with JudgeServer(SeeingJudge(opinion, other=second or opinion)) as server:
            settings = settings_at(server, tmp_path, nproc=nproc)
            other = None if second is None else settings_at(server, tmp_path, model="other")
            result = check_judge(plan, settings, tmp_path / "out", second=other, options=chosen)
            assert result.n_calls == server.calls
        return result

    return run


def column(found: tuple[Any, ...], name: str) -> Any:
    return next(it for it in found if it.column == name)


def retest(result: CheckResult, name: str = "EA") -> Agreement:
    return column(result.findings.retest, name)


def by_text(result: CheckResult) -> dict[str, Sanity]:
    return {it.expectation.kind: it for it in result.findings.sanity}


def shift(result: CheckResult, change: str, name: str) -> Shift:
    found = (it for it in result.findings.shifts if it.change.name == change)
    return column(tuple(found), name)


def test_an_honest_judge_passes_everything(check: Callable[..., CheckResult]) -> None:
    result = check(honest)
    assert result.warnings == ()
    assert result.n_calls == 4 * CALLS_OF_THREE
    ea = retest(result)
    assert (ea.n, ea.equal.value, ea.weighted_kappa.value, ea.alpha.value) == (12, 1.0, 1.0, 1.0)
    assert [it.passed.value for it in result.findings.sanity] == [1.0, 1.0, 1.0]
    assert [it.mean.value for it in result.findings.sanity] == [10.0, 0.0, 0.0]
    accuracy, quality = result.findings.separations
    assert (accuracy.difference.value, accuracy.told_apart.value) == (10.0, 1.0)
    assert (quality.difference.value, quality.told_apart.value) == (9.0, 1.0)
    assert {it.difference.value for it in result.findings.shifts} == {0.0}
    assert result.findings.replies[0].statuses == {"answer": 12 * 8}
    assert "repeats itself: EA 100 % [76 %, 100 %] equal, weighted kappa 1.00" in result.lines[0]


def test_a_judge_that_wavers_is_measured(check: Callable[..., CheckResult]) -> None:
    result = check(wavering, nproc=1, checks=("retest",))
    lines, _ = read_jsonl(result.files.judgements)
    points = {(it["sample"], it["kind"]): it["points"]["EA"] for it in lines}
    first = [points[f"{i}", "as_scored"] for i in range(1, 13)]
    again = [points[f"{i}", "retest"] for i in range(1, 13)]
    # Odd samples lose a point, unless they had none: four of twelve edits are the input.
    n_lost = sum(i % 2 and before == 10 for i, before in enumerate(first, start=1))
    assert 0 < n_lost < 8
    assert sum(first) - sum(again) == n_lost
    ea = retest(result)
    assert ea.equal.value == pytest.approx(1 - n_lost / 12)
    assert ea.mean_difference.value == pytest.approx(-n_lost / 12)
    assert ea.mean_distance.value == pytest.approx(n_lost / 12)
    assert ea.weighted_kappa.value is not None
    assert 0.9 < ea.weighted_kappa.value < 1
    assert retest(result, "VQ").equal.value == 1.0


def test_a_judge_that_always_says_ten_is_named_for_it(check: Callable[..., CheckResult]) -> None:
    result = check(always_ten)
    ea = retest(result)
    assert ea.equal.value == 1.0
    for measure in (ea.weighted_kappa, ea.kappa, ea.icc_agreement, ea.icc_consistency, ea.alpha):
        assert measure.value is None
        assert "every rating is 10" in measure.reason
    sane = by_text(result)
    assert sane["reference"].passed.value == 1.0
    assert sane["input"].passed.value == sane["blank"].passed.value == 0.0
    warned = "\n".join(result.warnings)
    assert "EA: the judge gives 10 to everything" in warned
    assert "EA: the judge does not distinguish the ground truth and the unchanged input" in warned
    assert "VQ: the judge does not distinguish the ground truth and a blank picture" in warned
    assert any(line.startswith("does not distinguish") for line in result.lines)


def test_dependence_on_the_order_of_images_is_found(check: Callable[..., CheckResult]) -> None:
    result = check(order_bound, checks=("order", "format"))
    # By turns 10, 10 and 0 points: two of three lose two.
    found = shift(result, "order", "EA")
    assert found.difference.value == pytest.approx(-4 / 3)
    assert found.difference.high is not None
    assert found.difference.high < 0
    assert shift(result, "order", "VQ").difference.value == 0.0
    assert shift(result, "format", "EA").difference.value == 0.0
    (warning,) = result.warnings
    assert warning.startswith("EA: depends on the order of the images, -1.33")


def test_dependence_on_the_format_is_found(check: Callable[..., CheckResult]) -> None:
    result = check(format_bound, checks=("order", "format"))
    assert shift(result, "format", "VQ").difference.value == -1.0
    assert shift(result, "order", "VQ").difference.value == 0.0
    (warning,) = result.warnings
    assert warning.startswith("VQ: depends on the format of the images, -1.00")


def test_of_a_jpeg_edit_the_png_is_the_other_format(
    make_data: MakeData, predict: Predict, tmp_path: Path
) -> None:
    from PIL import Image

    data = make_data(2)
    given = {}
    for sample in data.samples:
        path = tmp_path / f"{sample.id}.jpg"
        Image.open(str(sample.reference)).save(path, quality=90)
        given[sample.id] = path.read_bytes()
    plan = medebench_plan(
        data, edits_of_run(predict(given), data), tmp_path / "i", CheckOptions(checks=("format",))
    )
    with JudgeServer(SeeingJudge(format_bound)) as server:
        options = CheckOptions(checks=("format",))
        result = check_judge(plan, settings_at(server, tmp_path), tmp_path / "o", options=options)
        assert server.calls == 4, "the JPEG as scored, and its PNG"
    assert shift(result, "format", "VQ").difference.value == -1.0


def test_refusals_are_counted_and_no_number(check: Callable[..., CheckResult]) -> None:
    result = check(squeamish)
    (counted,) = result.findings.replies
    assert counted.n == 12 * 8
    assert counted.statuses == {"answer": 8 * 8, "refusal": 4 * 8}
    assert counted.asked_twice == 4 * 8
    assert retest(result).n == 8
    assert by_text(result)["reference"].passed.n == 8
    assert any("the judge refuses in 33.3 % of 96 verdicts" in it for it in result.warnings)


def test_replies_that_cannot_be_read_are_counted(check: Callable[..., CheckResult]) -> None:
    result = check(
        lambda seen: "Very nice." if seen.edited_is == "blank" else honest(seen),
        checks=("sanity",),
    )
    (counted,) = result.findings.replies
    assert counted.statuses == {"answer": 36, "unparsed": 12}
    blank = by_text(result)["blank"]
    assert (blank.passed.value, blank.passed.n) == (None, 0)
    assert blank.passed.reason
    assert any("gives replies that cannot be read in 25.0 %" in it for it in result.warnings)
    assert any("a blank picture as edited image: not known" in it for it in result.warnings)


def test_a_second_judge_is_compared_on_the_work_as_scored(
    check: Callable[..., CheckResult],
) -> None:
    result = check(honest, second=harsh, checks=())
    ea = column(result.findings.second, "EA")
    assert ea.n == 12
    assert ea.equal.value == pytest.approx(1 / 3)
    assert ea.mean_difference.value == pytest.approx(-2 / 3)
    # 10, 10, 0 against 9, 9, 0: 1 - (2/3) / (200/9 + 18 + 4/9)
    assert ea.weighted_kappa.value == pytest.approx(1 - (2 / 3) / (200 / 9 + 18 + 4 / 9))
    assert ea.alpha.value is not None
    assert result.n_calls == 24
    assert any(line.startswith("agrees with other: EA 33 %") for line in result.lines)
    assert any("EA: other gives -0.67" in it for it in result.warnings)
    assert column(result.findings.second, "VQ").weighted_kappa.value == 1.0


def test_the_first_judge_once_more_is_no_second_judge(make_data: MakeData, tmp_path: Path) -> None:
    plan, options = plan_of(make_data(1), tmp_path)
    settings = settings_at("http://127.0.0.1:9/v1", tmp_path)
    with pytest.raises(ValueError, match="another judge"):
        check_judge(plan, settings, tmp_path, second=settings, options=options)
    with pytest.raises(ValueError, match="another judge"):
        estimated_check(plan, settings, settings)


def test_a_second_check_asks_nothing_and_finds_the_same(
    make_data: MakeData, tmp_path: Path
) -> None:
    plan, options = plan_of(make_data(6), tmp_path)
    with JudgeServer(SeeingJudge(wavering)) as server:
        settings = settings_at(server, tmp_path)
        first = check_judge(plan, settings, tmp_path / "a", options=options)
        calls = server.calls
        second = check_judge(plan, settings, tmp_path / "b", options=options)
        assert server.calls == calls
    assert (second.findings, second.n_calls) == (first.findings, 0)
    assert "6 of the replies that others are compared with" in second.files.page.read_text()


def test_a_check_that_stopped_half_way_goes_on_and_repeats_no_call(
    make_data: MakeData, tmp_path: Path
) -> None:
    plan, options = plan_of(make_data(6), tmp_path)
    judge = SeeingJudge(honest)
    exhausted = Answer(429, json={"error": {"code": "insufficient_quota"}}, times=None)

    def until_20(request: Request) -> Answer:
        return judge(request) if len(judge.samples) < 20 else exhausted

    with JudgeServer(until_20) as server:
        settings = settings_at(server, tmp_path, nproc=1)
        stopped = check_judge(plan, settings, tmp_path / "out", options=options)
    assert stopped.stopped is not None
    assert stopped.stopped.kind == "quota"
    assert json.loads(stopped.files.result.read_text())["complete"] is False
    assert "## Not complete" in stopped.files.page.read_text()
    assert len(judge.samples) == 20
    with JudgeServer(judge) as server:
        settings = settings_at(server, tmp_path, nproc=1)
        whole = check_judge(plan, settings, tmp_path / "out", options=options)
        assert server.calls == 2 * CALLS_OF_THREE - 20
    assert whole.stopped is None
    assert retest(whole).n == 6


def test_a_judge_that_answers_nothing_is_an_error_and_no_page(
    make_data: MakeData, tmp_path: Path
) -> None:
    plan, options = plan_of(make_data(2), tmp_path)
    settings = settings_at("http://127.0.0.1:9/v1", tmp_path)
    with pytest.raises(JudgeStopped):
        check_judge(plan, settings, tmp_path / "out", options=options)
    assert not (tmp_path / "out" / "judge_check.md").exists()


def test_the_ceiling_on_cost_holds_for_both_judges(make_data: MakeData, tmp_path: Path) -> None:
    plan, options = plan_of(make_data(3), tmp_path, checks=("retest",))
    price = {"price": (10.0, 10.0)}
    real = (100 + 10) * 10 / 1e6  # tokens that the server counts, in US dollars
    with JudgeServer(SeeingJudge(honest)) as server:
        free = settings_at(server, tmp_path, max_cost=1.0, nproc=1, **price)
        other = settings_at(server, tmp_path, model="other", nproc=1, **price)
        estimate = estimated_check(plan, free, other)
        assert [it.n_calls for it in estimate.values()] == [6, 3]
        dearest = estimate["judge"].cost / 6
        # Enough for the first judge and for two more calls: the third could exceed it.
        ceiling = 7.5 * real + dearest
        tight = settings_at(server, tmp_path, max_cost=ceiling, nproc=1, **price)
        result = check_judge(plan, tight, tmp_path / "out", second=other, options=options)
        n_first = sum(it.json["model"] == "judge" for it in server.requests)
        assert (n_first, server.calls) == (6, 8)
    assert result.stopped is not None
    assert result.stopped.kind == "budget"
    spent = json.loads(result.files.result.read_text())
    assert spent["judge"]["spent"] == pytest.approx(6 * real)
    assert spent["second_judge"]["spent"] == pytest.approx(2 * real)


@pytest.mark.parametrize("opinion", [honest, lambda seen: "Very nice."], ids=["read", "unread"])
def test_the_ceiling_on_calls_is_never_passed(
    make_data: MakeData, tmp_path: Path, opinion: Opinion
) -> None:
    plan, options = plan_of(make_data(6), tmp_path, max_calls=40)
    with JudgeServer(SeeingJudge(opinion)) as server:
        settings = settings_at(server, tmp_path)
        result = check_judge(plan, settings, tmp_path / "out", options=options)
        assert 16 <= server.calls <= 40
        assert result.n_calls == server.calls
    stored = json.loads(result.files.result.read_text())
    assert stored["complete"] is False
    assert "ceiling on calls left no room" in stored["stopped"]
    assert 0 < len(stored["samples"]) < 6


def test_a_ceiling_too_low_for_one_sample_asks_nothing(make_data: MakeData, tmp_path: Path) -> None:
    plan, options = plan_of(make_data(2), tmp_path, max_calls=5)
    with JudgeServer(SeeingJudge(honest)) as server:
        settings = settings_at(server, tmp_path)
        with pytest.raises(ValueError, match="max_calls of at least 16, got 5"):
            check_judge(plan, settings, tmp_path / "out", options=options)
        assert server.calls == 0


def test_an_estimate_asks_nobody(make_data: MakeData, tmp_path: Path) -> None:
    plan, _ = plan_of(make_data(3), tmp_path)
    with JudgeServer(SeeingJudge(honest)) as server:
        settings = settings_at(server, tmp_path, model="gpt-4o-2024-11-20")
        found = estimated_check(plan, settings)
        assert server.calls == 0
    (estimate,) = found.values()
    assert estimate.n_calls == CALLS_OF_THREE
    assert estimate.cost is not None


def test_every_judgement_is_traced_to_its_reply(check: Callable[..., CheckResult]) -> None:
    result = check(honest, n=3)
    lines, _ = read_jsonl(result.files.judgements)
    logged, _ = read_jsonl(result.files.run.judge_replies)
    replies = {(it["key"], it["call_id"], it["repeat"]): it["reply"] for it in logged}
    assert len(lines) == 3 * 8
    for line in lines:
        reply = replies[line["key"], line["call_id"], line["repeat"]]
        assert f"Editing Accuracy: {line['points']['EA']:g}/10" in reply


def test_the_retest_is_the_same_request_under_another_number(
    check: Callable[..., CheckResult],
) -> None:
    result = check(honest, n=2, checks=("retest",))
    lines, _ = read_jsonl(result.files.judgements)
    by_sample: dict[str, list[dict[str, Any]]] = {}
    for line in lines:
        by_sample.setdefault(line["sample"], []).append(line)
    for first, again in by_sample.values():
        assert first["call_id"] == again["call_id"]
        assert (first["repeat"], again["repeat"]) == (0, 1)
        assert not again["cached"]


def test_what_a_run_has_paid_for_is_not_asked_again(
    make_data: MakeData, predict: Predict, tmp_path: Path
) -> None:
    from medbench_vlmeval.evaluation.medebench import evaluate_medebench

    data = make_data(4)
    path = predict({sample.id: picture(500 + sample.id) for sample in data.samples})
    with JudgeServer(SeeingJudge(honest)) as server:
        settings = settings_at(server, tmp_path)
        evaluate_medebench([path], data, judge_settings=settings)
        assert server.calls == 4
        options = CheckOptions(checks=("retest",))
        plan = medebench_plan(data, edits_of_run(path, data), tmp_path / "images", options)
        result = check_judge(plan, settings, tmp_path / "out", options=options)
        assert server.calls == 8
    assert retest(result).n == 4


def test_samples_are_drawn_from_all_organs_and_more_of_them_hold_the_fewer(
    make_data: MakeData, tmp_path: Path
) -> None:
    organs = {i: {"Organ": "Skin" if i > 8 else "Teeth"} for i in range(1, 13)}
    data = make_data(12, rows=organs)

    def chosen(samples: int, seed: int = 0) -> list[str]:
        plan, _ = plan_of(data, tmp_path, samples=samples, seed=seed)
        return [group[0].sample for group in plan.groups]

    few, many = chosen(4), chosen(8)
    assert many[:4] == few
    assert Counter(int(it) > 8 for it in few) == {True: 2, False: 2}
    assert chosen(4) == few
    assert chosen(8, seed=1) != many


def test_samples_that_no_score_fits_are_not_drawn(make_data: MakeData, tmp_path: Path) -> None:
    same = picture(1)
    images = {1: {"reference": same}, 2: {"reference": None}}
    data = make_data(4, images=images, rows={3: {"detailed_prompt": " "}})
    assert data.samples[0].sha256["previous"] == data.samples[0].sha256["reference"]
    plan, _ = plan_of(data, tmp_path)
    assert [group[0].sample for group in plan.groups] == ["4"]
    assert "1 samples can be judged, fewer than the 12 asked for" in plan.notes


def test_a_damaged_image_leaves_its_sample_out(make_data: MakeData, tmp_path: Path) -> None:
    data = make_data(3)
    reference = data.samples[1].previous
    assert reference is not None
    reference.write_bytes(reference.read_bytes()[:200])
    plan, _ = plan_of(data, tmp_path)
    assert sorted(group[0].sample for group in plan.groups) == ["1", "3"]
    assert "cannot be read, left out: 2" in "\n".join(plan.notes)


def test_without_any_edit_there_is_nothing_to_check(make_data: MakeData, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="expected an edit"):
        medebench_plan(make_data(2), {}, tmp_path, CheckOptions())


def test_no_key_and_no_image_reaches_a_file(make_data: MakeData, tmp_path: Path) -> None:
    plan, options = plan_of(make_data(1), tmp_path)
    with JudgeServer(SeeingJudge(honest)) as server:
        settings = settings_at(server, tmp_path, api_key="sk-canary-0123456789")
        result = check_judge(plan, settings, tmp_path / "out", options=options)
    for file in result.files.folder.iterdir():
        if file.is_file():
            content = file.read_bytes()
            assert b"sk-canary" not in content
            assert b"iVBORw0KGgo" not in content, "the start of a PNG in base64"


@pytest.mark.parametrize(
    "wrong",
    [{"samples": 0}, {"checks": ("taste",)}, {"max_calls": 0}],
    ids=["no_samples", "unknown_check", "no_calls"],
)
def test_options_out_of_range_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="expected"):
        CheckOptions(**wrong)


@pytest.mark.parametrize("wrong", [{"kappa": 1.5}, {"high": 0.2}], ids=["above_1", "crossed"])
def test_limits_out_of_range_are_refused(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="expected"):
        Limits(**wrong)


def test_without_the_library_nothing_is_asked(
    make_data: MakeData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan, options = plan_of(make_data(1), tmp_path)
    monkeypatch.setitem(sys.modules, "krippendorff", None)
    with JudgeServer(SeeingJudge(honest)) as server:
        settings = settings_at(server, tmp_path)
        with pytest.raises(ImportError, match=re.escape("medbench-vlmeval[agreement]")):
            check_judge(plan, settings, tmp_path / "out", options=options)
        assert server.calls == 0


def test_a_killed_check_goes_on_without_repeating_a_call(
    make_data: MakeData, tmp_path: Path, lmu: Path
) -> None:
    make_data(3)
    judge = SeeingJudge(honest)
    environ = {**os.environ, "LMUData": str(lmu)}
    with JudgeServer(judge, latency_s=0.1) as server:
        command = [sys.executable, "-m", "medbench_vlmeval.cli", "judge-check"]
        command += ["--data", "MedEBench_test", "--out", str(tmp_path / "out"), "--judge", "judge"]
        command += ["--judge-base-url", server.base_url, "--judge-nproc", "1"]
        process = subprocess.Popen(command, env=environ, stdout=subprocess.DEVNULL, stderr=-3)
        deadline = time.monotonic() + 60
        while server.calls < 8 and time.monotonic() < deadline:
            time.sleep(0.02)
        process.send_signal(signal.SIGKILL)
        process.wait()
        before = len(judge.samples)
        assert 8 <= before < CALLS_OF_THREE
        done = subprocess.run(command, env=environ, check=True, capture_output=True, text=True)
    # With one lane at most one question was open when the process died.
    assert len(judge.samples) - CALLS_OF_THREE <= 1
    assert "repeats itself: EA 100 %" in done.stdout
    assert json.loads((tmp_path / "out" / "judge_check.json").read_text())["complete"] is True


def test_names_of_models_make_no_markup_on_the_page(make_data: MakeData, tmp_path: Path) -> None:
    plan, options = plan_of(make_data(2), tmp_path, checks=("retest",))
    bad = "<img src=x>](http://x.org) | `a`\n# heading"
    with JudgeServer(SeeingJudge(honest)) as server:
        settings = settings_at(server, tmp_path, model=bad)
        result = check_judge(plan, settings, tmp_path / "out", options=options)
    page = result.files.page.read_text(encoding="utf-8")
    assert "<img" not in page
    assert "](http" not in page
    assert len(re.findall("^# ", page, re.MULTILINE)) == 1


def test_one_sample_is_said_to_be_too_few(check: Callable[..., CheckResult]) -> None:
    result = check(honest, n=1, checks=("sanity",))
    assert result.warnings[-3:-1] == (
        "EA: not known whether the judge distinguishes the ground truth and the unchanged input, "
        "no interval from one source image",
        "VQ: not known whether the judge distinguishes the ground truth and a blank picture, "
        "no interval from one source image",
    )
    assert any(line.startswith("not known whether it tells apart: ") for line in result.lines)
    assert result.warnings[-1] == "only 1 sample is behind these numbers, too few to rely on"
    assert any("of 1 sample, mean" in line for line in result.lines)
