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

from medbench_vlmeval.official.medq import score
from tests.shared import shared_path


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
