"""The page docs/human-check.md says what the commands do."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

import pytest

from medbench_vlmeval.cli.human import human_export, human_import
from medbench_vlmeval.human.rubrics import RUBRIC_NAMED

from .made import MODELS, edit_run, exported, varied

PAGE = Path(__file__).resolve().parents[2] / "docs" / "human-check.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_examples_print_what_the_page_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 5
    assert outcome.failed == 0


def test_the_options_are_those_of_the_commands() -> None:
    section = TEXT.partition("## Options")[2]
    listed = {
        tuple(it) for it in re.findall(r"^\| `(--[\w-]+)` \| (.*?) \|", section, re.MULTILINE)
    }
    options = {
        it.opts[-1]: it.default
        for command in (human_export, human_import)
        for it in command.params
        if it.opts[0].startswith("--")
    }
    assert {name for name, _ in listed} == set(options)
    shown = dict(listed)
    assert shown["--samples"] == str(options["--samples"])
    assert (shown["--rater"],) == options["--rater"]
    assert shown["--seed"] == str(options["--seed"])


@pytest.mark.parametrize("rubric", RUBRIC_NAMED.values(), ids=lambda it: it.name)
def test_the_dimensions_are_those_that_are_rated(rubric: object) -> None:
    section = TEXT.partition("## Scales")[2].partition("## What is taken")[0]
    assert all(f"`{name}`" in section for name in rubric.names)  # type: ignore[attr-defined]


def test_the_files_are_those_that_are_handed_out(tmp_path: Path) -> None:
    exported(tmp_path / "out", [edit_run(tmp_path, MODELS[0], varied(1))])
    section = TEXT.partition("## What raters get")[2]
    listed = {name.rstrip("/") for name in re.findall(r"^\| `([\w./]+)` \|", section, re.MULTILINE)}
    folder = tmp_path / "out" / "for_raters" / "rater_A"
    assert {path.name for path in folder.iterdir()} <= listed
