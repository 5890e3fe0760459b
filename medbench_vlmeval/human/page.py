"""The outcome of a human check as a page to read, and as lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from ..files import write_json_atomic, write_text_atomic
from ..report.safe_text import markdown_text, visible
from .check import AgreementRow, HumanCheck
from .model_order import ModelOrder
from .reliability import Measure

_HOW_TO_READ = """\
Kappa is Cohen's with quadratic weights: 1 for equal ratings, 0 for what chance gives. Spearman \
looks at the order alone, equal and within 1 at the ratings themselves; the difference is the \
first minus the second, in points. In brackets: 95 % interval, bootstrap over source images. The \
judge's side is its verdict as the strict reader has it. Ratings of a spot check are few: read the \
interval before the value."""


@dataclass
class Notes:
    """Reasons behind the dashes of a table, each once."""

    texts: list[str] = field(default_factory=list)

    def mark(self, why: str) -> str:
        """The number of a reason."""
        if why not in self.texts:
            self.texts.append(why)
        return f"note {self.texts.index(why) + 1}"

    def lines(self) -> list[str]:
        """The list below the table."""
        numbered = [f"note {n}: {markdown_text(why)}" for n, why in enumerate(self.texts, start=1)]
        return ["", *("  \n".join(numbered).split("\n"))] if numbered else []


def write_check(folder: Path, check: HumanCheck) -> tuple[Path, Path]:
    """Write ``human_check.json`` and ``human_check.md``, each atomically."""
    return (
        write_json_atomic(folder / "human_check.json", check),
        write_text_atomic(folder / "human_check.md", page(check)),
    )


def page(check: HumanCheck) -> str:
    """The whole page, in Markdown; texts of raters are escaped."""
    parts = [
        [f"# Human check of {markdown_text(check.dataset)}", "", *_about(check)],
        ["## Raters and judge", "", *_agreement_table(check.with_judge)],
        _between(check),
        ["## Order of the models", "", *_orders(check)],
        _computed(check),
        ["## How to read this", "", _HOW_TO_READ],
        ["## Not taken over", "", *_problems(check)],
        _remarks(check),
    ]
    return "\n\n".join("\n".join(part) for part in parts if part) + "\n"


def short_lines(check: HumanCheck, *, most: int = 20) -> Iterator[str]:
    """What a user should know at once, a line each."""
    for rater, counts in check.raters.items():
        yield (
            f"rater {rater}: {counts.rated} of {counts.items} items rated, "
            f"{counts.cannot_judge} cannot be judged"
        )
    for row in (*check.with_judge, *check.between_raters):
        found = row.agreement
        yield (
            f"{row.dimension}, {row.first} and {row.second}, n {found.n}: "
            f"kappa {_in_words(found.kappa)}, Spearman {_in_words(found.spearman)}"
        )
    for order in check.orders:
        samples = "1 sample" if order.n_samples == 1 else f"{order.n_samples} samples"
        yield f"{order.dimension}, models over {samples}: {visible(order.verdict)}"
    yield from map(visible, check.warnings)
    if check.problems:
        yield f"not taken over: {len(check.problems)}"
        yield from (f"  {visible(str(problem))}" for problem in check.problems[:most])
    if len(check.problems) > most:
        yield f"  and {len(check.problems) - most} more, all in the page"


def _about(check: HumanCheck) -> list[str]:
    judges = ", ".join(check.judges) or "none"
    lines = [
        f"Sheet {check.sheet}: {check.rubric} of {', '.join(map(markdown_text, check.models))}; "
        f"judge: {markdown_text(judges)}.",
        "",
        *_table(
            ("rater", "items", "rated", "cannot judge"),
            [(r, it.items, it.rated, it.cannot_judge) for r, it in check.raters.items()],
        ),
    ]
    return lines + [line for it in check.warnings for line in ("", f"**{markdown_text(it)}**")]


def _agreement_table(rows: Sequence[AgreementRow]) -> list[str]:
    notes = Notes()
    body = [
        (
            row.dimension,
            f"{row.first} and {row.second}",
            row.agreement.n,
            row.agreement.n_clusters,
            *(
                _cell(measure, notes, signed=name == "mean_difference")
                for name, measure in _measures(row)
            ),
        )
        for row in rows
    ]
    header = (
        "dimension", "between", "items", "source images", "kappa ↑", "Spearman ↑", "equal ↑",
        "within 1 ↑", "difference",
    )  # fmt: skip
    return [*_table(header, body), *notes.lines()]


def _measures(row: AgreementRow) -> list[tuple[str, Measure]]:
    names = ("kappa", "spearman", "exact", "within_one", "mean_difference")
    return [(name, getattr(row.agreement, name)) for name in names]


def _between(check: HumanCheck) -> list[str]:
    if not check.between_raters:
        return []
    return ["## Between raters", "", *_agreement_table(check.between_raters)]


def _orders(check: HumanCheck) -> list[str]:
    notes = Notes()
    means = [
        (order.dimension, it.model, order.n_samples, f"{it.human:.2f}", f"{it.judge:.2f}")
        for order in check.orders
        for it in order.means
    ]
    whole = [_order_row(order, notes) for order in check.orders]
    header = ("dimension", "models' order", "Pearson of means ↑", "Spearman within samples ↑")
    return [
        *_table(("dimension", "model", "samples", "raters' mean", "judge's mean"), means),
        "",
        *_table(header, whole),
        *notes.lines(),
    ]


def _order_row(order: ModelOrder, notes: Notes) -> tuple[str, ...]:
    pearson, within = (_cell(it, notes) for it in (order.pearson, order.within_samples))
    return order.dimension, order.verdict, pearson, within


def _computed(check: HumanCheck) -> list[str]:
    if not check.with_computed:
        return []
    notes = Notes()
    rows = [
        (it.dimension, it.rater, it.column, it.spearman.n, _cell(it.spearman, notes))
        for it in check.with_computed
    ]
    header = ("dimension", "rater", "column", "items", "Spearman ↑")
    return ["## Columns that need no judge", "", *_table(header, rows), *notes.lines()]


def _problems(check: HumanCheck) -> list[str]:
    if not check.problems:
        return ["Everything was."]
    rows = [(it.file, it.row or "–", it.what, it.remedy) for it in check.problems]
    return _table(("file", "row", "what", "remedy"), rows)


def _remarks(check: HumanCheck) -> list[str]:
    if not check.remarks:
        return []
    rows = [(it.rater, it.item, it.model, it.index, it.text) for it in check.remarks]
    return ["## Comments", "", *_table(("rater", "item", "model", "sample", "comment"), rows)]


def _cell(measure: Measure, notes: Notes, *, signed: bool = False) -> str:
    mark = f", {notes.mark(measure.why)}" if measure.why else ""
    if measure.value is None:
        return f"–{mark}"
    form = "+.2f" if signed else ".3f"
    text = f"{measure.value:{form}}"
    if measure.low is not None and measure.high is not None:
        text += f" ({measure.low:{form}} to {measure.high:{form}})"
    return text + mark


def _in_words(measure: Measure) -> str:
    if measure.value is None:
        return f"undefined ({measure.why})"
    if measure.low is None or measure.high is None:
        return f"{measure.value:.3f}"
    return f"{measure.value:.3f} ({measure.low:.3f} to {measure.high:.3f})"


def _table(header: Sequence[str], rows: Sequence[Sequence[object]]) -> list[str]:
    lines = [header, ["---"] * len(header), *rows]
    return ["| " + " | ".join(markdown_text(str(cell)) for cell in line) + " |" for line in lines]
