"""How firm a board is, and how it stands to the published figures, as Markdown."""

from __future__ import annotations

from collections.abc import Sequence

from ...types import MetricInfo
from ..safe_text import markdown_text
from .firmness import MetricStatistics
from .leaderboard import BoardReport
from .markdown_parts import bullets, grid, section
from .reproduction import ReproducedCell
from .text import firmness_line, shown_number

MOST_PAIRS = 45
"""Pairs listed one by one; those of a larger board are in the JSON file."""
MOST_CELLS = 60
"""Reproduced figures listed one by one; of more only the overall ones."""


def firmness(statistics: Sequence[MetricStatistics]) -> str:
    if not statistics:
        return ""
    head = (
        f"Ranks over {statistics[0].n_resamples} resamples of clusters; p-values from "
        f"{statistics[0].n_permutations} flips or McNemar's test, adjusted after Holm over the "
        "pairs of a column. Published rows have no scores per sample and no part in this."
    )
    parts = [_firmness_of(it) for it in statistics]
    return section("How firm the order is", head, *parts)


def _firmness_of(statistics: MetricStatistics) -> str:
    metric = statistics.metric
    parts = [f"### {markdown_text(metric.name)}", markdown_text(firmness_line(statistics))]
    if statistics.not_ranked:
        names = ", ".join(map(markdown_text, statistics.not_ranked))
        parts.append(f"Not ranked, another snapshot judged: {names}")
    if len(statistics.ranked) > 1:
        below = {it.upper: it for it in statistics.neighbours}
        rows = []
        for it in statistics.ranked:
            next_one = below.get(it.name)
            rows.append(
                [
                    markdown_text(it.name), f"{it.rank:g}", f"{it.low:g} – {it.high:g}",
                    f"{it.first:.0%}", f"{next_one.flipped:.0%}" if next_one else "",
                ]
            )  # fmt: skip
        head = ["model", "rank", "rank interval", "first in", "overtaken by the next in"]
        parts.append(grid(head, rows))
    if 0 < len(statistics.pairs) <= MOST_PAIRS:
        parts.append(_pairs(statistics))
    return "\n\n".join(parts)


def _pairs(statistics: MetricStatistics) -> str:
    metric = statistics.metric
    rows = []
    for pair in statistics.pairs:
        if pair.difference is None or pair.p_value is None or pair.p_adjusted is None:
            continue
        ends = "" if pair.low is None or pair.high is None else (
            f" [{_signed(pair.low, metric)}, {_signed(pair.high, metric)}]"
        )  # fmt: skip
        rows.append(
            [
                f"{markdown_text(pair.first)} − {markdown_text(pair.second)}",
                _signed(pair.difference, metric) + ends, f"{pair.p_value:.2g}",
                f"{pair.p_adjusted:.2g}", pair.test, str(pair.n_samples),
            ]
        )  # fmt: skip
    return grid(["pair", "difference", "p", "adjusted p", "test", "samples"], rows)


def _signed(value: float, metric: MetricInfo) -> str:
    return ("+" if value >= 0 else "") + shown_number(value, metric)


def reproduction(report: BoardReport) -> str:
    if not report.reproduced:
        return ""
    cells = report.reproduced
    if len(cells) > MOST_CELLS:
        cells = tuple(cell for cell in cells if cell.key.group_by == "overall")
    lines = bullets(markdown_text(it.line) for it in report.reproduced_tables)
    head = ["model", "table", "figure", "printed", "measured", "difference", "verdict", "why"]
    return section("Against the published figures", lines, grid(head, map(_reproduced_line, cells)))


def _reproduced_line(cell: ReproducedCell) -> list[str]:
    key = cell.key
    place = key.metric if key.group_by == "overall" else f"{key.metric}, {key.group}"
    measured = "–" if cell.value is None else f"{cell.value:.3f}"
    if cell.value is not None and cell.low is not None and cell.high is not None:
        measured += f" [{cell.low:.3f}, {cell.high:.3f}]"
    difference = "" if cell.delta is None else f"{cell.delta:+.3f}"
    return [
        markdown_text(cell.measured), cell.table, markdown_text(place),
        cell.as_printed + "?" * (cell.verdict == "doubtful figure"), measured, difference,
        cell.verdict, markdown_text(cell.why),
    ]  # fmt: skip
