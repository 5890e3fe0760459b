"""Counts by two labels, as shaded tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .kinds import sample_link
from .pairs import NO_SCORE, Matrix
from .sheet import COLOURS, INK, Plot, Sheet, sheet, shown, with_n

_A_LINE = 2
_DEEPEST = 0.55
"""Opacity of a cell that holds its whole row; more would drown the count."""


def draw_matrices(matrices: Sequence[Matrix], name: str, title: str, caption: str) -> Plot:
    """Matrices beside each other, two a line; a cell is as deep as its share of its row.

    Raises:
        ImportError: matplotlib is not installed.
    """
    lines = -(-len(matrices) // _A_LINE)
    with sheet(lines * (90 + 38 * max(len(it.rows) for it in matrices))) as page:
        columns = min(len(matrices), _A_LINE)
        grid = list(page.figure.subplots(lines, columns, squeeze=False).flat)
        for axes, matrix in zip(grid, matrices, strict=False):
            _draw(page, axes, matrix)
        for axes in grid[len(matrices) :]:
            axes.remove()
        return page.plot(name, title, caption)


def _draw(page: Sheet, axes: Any, matrix: Matrix) -> None:
    axes.tick_params(length=0)
    for spine in axes.spines.values():
        spine.set_visible(False)
    axes.set_title(shown(matrix.label))
    axes.set_xlabel(shown(matrix.column_axis))
    axes.set_ylabel(shown(matrix.row_axis))
    axes.set_xlim(-0.5, len(matrix.columns) - 0.5)
    axes.set_ylim(len(matrix.rows) - 0.5, -0.5)
    axes.set_xticks(range(len(matrix.columns)), map(shown, matrix.columns))
    labels = [with_n(row, matrix.n_row(row)) for row in matrix.rows]
    axes.set_yticks(range(len(matrix.rows)), labels)
    for y, row in enumerate(matrix.rows):
        for x, column in enumerate(matrix.columns):
            _cell(page, axes, matrix, (row, column), (x, y))


def _cell(
    page: Sheet, axes: Any, matrix: Matrix, key: tuple[str, str], at: tuple[int, int]
) -> None:
    from matplotlib.patches import Rectangle

    n, (x, y) = matrix.n(*key), at
    share = n / max(matrix.n_row(key[0]), 1)
    agrees = key[0] == key[1] != NO_SCORE
    cell = Rectangle(
        (x - 0.46, y - 0.44),
        0.92,
        0.88,
        facecolor=(*_rgb(COLOURS[0]), share * _DEEPEST),
        edgecolor=INK if agrees else (*_rgb(INK), 0.2),
        linewidth=1.6 if agrees else 0.8,
    )
    if n:
        tip = f"{matrix.row_axis} {key[0]}, {matrix.column_axis} {key[1]}: {n}"
        cell.set_url(page.link(sample_link(matrix.cells[key]), tip))
    axes.add_patch(cell)
    axes.text(x, y, str(n), ha="center", va="center")


def _rgb(colour: str) -> tuple[float, float, float]:
    from matplotlib.colors import to_rgb

    red, green, blue = to_rgb(colour)
    return red, green, blue
