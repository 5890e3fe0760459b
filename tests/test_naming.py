from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from medbench_vlmeval.naming import file_stem, parse_stem
from tests.shared import shared_cases

WINDOWS_FORBIDDEN = set('<>:"/\\|?*') | {chr(code) for code in range(32)}
WINDOWS_RESERVED = {"con", "prn", "aux", "nul"} | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(10)
}


def is_safe(name: str) -> bool:
    return (
        not set(name) & WINDOWS_FORBIDDEN
        and name.isascii()
        and name.split(".")[0].casefold() not in WINDOWS_RESERVED
        and not name.startswith(".")
        and not name.endswith((".", " "))
    )


def name_cases(identifier: str) -> list[Any]:
    every = shared_cases("predictions.jsonl")
    return [case for case in every if case.id in (identifier, "absent")]


@pytest.mark.parametrize("case", name_cases("B61a"))
def test_unsafe_model_id_gives_one_safe_reversible_name(
    case: dict[str, Any], tmp_path: Path
) -> None:
    stem = file_stem(case["model"], case["dataset"])
    assert is_safe(f"{stem}.xlsx")
    assert parse_stem(stem) == (case["model"], case["dataset"])
    (tmp_path / f"{stem}.xlsx").write_bytes(b"")
    directories = [entry for entry in tmp_path.iterdir() if entry.is_dir()]
    assert len(directories) == case["required"]["directories_created"]


@pytest.mark.parametrize("case", name_cases("B61b"))
def test_ids_that_differ_in_an_unsafe_character_do_not_share_a_name(case: dict[str, Any]) -> None:
    names = {file_stem(model, case["dataset"]) for model in case["models"]}
    assert len(names) == case["required"]["distinct_names"]


@pytest.mark.parametrize("case", name_cases("B61c"))
def test_id_that_holds_a_file_ending_keeps_the_files_apart(case: dict[str, Any]) -> None:
    predictions = Path(f"{file_stem(case['model'], case['dataset'])}.xlsx")
    scores = predictions.with_name(f"{predictions.stem}_score.json")
    assert scores != predictions
    assert parse_stem(predictions.stem) == (case["model"], case["dataset"])


@pytest.mark.parametrize(
    "model", ["con", "CON.v1", "LPT1", "..", ".hidden", "a.", "a ", "模型", "a@b", "a%40b", "~x"]
)
def test_awkward_names_are_safe_and_reversible(model: str) -> None:
    for pair in ((model, "D"), ("M", model)):
        stem = file_stem(*pair)
        assert is_safe(stem)
        assert parse_stem(stem) == pair


# A character takes up to twelve once encoded, and a stem holds two names in 200 characters.
NAME = st.text(min_size=1, max_size=8)


@given(NAME, NAME)
def test_every_pair_comes_back(model: str, dataset: str) -> None:
    stem = file_stem(model, dataset)
    assert is_safe(stem)
    assert parse_stem(stem) == (model, dataset)


@pytest.mark.parametrize(("model", "dataset"), [("", "D"), ("M", ""), ("m" * 250, "D")])
def test_impossible_names_are_refused(model: str, dataset: str) -> None:
    with pytest.raises(ValueError, match="expected"):
        file_stem(model, dataset)


@pytest.mark.parametrize("stem", ["", "model", "@D", "M@", "a@b@c"])
def test_other_names_are_not_parsed(stem: str) -> None:
    with pytest.raises(ValueError, match="model@dataset"):
        parse_stem(stem)
