from __future__ import annotations

import pytest

from medbench_vlmeval.report.safe_text import (
    markdown_text,
    spreadsheet_text,
    terminal_text,
    visible,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("plain äöü 模型", "plain äöü 模型"),
        ("\x1b[31mred\x1b[0m", "<U+001B>[31mred<U+001B>[0m"),
        ("a\u202eb\u2066c", "a<U+202E>b<U+2066>c"),
        ("line\nbreak\u2028", "line<U+000A>break<U+2028>"),
        ("half \ud800", "half <U+D800>"),
        ("zero\u200bwidth", "zero<U+200B>width"),
    ],
)
def test_characters_without_a_glyph_become_visible(text: str, shown: str) -> None:
    assert visible(text) == shown
    assert visible(shown) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("Qwen2.5-VL_7B", "Qwen2.5-VL_7B"),
        ("_x_", r"\_x\_"),
        ("a|b", r"a\|b"),
        ("<script>alert(1)</script>", "&lt;script&gt;alert(1)&lt;/script&gt;"),
        ("[x](javascript:y)", r"\[x\](javascript:y)"),
        ("![i](u)", r"\!\[i\](u)"),
        ("`code`", r"\`code\`"),
        ("a\n# b", r"a&lt;U+000A&gt;\# b"),
        ("&amp;", "&amp;amp;"),
        ("\\|", r"\\\|"),
    ],
)
def test_markdown_shows_texts_as_they_are(text: str, shown: str) -> None:
    assert markdown_text(text) == shown


@pytest.mark.parametrize("first", ["=", "+", "-", "@", "\t", "\r", "\n", "＝", "＠"])
def test_texts_like_formulas_get_an_apostrophe(first: str) -> None:
    assert spreadsheet_text(f"{first}SUM(A1)") == f"'{first}SUM(A1)"
    assert spreadsheet_text(f"a{first}") == f"a{first}"


def test_brackets_are_no_markup_on_a_terminal() -> None:
    assert terminal_text("[bold]x[/bold]\x07") == r"\[bold]x\[/bold]<U+0007>"
