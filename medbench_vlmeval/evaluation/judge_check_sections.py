"""What the page of a check holds: sentences, warnings, tables, and how it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from .judge_check_findings import Findings
from .judge_check_numbers import Agreement, Sanity, Shift
from .judge_check_words import in_cell, shown_samples

_AGREEMENT = (
    *("column", "n", "equal", "mean difference", "mean distance", "weighted kappa", "kappa"),
    *("ICC(2,1)", "ICC(3,1)", "alpha"),
)
_SANITY = ("shown", "column", "expected", "n", "as expected", "mean points")
_SHIFT = ("changed", "column", "n", "shift in points", "equal")


@dataclass(frozen=True)
class Section:
    """A part of a page: text, a list, or a table; plain text throughout."""

    title: str
    text: str = ""
    points: tuple[str, ...] = ()
    header: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def title_of(benchmark: str, facts: Mapping[str, Any]) -> str:
    """The heading of the page."""
    return f"Is {facts['judge']['model_requested']} a reliable judge on {benchmark}?"


def sections(
    found: Findings,
    lines: Sequence[str],
    warnings: Sequence[str],
    facts: Mapping[str, Any],
) -> list[Section]:
    """The page, part by part.

    Args:
        found: all numbers.
        lines: what was found, in sentences.
        warnings: what speaks against the judge.
        facts: who judged and how, as ``judge_check.json`` holds them.
    """
    none = "" if warnings else "None at the limits named below. That is no proof."
    return [
        *_state(facts),
        Section("What was found", points=tuple(lines)),
        Section("Warnings", none, tuple(warnings)),
        *_tables(found, facts["second_judge"]),
        Section("How it was asked", points=tuple(_asked(facts))),
    ]


def _state(facts: Mapping[str, Any]) -> Iterator[Section]:
    if not facts["complete"]:
        yield Section("Not complete", facts["stopped"])
    if facts["notes"]:
        yield Section("What was judged", points=tuple(facts["notes"]))


def _tables(found: Findings, second: Mapping[str, Any] | None) -> Iterator[Section]:
    if found.retest:
        yield _agreements("The same call twice", found.retest)
    if found.second and second is not None:
        yield _agreements(f"Against {second['model_requested']}", found.second)
    if found.sanity:
        rows = tuple(map(_sanity_row, found.sanity))
        yield Section("Cases with a known answer", header=_SANITY, rows=rows)
    if found.shifts:
        rows = tuple(map(_shift_row, found.shifts))
        yield Section("The same work shown in another way", header=_SHIFT, rows=rows)


def _agreements(title: str, agreements: Iterable[Agreement]) -> Section:
    return Section(title, header=_AGREEMENT, rows=tuple(map(_agreement_row, agreements)))


def _agreement_row(it: Agreement) -> tuple[str, ...]:
    return (
        it.column,
        str(it.n),
        in_cell(it.equal, percent=True),
        in_cell(it.mean_difference, sign=True),
        in_cell(it.mean_distance),
        in_cell(it.weighted_kappa),
        in_cell(it.kappa),
        in_cell(it.icc_agreement),
        in_cell(it.icc_consistency),
        in_cell(it.alpha),
    )


def _sanity_row(it: Sanity) -> tuple[str, ...]:
    wanted = it.expectation
    return (
        wanted.text,
        wanted.column,
        f"{'≥' if wanted.at_least else '≤'} {wanted.limit:g}",
        str(it.passed.n),
        in_cell(it.passed, percent=True),
        in_cell(it.mean),
    )


def _shift_row(it: Shift) -> tuple[str, ...]:
    return (
        it.change.text,
        it.column,
        str(it.difference.n),
        in_cell(it.difference, sign=True),
        in_cell(it.equal, percent=True),
    )


def _asked(facts: Mapping[str, Any]) -> Iterator[str]:
    options = facts["options"]
    yield (
        f"{shown_samples(len(facts['samples']))}, the first of those drawn with seed "
        f"{options['seed']}; checks: {', '.join(options['checks']) or 'none but the second judge'}"
    )
    yield _judge_line("judge", facts["judge"])
    if facts["second_judge"] is not None:
        yield _judge_line("second judge", facts["second_judge"])
    yield f"questions sent: {facts['n_calls']}; the others were answered from the cache"
    if facts["n_known_before"]:
        yield (
            f"{facts['n_known_before']} of the replies that others are compared with were in the "
            "cache already; they may be older than the rest"
        )
    limits = ", ".join(f"{name} {value:g}" for name, value in options["limits"].items())
    yield f"limits behind the warnings: {limits}"
    yield (
        "intervals: 95 %, cluster bootstrap over source images; for shares of samples Wilson's, "
        "with as many cases as there are source images"
    )


def _judge_line(role: str, judge: Mapping[str, Any]) -> str:
    answered = ", ".join(judge["models_returned"]) or "nobody"
    sent = ", ".join(f"{name} {value}" for name, value in judge["effective_parameters"].items())
    spent = "" if judge["spent"] is None else f", {judge['spent']:.4f} US dollars spent"
    return (
        f"{role}: {judge['model_requested']} at {judge['endpoint']}, answered by {answered}; "
        f"sent {sent}{spent}"
    )
