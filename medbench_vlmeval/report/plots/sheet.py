"""What plots are drawn on: a figure in the one style, which knows where its marks lead."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ..html_text import needed_for_reports
from ..safe_text import visible
from .svg import INK, inline_svg

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = (
    "#0072b2", "#d55e00", "#009e73", "#c0659a", "#7a6fd0", "#8a7423", "#4c8f9c", "#808080",
)  # fmt: skip
"""Told apart by colour-blind readers, with a contrast of 3 and more on white and on near black."""
MARKERS = "osD^vPX"
WIDTH = 640
"""Of every plot, in pixels, at which its text has the size of small print."""
SMALL = 11
_MOST_LETTERS = 44
_NO_CHARACTERS = dict.fromkeys((0xFFFE, 0xFFFF), "\N{REPLACEMENT CHARACTER}")
"""Code points that XML has no place for."""

_STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "medbench",
    "text.parse_math": False,
    "font.size": 12,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 12,
    "axes.titlelocation": "left",
    "figure.constrained_layout.h_pad": 0.08,
    "legend.frameon": False,
    "legend.fontsize": 12,
    **dict.fromkeys(("figure.facecolor", "axes.facecolor", "savefig.facecolor"), "none"),
    **dict.fromkeys(("text.color", "axes.edgecolor", "axes.labelcolor"), INK),
    **dict.fromkeys(("xtick.color", "ytick.color"), INK),
}


@dataclass(frozen=True)
class Plot:
    """One drawing of a report."""

    name: str
    """Unlike that of any other plot of the same runs; fit for an id."""
    title: str
    caption: str
    """What is drawn, what is left out and why, in plain text."""
    svg: str
    """An ``<svg>`` element to put into a page, without ids that another plot could have."""


@dataclass
class Sheet:
    """A figure to draw on, and what its marks link to."""

    figure: Figure
    links: list[tuple[str, str]] = field(default_factory=list)

    def link(self, href: str, tip: str) -> str:
        """What to give to ``set_url`` for a mark that says `tip` and leads to `href`."""
        self.links.append((href, shown(tip, most=400)))
        return f"mark:{len(self.links) - 1}"

    def plot(self, name: str, title: str, caption: str) -> Plot:
        """The finished drawing."""
        stream = io.StringIO()
        with warnings.catch_warnings():
            # The page's font draws the letters; matplotlib only measures them with its own.
            warnings.filterwarnings("ignore", "Glyph .* missing from")
            self.figure.savefig(stream, format="svg")
        svg = inline_svg(
            stream.getvalue(), self.links, shown(title, most=400), shown(caption, most=4000)
        )
        return Plot(name, title, caption, svg)


@contextmanager
def sheet(height: float) -> Iterator[Sheet]:
    """A blank figure, `WIDTH` pixels wide, in the style of all plots.

    Raises:
        ImportError: matplotlib is not installed.
    """
    style = needed_for_reports("matplotlib.style")
    figures = needed_for_reports("matplotlib.figure")
    with style.context(["default", _STYLE]):
        figure = figures.Figure(figsize=(WIDTH / 72, height / 72), dpi=72, layout="constrained")
        yield Sheet(figure)


def shown(text: str, *, most: int = _MOST_LETTERS) -> str:
    """A name from data on one line, not longer than `most`, all its characters visible."""
    line = visible(" ".join(text.split())).translate(_NO_CHARACTERS)
    return line if len(line) <= most else line[: most - 1] + "…"


def quiet(axes: Any, *, across: bool = True) -> None:
    """Take away what carries no number: tick marks, and spines beside labels."""
    axes.tick_params(length=0, labelsize=SMALL)
    axes.grid(axis="x" if across else "y", color=INK, alpha=0.15, linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("bottom", "left"):
        axes.spines[side].set_alpha(0.5)


def with_n(name: str, n: int | str, *, most: int = _MOST_LETTERS) -> str:
    """A label that says how many samples it stands for."""
    return f"{shown(name, most=most)} (n {n})"


def ticks(axis: Any, most: int) -> None:
    """Few round numbers, without zeros that say nothing."""
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis.set_major_locator(MaxNLocator(most, steps=[1, 2, 2.5, 5, 10]))
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:.4g}"))
