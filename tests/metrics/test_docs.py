from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from medbench_vlmeval import metrics

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def test_every_function_that_the_page_lists_is_there() -> None:
    section = PAGE.read_text(encoding="utf-8").partition("## What else")[2].partition("\n## ")[0]
    cells = re.findall(r"^\|[^|]*\|([^|]*)\|", section, re.MULTILINE)
    listed = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}
    assert len(listed) > 10
    assert listed <= set(metrics.__all__)
    links = re.findall(r"\]\((\w[\w-]*\.md)", section)
    assert links
    assert all(PAGE.with_name(name).is_file() for name in links)


def test_the_opening_example_prints_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL).groups()
    output = io.StringIO()

    with contextlib.redirect_stdout(output):
        exec(compile(code, str(PAGE), "exec"), {})

    assert output.getvalue() == printed
