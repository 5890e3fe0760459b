"""The page docs/statistics.md says what the code does."""

from __future__ import annotations

import doctest
import re
from pathlib import Path

from medbench_vlmeval import stats

PAGE = Path(__file__).resolve().parents[2] / "docs" / "statistics.md"


def test_examples_print_what_the_page_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 15
    assert outcome.failed == 0


def test_every_function_is_explained() -> None:
    named = set(re.findall(r"`(\w+)(?:\(|`)", PAGE.read_text(encoding="utf-8")))
    functions = {
        name for name in stats.__all__ if callable(getattr(stats, name)) and name.islower()
    }
    assert functions - {"summarise"} <= named
