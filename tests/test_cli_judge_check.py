from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from medbench_vlmeval.cli import main
from medbench_vlmeval.data import load_medebench, load_medq
from medbench_vlmeval.editing import EditStore, edited_image_line
from medbench_vlmeval.evaluation.judge_check_plan import CHECKS, Limits
from medbench_vlmeval.images import encode_png, read_rgb

from .evaluation.seeing_judges import SeeingJudge, harsh, honest, order_bound
from .judging.server import Answer, JudgeServer

PAGE = Path(__file__).resolve().parents[1] / "docs" / "judge-check.md"
UNREACHED = "http://127.0.0.1:9/v1"


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("LMUData", str(tmp_path / "LMUData"))
    monkeypatch.chdir(tmp_path)
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "MEDBENCH_JUDGE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def judge_check(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["judge-check", *arguments])


def test_the_page_opens_with_what_the_command_prints() -> None:
    text = PAGE.read_text(encoding="utf-8")
    command, printed = re.search(r"```\n(medbench .*?)\n```\n\n```\n(.*?)```", text, re.S).groups()
    words = command.replace("\\\n", " ").split()[2:]
    with JudgeServer(SeeingJudge(order_bound, second=harsh)) as server:
        given = [server.base_url if word.startswith("http") else word for word in words]
        result = judge_check(*given)
    assert result.exit_code == 0, result.output
    assert result.stdout == printed


def test_an_estimate_names_calls_and_cost_of_each_judge() -> None:
    result = judge_check(
        "--estimate", "--judge", "gpt-4o-2024-11-20", "--judge-base-url", UNREACHED,
        "--second-judge", "other", "--samples", "3", "--check", "retest",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert first.startswith("gpt-4o-2024-11-20: 6 calls")
    assert "US dollars" in first
    assert second.startswith("other (second judge): 3 calls")


def test_without_a_judge_the_remedy_is_named() -> None:
    result = judge_check()
    assert result.exit_code == 2
    assert "--judge-base-url" in result.output


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (("--second-judge-args", "[1]", "--second-judge", "b"), "JSON object"),
        (("--second-judge-key-variable", "NO_SUCH", "--second-judge", "b"), "NO_SUCH"),
        (("--second-judge", "a"), "another judge"),
        (("--samples", "0"), "at least 1 sample"),
        (("--limit-kappa", "3"), "share from 0 to 1"),
        (("--data", "MedQ_MCQ_sample"), "table of descriptions"),
    ],
    ids=["args", "key", "same_judge", "no_samples", "limit", "choices"],
)
def test_a_mistaken_option_is_one_line(arguments: tuple[str, ...], named: str) -> None:
    result = judge_check("--judge", "a", "--judge-base-url", UNREACHED, *arguments)
    assert result.exit_code in (1, 2)
    assert named in result.output
    assert "Traceback" not in result.output


def test_the_key_of_the_judge_goes_to_no_other_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-first-0123456789")
    monkeypatch.setenv("SECOND_KEY", "sk-second-0123456789")
    few = ("--samples", "1", "--check", "retest", "--judge", "a", "--judge-retry", "0")
    with JudgeServer(SeeingJudge(honest)) as one, JudgeServer(SeeingJudge(honest)) as other:
        addresses = ("--judge-base-url", one.base_url, "--second-judge-base-url", other.base_url)
        judge_check(*few, *addresses, "--second-judge", "b")
        named = ("--second-judge-key-variable", "SECOND_KEY")
        judge_check(*few, *addresses, "--second-judge", "c", *named)
        keys = [request.headers["authorization"] for request in other.requests]
        assert {request.headers["authorization"] for request in one.requests} == {
            "Bearer sk-first-0123456789"
        }
    assert len(keys) == 2
    assert "sk-first" not in keys[0]
    assert keys[1] == "Bearer sk-second-0123456789"


def test_a_budget_that_is_spent_ends_in_an_error_after_what_was_found() -> None:
    with JudgeServer(SeeingJudge(honest)) as server:
        result = judge_check(
            "--judge", "a", "--judge-base-url", server.base_url, "--judge-nproc", "1",
            "--judge-args", '{"medbench_judge_price": [10, 10]}', "--max-cost", "0.02",
            "--samples", "3",
        )  # fmt: skip
        assert 0 < server.calls < 15
    assert result.exit_code == 1
    assert "repeats itself:" in result.stdout
    assert "cost ceiling" in result.output
    stored = json.loads(Path("outputs/judge_check/judge_check.json").read_text())
    assert stored["complete"] is False


def test_the_page_is_written_as_html_where_that_is_asked_for() -> None:
    few = ("--samples", "2", "--check", "retest", "--judge", "a")
    with JudgeServer(SeeingJudge(honest)) as server:
        result = judge_check(*few, "--judge-base-url", server.base_url, "--html")
    assert result.exit_code == 0, result.output
    page = Path("outputs/judge_check/judge_check.html").read_text(encoding="utf-8")
    assert "<h1>Is a a reliable judge on MedEBench?</h1>" in page
    assert "repeats itself: EA 100 %" in page


def test_without_jinja_no_judge_is_asked_for_a_page(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    few = ("--samples", "1", "--check", "retest", "--judge", "a", "--html")
    with JudgeServer(SeeingJudge(honest)) as server:
        result = judge_check(*few, "--judge-base-url", server.base_url)
        assert server.calls == 0
    assert result.exit_code == 1
    assert "medbench-vlmeval[report]" in result.output


def test_descriptions_are_checked_with_the_published_parameters() -> None:
    with JudgeServer(lambda _: Answer.says("Score: 2")) as server:
        result = judge_check(
            "--data", "MedQ_Caption_sample", "--judge", "a", "--judge-base-url", server.base_url,
            "--judge-args", '{"medbench_judge_wording": "own"}', "--samples", "2",
            "--check", "sanity",
        )  # fmt: skip
        sent = server.requests[0].json
    assert result.exit_code == 0, result.output
    assert (sent["temperature"], sent["max_tokens"]) == (0, 2048)
    assert "warning: completeness: the judge gives 2 to everything" in result.stdout


def edits_of_a_model(folder: Path) -> Path:
    """Predictions of a model that inverts its input, with a refusal among them."""
    store, rows = EditStore.default(), []
    for number, sample in enumerate(load_medebench("MedEBench_sample").samples):
        assert sample.previous is not None
        before = read_rgb(sample.previous)
        stored = store.add(encode_png(255 - before.pixels))
        edited = edited_image_line(stored, size_wh=before.size_wh)
        reply = edited if number else "I cannot edit this."
        rows.append({"index": str(sample.id), "prediction": reply})
    path = folder / "M_MedEBench_sample.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return path


def test_the_edits_of_a_run_are_judged_where_its_predictions_are_given(folder: Path) -> None:
    path = edits_of_a_model(folder)
    before = path.read_bytes()
    few = ("--predictions", str(path), "--samples", "4", "--check", "retest", "--judge", "a")
    with JudgeServer(SeeingJudge(honest)) as server:
        result = judge_check(*few, "--judge-base-url", server.base_url)
        calls = server.calls
        again = judge_check(*few, "--judge-base-url", server.base_url)
        assert server.calls == calls, "all is in the cache"
    assert (result.exit_code, again.exit_code) == (0, 0), result.output
    assert "no run was given" not in result.stdout
    assert "0 questions sent" in again.stdout
    lines = Path("outputs/judge_check/judge_check.jsonl").read_text(encoding="utf-8").splitlines()
    assert {json.loads(line)["shown"] for line in lines} == {"the model's edit"}
    assert len(lines) == calls == 8
    assert path.read_bytes() == before


def test_descriptions_of_a_run_are_judged_where_its_predictions_are_given(folder: Path) -> None:
    data = load_medq("MedQ_Caption_sample")
    path = folder / "M_MedQ_Caption_sample.jsonl"
    rows = [{"index": str(it.index), "prediction": f"Text {it.index}."} for it in data.samples]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    with JudgeServer(lambda _: Answer.says("Score: 1")) as server:
        result = judge_check(
            "--data", "MedQ_Caption_sample", "--predictions", str(path), "--samples", "1",
            "--judge", "a", "--judge-base-url", server.base_url, "--check", "retest",
            "--judge-args", '{"medbench_judge_wording": "own"}',
        )  # fmt: skip
        asked = [request.text for request in server.requests]
    assert result.exit_code == 0, result.output
    assert all(any(row["prediction"] in text for row in rows) for text in asked)


def test_predictions_that_cannot_be_judged_are_named(folder: Path) -> None:
    path = folder / "M_MedEBench_sample.jsonl"
    for content, named in {
        "": "expected edited images of MedEBench_sample, got none",
        '{"index": "1", "prediction": "I cannot."}\n': "expected edited images",
        '{"index": "1", "prediction": "x", "judge": "y"}\n': "holds scores already",
    }.items():
        path.write_text(content, encoding="utf-8")
        few = ("--predictions", str(path), "--judge", "a", "--judge-base-url", UNREACHED)
        result = judge_check(*few)
        assert result.exit_code == 1
        assert f"Error: {path}: " in result.output
        assert named in result.output


def test_without_the_host_our_wording_is_offered(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [it for it in sys.modules if it.partition(".")[0] == "vlmeval"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(sys, "meta_path", [_NoHost(), *sys.meta_path])
    result = judge_check(
        "--data", "MedQ_Caption_sample", "--judge", "a", "--judge-base-url", UNREACHED
    )  # fmt: skip
    assert result.exit_code == 2
    assert "medbench_judge_wording" in result.output


class _NoHost:
    """An import system without VLMEvalKit."""

    def find_spec(self, name: str, path: object = None, target: object = None) -> None:
        if name.partition(".")[0] == "vlmeval":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def test_checks_and_limits_of_the_command_are_those_of_the_library() -> None:
    (option,) = [it for it in main.commands["judge-check"].params if it.name == "checks"]
    assert tuple(option.type.choices) == CHECKS
    given = {it.name: it.default for it in main.commands["judge-check"].params}
    assert {name: given[f"limit_{name}"] for name in vars(Limits())} == vars(Limits())
