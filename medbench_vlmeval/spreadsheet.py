"""Reading the first sheet of an xlsx file as the texts its cells hold.

General spreadsheet readers guess types: ``007`` becomes 7, ``NA`` becomes missing, a text that was
taken for a formula becomes its value. Predictions are texts, so this reader takes what the file
stores: texts with their escapes resolved, the digits of a number, the source of a formula.
"""

from __future__ import annotations

import posixpath
import re
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from xml.etree import ElementTree

LONGEST_CELL = 32_767
"""Characters an xlsx cell can hold; writers cut longer texts there without a word."""

_ESCAPE = re.compile(r"_x([0-9A-Fa-f]{4})_")
_REFERENCE = re.compile(r"([A-Z]{1,3})[0-9]+")


@dataclass(frozen=True)
class Cell:
    """What one cell stores; `text` is None for an empty one."""

    text: str | None
    is_formula: bool = False


@dataclass(frozen=True)
class SheetRow:
    """One row, its number as spreadsheets count (from 1), and its cells by column (from 0)."""

    number: int
    cells: dict[int, Cell]


def sheet_rows(path: Path) -> Iterator[SheetRow]:
    """The rows of the first sheet that hold any cell, in order.

    Control characters that a writer escaped (``_x000B_``) come back as themselves. openpyxl writes
    texts that only look like such an escape without protecting them; in files it made, nothing is
    resolved.

    Raises:
        ValueError: the file is not a readable xlsx file.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            sheet, strings = _parts(archive)
            texts = _Texts(resolves_escapes=not _is_made_by_openpyxl(archive))
            shared = texts.shared(archive, strings)
            with archive.open(sheet) as stream:
                yield from _rows(stream, texts, shared)
    except (zipfile.BadZipFile, ElementTree.ParseError, KeyError, IndexError) as error:
        raise ValueError(
            f"{path}: expected an xlsx file, got something unreadable ({error}); "
            "save it again as xlsx, tsv or json"
        ) from error


@dataclass(frozen=True)
class _Texts:
    resolves_escapes: bool

    def shared(self, archive: zipfile.ZipFile, part: str | None) -> list[str]:
        if part is None:
            return []
        with archive.open(part) as stream:
            return [
                self.of(item)
                for _, item in ElementTree.iterparse(stream)
                if _local(item.tag) == "si"
            ]

    def of(self, item: ElementTree.Element) -> str:
        """The text of a string item, plain or in formatted runs, without phonetic hints."""
        pieces: list[str] = []
        for child in item:
            if _local(child.tag) == "t":
                pieces.append(child.text or "")
            elif _local(child.tag) == "r":
                pieces += [run.text or "" for run in child if _local(run.tag) == "t"]
        return self.resolved("".join(pieces))

    def resolved(self, text: str) -> str:
        if not self.resolves_escapes or "_x" not in text:
            return text
        return _ESCAPE.sub(lambda match: chr(int(match[1], 16)), text)


def _rows(stream: IO[bytes], texts: _Texts, shared: list[str]) -> Iterator[SheetRow]:
    number = 0
    for _, element in ElementTree.iterparse(stream):
        if _local(element.tag) != "row":
            continue
        number = int(element.get("r", number + 1))
        cells: dict[int, Cell] = {}
        column = -1
        for cell in element:
            column = _column(cell.get("r"), default=column + 1)
            content = _content(cell, texts, shared)
            if content.text is not None:
                cells[column] = content
        element.clear()
        if cells:
            yield SheetRow(number, cells)


def _content(cell: ElementTree.Element, texts: _Texts, shared: list[str]) -> Cell:
    parts = {_local(child.tag): child for child in cell}
    kind = cell.get("t", "n")
    formula = parts.get("f")
    if formula is not None and formula.text:
        return Cell("=" + texts.resolved(formula.text), is_formula=True)
    if kind == "inlineStr":
        return Cell(texts.of(parts["is"]) or None if "is" in parts else None)
    value = parts["v"].text if "v" in parts else None
    if not value:
        return Cell(None)
    if kind == "s":
        return Cell(shared[int(value)] or None)
    if kind == "b":
        return Cell(str(value == "1"))
    return Cell(_digits(value) if kind == "n" else texts.resolved(value))


def _digits(number: str) -> str:
    """A stored number as a person would write it: 12 for 12.0."""
    value = float(number)
    return str(int(value)) if value.is_integer() and abs(value) < 1e16 else number


def _column(reference: str | None, default: int) -> int:
    match = _REFERENCE.fullmatch(reference or "")
    if match is None:
        return default
    column = 0
    for letter in match[1]:
        column = column * 26 + ord(letter) - ord("A") + 1
    return column - 1


def _parts(archive: zipfile.ZipFile) -> tuple[str, str | None]:
    """The parts that hold the first sheet and the shared strings."""
    relations = ElementTree.fromstring(archive.read("xl/_rels/workbook.xml.rels"))
    targets = {
        relation.get("Id"): posixpath.normpath(posixpath.join("/xl", relation.get("Target", "")))[
            1:
        ]
        for relation in relations
    }
    strings = [
        targets[relation.get("Id")]
        for relation in relations
        if relation.get("Type", "").endswith("/sharedStrings")
    ]
    workbook = ElementTree.fromstring(archive.read("xl/workbook.xml"))
    sheets = [element for element in workbook.iter() if _local(element.tag) == "sheet"]
    identifier = next(value for name, value in sheets[0].attrib.items() if _local(name) == "id")
    return targets[identifier], strings[0] if strings else None


def _is_made_by_openpyxl(archive: zipfile.ZipFile) -> bool:
    if "docProps/core.xml" not in archive.namelist():
        return False
    properties = ElementTree.fromstring(archive.read("docProps/core.xml"))
    return any(
        _local(element.tag) == "creator" and element.text == "openpyxl" for element in properties
    )


def _local(tag: str) -> str:
    return tag.rsplit("}", 1)[-1]
