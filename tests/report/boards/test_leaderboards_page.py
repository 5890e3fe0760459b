"""The page docs/leaderboards.md shows what the command prints about the runs made here.

``python -m tests.report.boards.test_leaderboards_page FOLDER`` makes them, to try the command on.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from medbench_vlmeval.cli import main
from medbench_vlmeval.cli.boards import leaderboard as command
from medbench_vlmeval.report.boards import reproduction

from ..made_runs import choices, linked, write_predictions

PAGE = Path(__file__).resolve().parents[3] / "docs" / "leaderboards.md"
TYPES = ["Yes-or-No"] * 558 + ["What"] * 258 + ["How"] * 489
"""As many questions of every type as the benchmark has."""
SKILLS = {"InternVL3-8B": 0.60, "org/our model": 0.64, "Baseline-FirstOption": 0.20}


def make_runs(folder: Path) -> Path:
    """Drawn answers of three models, an unfinished run, and predictions nobody evaluated."""
    generator = np.random.default_rng(0)
    hardness = generator.random(len(TYPES))
    for model, skill in SKILLS.items():
        hits = [bool(it) for it in hardness + generator.normal(0, 0.25, len(TYPES)) < skill]
        run = choices(folder, model, hits, per_image=3, types=TYPES)
        if "/" not in model:
            linked(run)
    choices(folder, "limited", [True] * 1305, types=TYPES, expected=[*range(1, 51)])
    (folder / "late").mkdir()
    write_predictions(folder / "late" / "late_MedQ_MCQ_test.jsonl", {1: "B"})
    return folder


def shown() -> str:
    found = re.search(
        r"\$ medbench leaderboard outputs --format md,csv\n(.*?)```",
        PAGE.read_text(encoding="utf-8"),
        re.DOTALL,
    )
    assert found is not None
    return found[1]


def printed(text: str) -> list[str]:
    return [line.rstrip() for line in text.strip().splitlines()]


def test_the_page_shows_what_is_printed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_runs(tmp_path / "outputs")
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(main, ["leaderboard", "outputs", "--format", "md,csv"])
    assert result.exit_code == 0
    assert printed(result.output) == printed(shown())


def test_every_option_and_verdict_is_explained() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for parameter in command.params:
        assert all(f"`{name}" in page for name in parameter.opts if name.startswith("--"))
    for verdict in reproduction.Verdict.__args__:  # type: ignore[attr-defined]
        assert f"`{verdict}`" in page


def test_examples_print_what_the_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(PAGE.parents[1])
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted == 5
    assert outcome.failed == 0


if __name__ == "__main__":
    make_runs(Path(sys.argv[1]))
