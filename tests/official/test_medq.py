from __future__ import annotations

import ast
import importlib.util
import itertools
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.official.medq import choice, deg_choice, score
from tests.shared import shared_cases, shared_path


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("Score: 2", 2.0),
        ("Score:1.5", 1.5),
        ("Score：0", 0.0),
        ("Score: 10", 1.0),
        ("Score: 2.9", 2.9),
        ("Score: 0 for none. Score: 2", 0.0),
        ("score: 1", None),
        ("Score: **1**", None),
        ("Score: -1", None),
        ("2", 2.0),
        (" 1.5 ", 1.5),
        ("3", None),
        ("2.", None),
        ("true", 1.0),
        ("NaN", None),
        ("[2]", None),
        ('{"score": 1}', 1.0),
        ('{"score": 3, "Score": 2}', 2.0),
        ('{"score": null, "Score": 2}', None),
        ('{"score": [1]}', None),
        ('{"Score": "1"}', 1.0),
        ('{"score": "high"}', None),
        ("{'score': 1}", None),
        ("", None),
        (None, None),
        (2, 2.0),
        ({"Score": 2}, None),
    ],
)
def test_published_rule(reply: object, expected: float | None) -> None:
    assert score(reply) == expected


def test_oversized_numbers_are_no_score() -> None:
    assert score('{"score": 1' + "0" * 400 + "}") is None
    assert score("[" * 100_000) is None


def test_observed_values_of_the_upstream_class_are_reproduced() -> None:
    records = json.loads(shared_path("data/medq_faults.json").read_text(encoding="utf-8"))["faults"]
    [record] = [record for record in records if record["id"] == "J6"]
    observed = {text: score(ast.literal_eval(text)) for text in record["input"]}
    assert observed == record["observed"]


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        ("B", "B"),
        (" b\n", "B"),
        ("c.", "C"),
        ("B. Moderate", "B"),
        ("B) Moderate", "B"),
        ("B -", "B"),
        ("B: Usable", "B"),
        ("The answer is C", "C"),
        ("A mild blur is visible, so the answer is C", "A"),
        ("Option A is wrong; the answer is B.", "A"),
        ("<think>There is a ghost.</think>B", "A"),
        ("Image B-mode is fine", "B"),
        ("I'd say vitamin D", "D"),
        ("\\boxed{C}", "C"),
        ("E", "E"),
        ("e", "e"),
        ("E. Ringing", "E. Ringing"),
        (" Usable ", "Usable"),
        ("Ｂ", "Ｂ"),
        ("BAD", "BAD"),
        ("ıB", "ıB"),
        ("ßB", "ßB"),
        ("éB", "B"),
        ("2B", "B"),
        ("", ""),
        (None, ""),
        (float("nan"), ""),
        (2, "2"),
    ],
)
def test_published_letter(reply: object, expected: str) -> None:
    assert choice(reply) == expected


def test_letter_of_the_robustness_benchmark_goes_to_e() -> None:
    assert deg_choice("E. Ringing") == "E"
    assert deg_choice("e") == "E"
    assert deg_choice("The answer is F, I think, or E") == "E"
    assert deg_choice("F. None") == "F. None"
    assert deg_choice(None) == ""


@pytest.mark.parametrize("case", shared_cases("choices.jsonl"))
def test_published_letter_of_the_case(case: dict[str, Any]) -> None:
    found = choice(case["reply"])
    letter = found if re.fullmatch("[A-Za-z]", found) else None
    assert letter == case["official"]


def test_published_letters_of_the_recorded_faults_are_reproduced() -> None:
    text = shared_path("data/medq_faults.json").read_text(encoding="utf-8")
    rules = {"Q1": choice, "Q1d": deg_choice, "Q4c": choice}
    n_compared = 0
    for record in json.loads(text)["faults"]:
        if record["id"] in rules:
            reply = record["input"].strip("'").replace("\\\\", "\\").replace("\\n", "\n")
            assert rules[record["id"]](reply) == record["observed"], record
            n_compared += 1
    assert n_compared >= 18


def upstream_rule(path: Path) -> Callable[[Any], float | None]:
    """The rule of an installed VLMEvalKit, taken out of its file without importing the host."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    [function] = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef) and node.name == "parse_score_from_response"
    ]
    function.decorator_list = []
    names: dict[str, Any] = {"re": re}
    module = ast.Module(body=[function], type_ignores=[])
    exec(compile(module, str(path), "exec"), names)
    return names["parse_score_from_response"]


@pytest.mark.host
def test_rule_agrees_with_the_installed_host_on_many_replies() -> None:
    found = importlib.util.find_spec("vlmeval")
    if found is None or found.origin is None:
        pytest.skip("VLMEvalKit is not installed")
    rule = upstream_rule(Path(found.origin).parent / "dataset" / "medqbench_caption.py")
    labels = ["", "Score", "Score:", "Score : ", "score: ", "**Score**:", "Score：", '{"score": ']
    values = [
        "",
        "0",
        "1",
        "2",
        "10",
        "2.5",
        " 2",
        "2.",
        "1.5x",
        "-1",
        '"2"',
        "true",
        "null",
        "1e0",
    ]
    ends = ["", "}", "/2", " Score: 0", "\n", ', "Score": 1}']
    replies = ["".join(parts) for parts in itertools.product(labels, values, ends)]
    assert len(replies) > 600
    assert [score(reply) for reply in replies] == [rule(reply) for reply in replies]
