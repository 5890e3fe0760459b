from __future__ import annotations

import json
from pathlib import Path

import pytest

from medbench_vlmeval.report.differences import run_difference
from medbench_vlmeval.report.runs import Run

from .made_runs import changed, rewritten
from .pages import page_runs
from .test_verify import boxes, choices


def test_two_runs_differ_in_what_they_were_made_with_and_in_samples(tmp_path: Path) -> None:
    a = choices(tmp_path / "a", {1: "B", 2: "A", 3: "B"})
    b = choices(tmp_path / "b", {1: "B", 2: "B", 3: None}, model="Other")
    manifest = json.loads(b.manifest_path.read_text(encoding="utf-8"))
    manifest["data"]["revision"] = "another"
    b.manifest_path.write_text(json.dumps(manifest), encoding="utf-8")
    found = run_difference(a, Run.at(b.manifest_path))
    facts = {fact.name: (fact.a, fact.b) for fact in found.facts}
    assert facts["model"] == ("M", "Other")
    assert facts["data.revision"] == (None, "another")
    assert facts["replies.answer"] == (3, 2)
    moved = {(it.index, it.metric): (it.a, it.b) for it in found.moved}
    assert moved == {
        (2, "accuracy"): (0.0, 1.0),
        (2, "accuracy_strict"): (0.0, 1.0),
        (3, "accuracy"): (1.0, 0.0),
        (3, "accuracy_strict"): (1.0, None),
    }
    lines = found.lines()
    assert "accuracy: moved in 2 samples" in lines
    assert "accuracy_strict: moved in 2 samples" in lines
    assert "  3: 1 / –" in lines


def test_a_run_does_not_differ_from_itself(tmp_path: Path) -> None:
    run = choices(tmp_path, {1: "B", 2: "A", 3: "B"})
    lines = run_difference(run, run).lines()
    assert "  the same" in lines
    assert "scores: all the same" in lines


def test_prompts_images_and_replies_that_are_not_the_same_are_named_by_sample(
    tmp_path: Path,
) -> None:
    a = page_runs.boxes(tmp_path / "a")
    b = page_runs.boxes(tmp_path / "b")
    path = b.beside("_samples.jsonl")
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    lines[0]["prompt"] = [{"text": "In other words."}]
    lines[1]["reply"] = "another"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    found = run_difference(a, b)
    assert found.shown == {"prompts": (lines[0]["index"],), "replies": (lines[1]["index"],)}
    told = found.lines()
    assert told[told.index("prompts: not the same in 1 sample") + 1] == f"  {lines[0]['index']}"
    path.unlink()
    assert any("replies are not compared" in it for it in run_difference(a, b).lines())


def test_runs_without_a_sample_in_common_are_not_called_the_same(tmp_path: Path) -> None:
    a, b = (choices(tmp_path / name, {1: "A"}) for name in "ab")
    b = rewritten(b, "_scores.jsonl", lambda text: text.replace('"index": ', '"index": 10'))
    lines = run_difference(a, b).lines()
    assert lines[-2:] == ["samples in a only: 4, in b only: 4", "scores: no sample is in both"]


def test_runs_of_other_data_sets_are_said_to_be_that(tmp_path: Path) -> None:
    lines = run_difference(choices(tmp_path / "a", {1: "A"}), boxes(tmp_path / "b")).lines()
    assert any("different data sets" in it for it in lines)


def test_other_data_under_one_name_is_said(tmp_path: Path) -> None:
    a, b = (choices(tmp_path / name, {1: "A"}) for name in "ab")
    changed(b, data={**b.manifest["data"], "fingerprint": "0" * 64})
    lines = run_difference(a, Run.at(b.manifest_path)).lines()
    assert any("the data is not the same" in it for it in lines)


@pytest.mark.parametrize("text", ["\x1b[31mred", "a\u202eb"], ids=["escape", "turned"])
def test_what_a_manifest_says_cannot_act_on_the_terminal(tmp_path: Path, text: str) -> None:
    a, b = (choices(tmp_path / name, {1: "A"}) for name in "ab")
    changed(b, judge_note=text)
    told = "".join(run_difference(a, Run.at(b.manifest_path)).lines())
    assert told.isprintable()
    assert "<U+" in told
