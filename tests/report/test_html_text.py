from __future__ import annotations

import base64
import hashlib
import html
import json
import re
import sys
from typing import Any

import pytest

from medbench_vlmeval.report.html_text import (
    asset,
    content_policy,
    needed_for_reports,
    rendered,
    script_json,
    script_text,
    shown_number,
)

HOSTILE = [
    "</script><script>alert(1)</script>",
    "<!-- <script>",
    "a & b \u2028 \u2029",
    "<img src=x onerror=alert(1)>",
    "\u202ertl\u202c \x1b[31mred",
    "quotes \" ' ` and \\ back",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_any_text_survives_as_json_and_cannot_leave_its_script(text: str) -> None:
    written = script_json({text: [text]})
    assert not set("<>&\u2028\u2029") & set(written)
    assert json.loads(written) == {text: [text]}


def test_a_lone_surrogate_can_be_written_as_utf8() -> None:
    written = script_json("a\ud800b")
    assert written.encode("utf-8") == b'"a\\ud800b"'


def test_numbers_that_are_no_json_become_null() -> None:
    assert script_json([float("nan"), 0.25]) == "[null,0.25]"


def test_a_script_cannot_end_its_element_early() -> None:
    made = script_text('x = "</script>"; y = /<!--/; z = "<script>"')
    assert not re.search(r"<!--|</?script", made)


def test_the_policy_names_every_script_of_the_page_and_nothing_else() -> None:
    page = rendered("base.html", scripts=["let a = 1;", "let b = 2;"], data={"facts": {"a": 1}})
    policy = html.unescape(re.search(r'Policy" content="([^"]*)"', page)[1])
    bodies = re.findall(r'<script(?: type="module")?>(.*?)</script>', page, re.DOTALL)
    hashes = {
        f"'sha256-{base64.b64encode(hashlib.sha256(it.encode()).digest()).decode()}'"
        for it in bodies
    }
    directives = dict(it.split(" ", 1) for it in policy.split("; "))
    assert len(bodies) == 3
    assert set(directives["script-src"].split()) == hashes
    assert directives["default-src"] == directives["connect-src"] == "'none'"
    assert "http" not in policy


def test_a_page_without_scripts_allows_none() -> None:
    assert "script-src 'none'" in content_policy([])


def test_values_of_a_template_are_escaped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "medbench_vlmeval.report.html_text.asset",
        lambda name: "<p>{{ text }}</p>" if name == "t.html" else asset(name),
    )
    assert rendered("t.html", text="<b>&") == "<p>&lt;b&gt;&amp;</p>"


def test_characters_without_a_glyph_stand_in_a_template_as_code_points(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(
        "medbench_vlmeval.report.html_text.asset",
        lambda name: "<p>{{ text }} {{ number }}</p>" if name == "t.html" else asset(name),
    )
    page = rendered("t.html", text="\u202ertl \x1b[31m\nsecond line", number=3)
    assert page == "<p>&lt;U+202E&gt;rtl &lt;U+001B&gt;[31m\nsecond line 3</p>"


def test_a_missing_package_names_the_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'medbench-vlmeval\[report\]'"):
        needed_for_reports("jinja2")


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (None, "", "–"),
        (0.12345, "", "0.123"),
        (-0.5, "", "−0.500"),
        (31.234, "dB", "31.23"),
        (99.9, "", "99.90"),
    ],
    ids=["none", "fraction", "negative", "decibel", "large"],
)
def test_numbers_are_printed_alike(value: Any, unit: str, shown: str) -> None:
    assert shown_number(value, unit) == shown
