"""The page docs/published.md says what is in the ledger."""

from __future__ import annotations

import doctest
import re

from .published_page import PAGE, filled, parts


def test_the_tables_of_the_page_are_those_of_the_ledger() -> None:
    page = PAGE.read_text(encoding="utf-8")
    names = re.findall(r"<!-- (\w+) -->", page)
    assert names == [name for part in parts() for name in (part, "end")]
    assert filled(page) == page, "python -m tests.report.published_page writes them anew"


def test_the_examples_of_the_page() -> None:
    failures, n_examples = doctest.testfile(
        str(PAGE), module_relative=False, optionflags=doctest.NORMALIZE_WHITESPACE
    )
    assert n_examples >= 5
    assert failures == 0
