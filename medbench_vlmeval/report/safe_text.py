"""Names and texts that others wrote, made safe for a terminal, Markdown and spreadsheets.

Model names, groups and notes come from files of unknown origin. Nothing here loses information:
what cannot be shown is replaced by its code point.
"""

from __future__ import annotations

import re
import unicodedata

_HIDDEN = {"Cc", "Cf", "Cs", "Zl", "Zp"}
"""Unicode categories without a glyph: controls, format marks (bidi), halves of pairs, breaks."""
_MARKDOWN = re.compile(r"([\\`*_\[\]|~#!])")
_INSIDE_WORDS = re.compile(r"(?<=[A-Za-z0-9])\\_(?=[A-Za-z0-9])")
_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "＝", "＋", "－", "＠")
"""Spreadsheets take the full-width signs for the plain ones."""


def visible(text: str) -> str:
    """`text` on one line, with every character that has no glyph written as ``<U+202E>``.

    Escape sequences of terminals and marks that turn the reading direction lose their effect.
    """
    return "".join(
        f"<U+{ord(char):04X}>" if unicodedata.category(char) in _HIDDEN else char for char in text
    )


def terminal_text(text: str) -> str:
    """`visible` text for `rich`, which would read words in brackets as its markup."""
    return visible(text).replace("[", r"\[")


def markdown_text(text: str) -> str:
    """`visible` text that Markdown shows as it is, in a table too: no markup, no HTML, no cell."""
    plain = visible(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    # Underscores between letters are no emphasis; escaped ones only make names hard to read.
    return _INSIDE_WORDS.sub("_", _MARKDOWN.sub(r"\\\1", plain))


def spreadsheet_text(text: str) -> str:
    """`text` that a spreadsheet does not run: one that begins like a formula gets an apostrophe.

    Only for texts; numbers are written as numbers.
    """
    return f"'{text}" if text.startswith(_FORMULA) else text
