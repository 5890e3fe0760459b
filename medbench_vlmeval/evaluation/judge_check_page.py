"""The page ``judge_check.md``: what was found in plain words, the numbers, and how it was asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from .judge_check_findings import Findings
from .judge_check_numbers import Agreement, Sanity, Shift
from .judge_check_plan import CheckPlan
from .judge_check_words import in_cell

_AGREEMENT = (
    *("column", "n", "equal", "mean difference", "mean distance", "weighted kappa", "kappa"),
    *("ICC(2,1)", "ICC(3,1)", "alpha"),
)
_SANITY = ("shown", "column", "expected", "n", "as expected", "mean points")
_SHIFT = ("changed", "column", "n", "shift in points", "equal")


def page(
    plan: CheckPlan,
    found: Findings,
    lines: Sequence[str],
    warnings: Sequence[str],
    facts: Mapping[str, Any],
) -> str:
    """The page as Markdown.

    Args:
        plan: what was asked.
        found: all numbers.
        lines: what was found, in sentences.
        warnings: what speaks against the judge.
        facts: who judged and how, as ``judge_check.json`` holds them.
    """
    judge, second = facts["judge"], facts["second_judge"]
    sections = [
        f"# Is {_plain(judge['model_requested'])} a reliable judge on {plan.benchmark}?",
        *_state(facts),
        "## What was found",
        _bullets(lines),
        "## Warnings",
        _bullets(warnings) or "None at the limits named below. That is no proof.",
    ]
    sections += _tables(found, second)
    sections += ["## How it was asked", _bullets(_asked(plan, facts)), ""]
    return "\n\n".join(section for section in sections if section) + "\n"


def _state(facts: Mapping[str, Any]) -> list[str]:
    state = []
    if not facts["complete"]:
        state.append(f"**Not complete: {_plain(facts['stopped'])}**")
    return state + [_plain(note) for note in facts["notes"]]


def _tables(found: Findings, second: Mapping[str, Any] | None) -> list[str]:
    sections = []
    if found.retest:
        sections += ["## The same call twice", _agreement_table(found.retest)]
    if found.second and second is not None:
        name = _plain(second["model_requested"])
        sections += [f"## Against {name}", _agreement_table(found.second)]
    if found.sanity:
        sections += [
            "## Cases with a known answer",
            _table(_SANITY, map(_sanity_row, found.sanity)),
        ]
    if found.shifts:
        sections += [
            "## The same work shown in another way",
            _table(_SHIFT, map(_shift_row, found.shifts)),
        ]
    return sections


def _sanity_row(it: Sanity) -> list[str]:
    wanted = it.expectation
    return [
        wanted.text,
        wanted.column,
        f"{'≥' if wanted.at_least else '≤'} {wanted.limit:g}",
        str(it.passed.n),
        in_cell(it.passed, percent=True),
        in_cell(it.mean),
    ]


def _shift_row(it: Shift) -> list[str]:
    return [
        it.change.text,
        it.column,
        str(it.difference.n),
        in_cell(it.difference, sign=True),
        in_cell(it.equal, percent=True),
    ]


def _agreement_table(agreements: Iterable[Agreement]) -> str:
    return _table(_AGREEMENT, [_agreement_row(it) for it in agreements])


def _agreement_row(it: Agreement) -> list[str]:
    return [
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
    ]


def _asked(plan: CheckPlan, facts: Mapping[str, Any]) -> list[str]:
    options = facts["options"]
    lines = [
        f"{len(facts['samples'])} samples, the first of those drawn with seed {options['seed']}; "
        f"checks: {', '.join(options['checks'])}",
        _judge_line("judge", facts["judge"]),
    ]
    if facts["second_judge"] is not None:
        lines.append(_judge_line("second judge", facts["second_judge"]))
    if facts["n_known_before"]:
        lines.append(
            f"{facts['n_known_before']} of the replies that others are compared with were in the "
            "cache already; they may be older than the rest"
        )
    limits = ", ".join(f"{name} {value:g}" for name, value in options["limits"].items())
    return [
        *lines,
        f"questions sent: {facts['n_calls']}; the others were answered from the cache",
        f"limits behind the warnings: {limits}",
        "intervals: 95 %, cluster bootstrap over source images; Wilson's for shares of samples",
    ]


def _judge_line(role: str, judge: Mapping[str, Any]) -> str:
    answered = ", ".join(judge["models_returned"]) or "nobody"
    sent = ", ".join(f"{name} {value}" for name, value in judge["effective_parameters"].items())
    spent = "" if judge["spent"] is None else f", {judge['spent']:.4f} US dollars spent"
    return _plain(
        f"{role}: {judge['model_requested']} at {judge['endpoint']}, answered by {answered}; "
        f"sent {sent}{spent}"
    )


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(map(_cell, line))} |" for line in lines)


def _cell(text: str) -> str:
    return _plain(text).replace("|", r"\|")


def _bullets(lines: Iterable[str]) -> str:
    return "\n".join(f"- {_plain(line)}" for line in lines)


def _plain(text: str) -> str:
    # Names of models and words of servers are data: no markup, no line of their own.
    return " ".join(str(text).split()).replace("<", "&lt;")
