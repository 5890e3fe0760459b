from __future__ import annotations

import html
import re
from typing import Any

from medbench_vlmeval.report.pages.plain_page import plain_page

EMPTY: dict[str, Any] = {"title": "Empty", "text": "", "points": (), "header": (), "rows": ()}
TABLE = {**EMPTY, "title": "Numbers", "header": ("name", "n"), "rows": (("EA", "12"), ("VQ", "–"))}


def test_sections_become_lists_and_tables() -> None:
    page = plain_page("A page", [{**EMPTY, "text": "Some words.", "points": ("one", "two")}, TABLE])
    assert page.count("<h1>A page</h1>") == 1
    assert re.findall(r"<li>(.*?)</li>", page) == ["one", "two"]
    assert re.findall(r"<t[hd](?: [^>]*)?>(.*?)</t[hd]>", page) == [
        "name",
        "n",
        "EA",
        "12",
        "VQ",
        "–",
    ]


def test_what_is_empty_is_left_out() -> None:
    page = plain_page("A page", [EMPTY])
    assert "<h2>Empty</h2>" in page
    assert "<ul>" not in page
    assert "<table" not in page


def test_every_text_is_escaped() -> None:
    bad = "<script>alert(1)</script>"
    section = {"title": bad, "text": bad, "points": (bad,), "header": (bad,), "rows": ((bad, bad),)}
    page = plain_page(bad, [section])
    assert bad not in page
    assert page.count(html.escape(bad)) == 9
