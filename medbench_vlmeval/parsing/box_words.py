"""The words around boxes: names of coordinates, of corners, and what joins two corners."""

from __future__ import annotations

CORNER_KEYS: tuple[tuple[str, ...], ...] = (
    ("x0", "y0", "x1", "y1"),
    ("x1", "y1", "x2", "y2"),
    ("xmin", "ymin", "xmax", "ymax"),
    ("minx", "miny", "maxx", "maxy"),
    ("xtl", "ytl", "xbr", "ybr"),
    ("left", "top", "right", "bottom"),
)
"""Names of two corners, in the order x, y, x, y; written without underscores, in lower case."""

SIZE_KEYS: tuple[tuple[str, ...], ...] = (
    ("x", "y", "width", "height"),
    ("x", "y", "w", "h"),
    ("left", "top", "width", "height"),
)
"""Names of a corner and a size."""

KEYS = frozenset(name for names in (*CORNER_KEYS, *SIZE_KEYS) for name in names)

CORNERS = frozenset(
    f"{one}{other}"
    for one in ("top", "upper", "bottom", "lower")
    for other in ("", "left", "right")
) | {"left", "right", "lefttop", "rightbottom", "leftupper", "rightlower", "tl", "br", "corner"}
"""Words that say which corner a point is."""

JOINS = frozenset({"to", "through", "until"})
"""Words that make one box of the points before and after them."""

FILLERS = frozenset(
    {"the", "at", "is", "are", "its", "with", "from", "between", "of", "coordinates", "coordinate"}
    | {"corners", "point"}
)
"""Words that may stand between two labelled corners; they join nothing by themselves."""

SIGNS_BETWEEN = frozenset("->→~到至左上右下角为是")
"""Signs that may stand between two corners, and the Chinese words for what is named above."""

LABELS = frozenset(
    {"box", "boxes", "bbox", "bboxes", "bbox2d", "box2d", "bounding", "coordinates", "coordinate"}
    | {"coords", "answer", "final", "json", "xyxy", "xywh", "the", "is", "are", "pixel"}
    | {"pixels", "label", "det", "region", "location", "output", "result", "prediction"}
)
"""Words that announce a box and say nothing else."""

BOX_TAGS = frozenset({"box", "bbox", "boundingbox", "bbox2d", "box2d", "coordinates", "coords"})
"""Names of tags that stand for brackets."""

NUMBERED = (
    "image|img|slice|picture|frame|figure|fig|view|scan|panel|photo|series|case|step|option|"
    "example|region|lesion|patch|candidate|object|finding"
)
"""Nouns whose number is a name, not a coordinate ("image 2")."""

UNITS = "mm|cm|hu|ml|kg|cc|years?|yrs?|days?|months?|seconds?|degrees?|percent|slices?|images?"
"""What a number counts or measures if it is no coordinate."""


def normalised(word: str) -> str:
    """`word` in lower case without underscores: ``x_min`` and ``xMin`` are ``xmin``."""
    return word.replace("_", "").lower()
