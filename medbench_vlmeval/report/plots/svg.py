"""From what matplotlib writes to SVG that is part of a page: its ink, its font, its links."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from xml.etree import ElementTree

INK = "#010203"
"""Stands for the colour of the page's text, which matplotlib has no name for."""
_SVG = "{http://www.w3.org/2000/svg}"
_XLINK = "{http://www.w3.org/1999/xlink}"
_FONT = re.compile(r"(?:(\w+) )?([\d.]+px) .*")
_UPRIGHT = re.compile(r"rotate\(-?0 ")
_NUMBER = re.compile(r"-?\d+\.\d{3,}")
_MARK = re.compile(r"mark:(\d+)")


def inline_svg(raw: str, links: Sequence[tuple[str, str]], title: str, caption: str) -> str:
    """An ``<svg>`` element to put into a page, beside others made here.

    Text and lines of colour `INK` take the colour of the page's text, texts its font; there is no
    style element, no date and no id that another drawing could have.

    Args:
        raw: as matplotlib writes it, with texts as texts, and ``mark:<n>`` for the address of
            link n.
        links: where each link leads, empty for nowhere, and what it says.
        title: for readers who cannot see the drawing.
        caption: likewise.
    """
    root = ElementTree.fromstring(raw)
    _drop_what_pages_have(root)
    for element in root.iter():
        element.tag = element.tag.removeprefix(_SVG)
        _plain_attributes(element)
    _gather_repeated(root)
    _place_links(root, links)
    _describe(root, title, caption)
    prefix = f"p{hashlib.sha256(ElementTree.tostring(root)).hexdigest()[:10]}"
    _rename(root, prefix)
    return ElementTree.tostring(root, encoding="unicode")


def _drop_what_pages_have(root: ElementTree.Element) -> None:
    # A style element would apply to the whole page, and metadata hold the date.
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{_SVG}metadata" or child.find(f"{_SVG}style") is not None:
                parent.remove(child)


def _plain_attributes(element: ElementTree.Element) -> None:
    """Style as attributes, which a page's own style can overrule and its policy never forbids."""
    given = dict(element.attrib)
    element.attrib.clear()
    for name, value in given.items():
        if name == "style":
            for part in filter(None, value.split(";")):
                key, _, setting = part.partition(":")
                element.attrib |= _attribute(key.strip(), setting.strip())
        elif name != "transform" or not _UPRIGHT.match(value):
            element.set(name.replace(_XLINK, "xlink:"), _NUMBER.sub(_rounded, value))


def _attribute(key: str, value: str) -> dict[str, str]:
    # The page's own font is used: of matplotlib's only size and weight matter.
    if key == "font-family":
        return {}
    if key == "font" and (font := _FONT.fullmatch(value)):
        return {"font-size": font[2]} | ({"font-weight": font[1]} if font[1] else {})
    value = "currentColor" if value.lower() == INK else _NUMBER.sub(_rounded, value)
    return {key: value}


def _rounded(number: re.Match[str]) -> str:
    return f"{float(number[0]):.2f}".rstrip("0").rstrip(".")


def _place_links(root: ElementTree.Element, links: Sequence[tuple[str, str]]) -> None:
    for element in root.iter("a"):
        mark = _MARK.fullmatch(element.get("xlink:href", ""))
        if mark is None:
            continue
        href, tip = links[int(mark[1])]
        # Marks are pictures of rows that the page lists: no stops for the tab key.
        element.attrib = {"xlink:href": href, "tabindex": "-1"} if href else {}
        element.tag = "a" if href else "g"
        name = ElementTree.Element("title")
        name.text = tip
        element.insert(0, name)


def _gather_repeated(root: ElementTree.Element) -> None:
    """Move what all points of a cloud have in common to the group that holds them."""
    for group in root.iter("g"):
        uses = list(group.iter("use"))
        if len(uses) < 3:
            continue
        common = set.intersection(*(set(use.attrib.items()) for use in uses))
        common -= {(key, value) for key, value in common if key in ("x", "y", "xlink:href")}
        if any(child.tag not in ("use", "a", "defs") for child in group):
            continue
        for use in uses:
            for key, _ in common:
                del use.attrib[key]
        group.attrib |= dict(sorted(common))


def _describe(root: ElementTree.Element, title: str, caption: str) -> None:
    size = {key: root.get(key, "").removesuffix("pt") for key in ("width", "height")}
    view_box = root.get("viewBox", "")
    root.attrib = {
        "xmlns": "http://www.w3.org/2000/svg",
        "xmlns:xlink": "http://www.w3.org/1999/xlink",
        "class": "plot",
        "role": "img",
        "aria-labelledby": "title desc",
        **size,
        "viewBox": view_box,
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
        "fill": "currentColor",
    }
    for at, (tag, text) in enumerate((("title", title), ("desc", caption))):
        element = ElementTree.Element(tag, {"id": tag})
        element.text = text
        root.insert(at, element)


def _rename(root: ElementTree.Element, prefix: str) -> None:
    """Keep the ids that something refers to, under names that only this drawing has."""
    text = ElementTree.tostring(root, encoding="unicode")
    used = set(re.findall(r'(?:url\(#|xlink:href="#)([\w-]+)[)"]', text)) | {"title", "desc"}
    names = [element.get("id", "") for element in root.iter() if element.get("id") in used]
    new = {name: f"{prefix}-{at}" for at, name in enumerate(names)}
    for element in root.iter():
        if (name := element.attrib.pop("id", "")) in new:
            element.set("id", new[name])
        for key, value in element.attrib.items():
            if key == "clip-path":
                element.set(key, f"url(#{new[value[5:-1]]})")
            elif element.tag == "use" and key == "xlink:href":
                element.set(key, f"#{new[value[1:]]}")
    root.set("aria-labelledby", f"{new['title']} {new['desc']}")
