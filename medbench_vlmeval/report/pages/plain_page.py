"""A page of headings, sentences, lists and tables, for results that need no more."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from ..html_text import rendered


def plain_page(title: str, sections: Iterable[Mapping[str, Any]]) -> str:
    """The page as one self-contained HTML text; every text is escaped.

    Args:
        title: the heading.
        sections: each with ``title``, ``text``, ``points`` (a list), ``header`` and ``rows`` (a
            table); what is empty is left out.

    Raises:
        ImportError: Jinja2 is not installed.
    """
    return rendered("plain.html", heading=title, sections=list(sections))
