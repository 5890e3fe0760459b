"""The page ``judge_check.md``."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from .judge_check_sections import Section


def markdown(title: str, sections: Iterable[Section]) -> str:
    """The page as Markdown; texts keep to one line each and make no markup."""
    parts = [f"# {_plain(title)}"]
    for section in sections:
        parts += _parts(section)
    return "\n\n".join(parts) + "\n"


def _parts(section: Section) -> Iterator[str]:
    yield f"## {_plain(section.title)}"
    if section.text:
        yield _plain(section.text)
    if section.points:
        yield "\n".join(f"- {_plain(point)}" for point in section.points)
    if section.rows:
        lines = [section.header, ("---",) * len(section.header), *section.rows]
        yield "\n".join(map(_line, lines))


def _line(cells: Sequence[str]) -> str:
    joined = " | ".join(_plain(cell).replace("|", r"\|") for cell in cells)
    return f"| {joined} |"


def _plain(text: str) -> str:
    # Names of models and words of servers are data: no markup, no line of their own.
    return " ".join(text.split()).replace("<", "&lt;").replace("](", r"]\(").replace("`", r"\`")
