"""A reply's text in one plain form: no invisible characters, one form of each sign, no markup.

The readers of this package look at text only after `folded`; line breaks always survive, so that a
place in the plain text still lies on the line it came from.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Callable

ELISION = "…"
"""Stands where a quotation was, or a labelled tag ended: neither blank nor word nor number."""

_SAME_SIGN = {"<wide>", "<narrow>", "<font>", "<small>"}
_DASHES = "‐‑‒–—―−"
_LINE_BREAKS = "\v\f\x85\u2028\u2029"

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)
_STRUCK = re.compile(r"~~[^~\n]*~~")
_FRACTION = re.compile(r"\\[dt]?frac\s?\{([0-9.]{1,9})\}\s?\{([0-9.]{1,9})\}")
_LATEX = re.compile(r"\\(?:boxed|text[a-z]{0,6}|math[a-z]{0,6}|large|huge)\b\s?|\\[()\[\]]|\$")
_TAG = re.compile(r"<(/?)([A-Za-z][\w-]{0,40})(?: [^<>\n]{0,80})?/?>")
# An asterisk between two digits is a multiplication, every other one is emphasis.
_EMPHASIS = re.compile(r"(?<![0-9])\*+|\*+(?![0-9])")
_BLOCK_QUOTE = re.compile(r"^[ \t]*>[^\n]*$", re.MULTILINE)

_PAIRED_QUOTES = re.compile(
    r"“(?P<curly>[^“”\n]*(?:\n[^“”\n]+)*)”"
    r"|«(?P<angled>[^«»\n]*)»"
    r"|„(?P<low>[^„“”\n]*)[“”]"
    r"|「(?P<corner>[^「」\n]*)」"
    r"|\"(?P<straight>[^\"\n]*(?:\n(?!\s*\n)[^\"\n]*)*)\""
    r"|(?<!\w)'(?P<single>[^'\n]*)'(?!\w)"
    r"|(?<!\w)‘(?P<high>[^‘’\n]*)’(?!\w)"
)
_CODE = re.compile(r"`([^`\n]*)`")


def reply_text(reply: object) -> str:
    """A reply as text; None and NaN, which tables hold for an empty cell, are an empty text."""
    if reply is None or (isinstance(reply, float) and math.isnan(reply)):
        return ""
    return reply if isinstance(reply, str) else str(reply)


def folded(text: str) -> str:
    """`text` with one form for every sign.

    Full-width and styled letters, digits of other scripts, kinds of blanks and dashes become their
    ASCII form; invisible characters vanish; every line break is a line feed. Fractions (½) and
    superscripts stay as they are, because they are not the digits they contain.
    """
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    if text.isascii() and text.isprintable():
        return text
    return text.translate({ord(sign): _folded_sign(sign) for sign in set(text)})


def _folded_sign(sign: str) -> str:
    if sign in "\n\t" or (sign.isascii() and sign.isprintable()):
        return sign
    if sign in _LINE_BREAKS:
        return "\n"
    if sign in _DASHES:
        return "-"
    category = unicodedata.category(sign)
    if category in ("Cf", "Me") or sign == "\ufe0f":
        return ""
    if category in ("Zs", "Cc"):
        return " "
    if category == "Nd":
        return str(unicodedata.decimal(sign))
    if unicodedata.decomposition(sign).split(" ")[0] in _SAME_SIGN:
        same = unicodedata.normalize("NFKC", sign)
        return "-" if same in _DASHES else same
    return sign


def without_markup(text: str, *, tag_label: Callable[[str], str | None]) -> str:
    """`text` without emphasis, code fences, struck passages, tags, LaTeX and pictograms.

    Args:
        text: folded text.
        tag_label: the label an XML-like tag stands for (``<score>2</score>``), None for other tags.
    """

    def tag(match: re.Match[str]) -> str:
        label = tag_label(match[2])
        if label is None:
            return " "
        return ELISION if match[1] else f"{label}: "

    text = _FENCE.sub("", text)
    text = _STRUCK.sub("", text)
    text = _TAG.sub(tag, text)
    text = _FRACTION.sub(r"\1/\2", text)
    text = _LATEX.sub("", text)
    text = _EMPHASIS.sub("", text)
    pictograms = {sign for sign in set(text) if unicodedata.category(sign) == "So" and sign != "°"}
    return text.translate({ord(sign): " " for sign in pictograms}) if pictograms else text


def without_quotations(text: str, *, is_plain: Callable[[str], bool]) -> str:
    """`text` with every quotation replaced by an ellipsis.

    Quotation marks around a text that `is_plain` accepts (a mere label or value) are dropped and
    the text stays, as it does when the marks enclose the whole reply. Code spans are quotations
    unless they fill a line. Block quotes count unless the whole reply is one.
    """
    if all(line.lstrip().startswith(">") for line in text.split("\n") if line.strip()):
        text = re.sub(r"(?m)^[ \t]*>+", "", text)
    text = _BLOCK_QUOTE.sub(ELISION, text)
    stripped = text.strip()
    whole = _PAIRED_QUOTES.fullmatch(stripped)
    if whole is not None:
        return stripped[1:-1]

    def quotation(match: re.Match[str]) -> str:
        content = next(group for group in match.groups() if group is not None)
        return content if is_plain(content) else _elided(content)

    def code(match: re.Match[str]) -> str:
        fills_line = _is_line_edge(text, match.start() - 1) and _is_line_edge(text, match.end())
        return match[1] if fills_line or is_plain(match[1]) else _elided(match[1])

    text = _CODE.sub(code, text)
    return _PAIRED_QUOTES.sub(quotation, text)


def _elided(quotation: str) -> str:
    return ELISION + "\n" * quotation.count("\n")


def _is_line_edge(text: str, position: int) -> bool:
    return position < 0 or position >= len(text) or text[position] == "\n"
