from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "metrics.md"


def test_the_opening_example_prints_what_the_page_says() -> None:
    text = PAGE.read_text(encoding="utf-8")
    code, printed = re.search(r"```python\n(.*?)```\n\n```\n(.*?)```", text, re.DOTALL).groups()
    output = io.StringIO()

    with contextlib.redirect_stdout(output):
        exec(compile(code, str(PAGE), "exec"), {})

    assert output.getvalue() == printed
