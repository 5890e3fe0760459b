"""``medbench judge-check``: whether a judge is reliable, on a few samples."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from .judge_options import json_object, judge_arguments, judge_options

if TYPE_CHECKING:
    from ..evaluation.judge_check import CheckResult
    from ..evaluation.judge_check_plan import CheckOptions, CheckPlan
    from ..evaluation.options import EvaluationOptions
    from ..judging import JudgeSettings
    from ..judging.medq import MedQTemplates

Command = TypeVar("Command", bound=Callable[..., Any])

_CHECKS = ("retest", "sanity", "order", "format")
_LIMITS = {
    "high": (0.7, "Share of the scale that perfect work must get at least."),
    "low": (0.3, "Share of the scale that plainly bad work may get at most."),
    "pass_rate": (0.9, "Share of samples that must be scored as expected."),
    "kappa": (0.6, "Weighted kappa below which agreement is called weak."),
    "shift": (0.05, "Share of the scale from which on a shift is named."),
    "failed": (0.05, "Share of refusals, or of unreadable replies, that is named."),
}

_SHARED = ("nproc", "retry", "timeout", "temperature", "max_tokens", "key", "api_base")
"""Arguments of the judge that the second one takes over."""


def _limit_options(command: Command) -> Command:
    for name, (default, text) in reversed(_LIMITS.items()):
        option = f"--limit-{name.replace('_', '-')}"
        command = click.option(
            option, f"limit_{name}", default=default, show_default=True, help=text
        )(command)
    return command


@click.command("judge-check")
@click.option("--data", "dataset", default="MedEBench_sample", show_default=True)
@click.option(
    "--predictions",
    type=click.Path(path_type=Path, exists=True, dir_okay=False),
    default=None,
    help="Judge this run's edits or descriptions.  [default: some made from the data itself]",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("outputs/judge_check"),
    show_default=True,
)
@click.option("--samples", default=30, show_default=True, help="Samples, drawn by organ.")
@click.option("--seed", default=0, show_default=True, help="Of the choice of samples.")
@click.option(
    "--check",
    "checks",
    multiple=True,
    type=click.Choice(_CHECKS),
    help="Only this; may be given several times.  [default: all]",
)
@judge_options
@click.option("--max-calls", type=int, default=None, help="Questions, to both judges together.")
@click.option("--second-judge", default=None, help="Another judge model, asked about the same.")
@click.option("--second-judge-base-url", default=None, help="[default: that of the judge]")
@click.option(
    "--second-judge-key-variable",
    default=None,
    help="Environment variable with its key.  [default: the judge's key, at the same address]",
)
@click.option("--second-judge-args", default="{}", help="As --judge-args, for the second judge.")
@_limit_options
@click.option("--html", is_flag=True, help="Write judge_check.html as well (needs Jinja2).")
def judge_check(
    dataset: str, predictions: Path | None, out: Path, html: bool, **given: Any
) -> None:
    """Find out whether a judge repeats itself, sees the obvious, and ignores what it should.

    Writes judge_check.md, .json and .jsonl to OUT. A killed check goes on where it was.
    """
    from ..evaluation.judge_check import check_judge, estimated_check
    from ..evaluation.options import EvaluationOptions, judge_settings
    from ..files import write_text_atomic
    from ..report.html_text import needed_for_reports
    from ..report.pages.plain_page import plain_page

    options = _check_options(given)
    arguments = _as_asked(dataset, judge_arguments(given))
    choices, rest = EvaluationOptions.from_host(arguments)
    settings = judge_settings(rest, os.environ)
    if settings is None:
        raise click.UsageError(
            "expected a judge; set OPENAI_API_KEY, or give --judge and --judge-base-url"
        )
    second = _second_settings(given, arguments)
    plan = _plan(dataset, predictions, out, options, choices)
    if choices.estimate:
        for name, estimate in estimated_check(plan, settings, second).items():
            click.echo(f"{name}: {estimate}")
        return
    if html:
        needed_for_reports("jinja2")  # before anything is paid for
    result = check_judge(plan, settings, out, second=second, options=options)
    if html:
        page = plain_page(result.title, map(asdict, result.sections))
        write_text_atomic(result.files.html, page)
    _show(result)
    if result.stopped is not None:
        raise result.stopped


def _show(result: CheckResult) -> None:
    for line in (*result.notes, *result.lines):
        click.echo(line)
    for warning in result.warnings:
        click.echo(f"warning: {warning}")
    click.echo(f"{result.n_calls} questions sent; see {result.files.page}")


def _check_options(given: Mapping[str, Any]) -> CheckOptions:
    from ..evaluation.judge_check_plan import CheckOptions, Limits

    limits = Limits(**{it.name: given[f"limit_{it.name}"] for it in fields(Limits)})
    return CheckOptions(
        given["samples"], given["seed"], given["checks"] or _CHECKS, given["max_calls"], limits
    )


def _plan(
    dataset: str,
    predictions: Path | None,
    out: Path,
    options: CheckOptions,
    choices: EvaluationOptions,
) -> CheckPlan:
    from ..data import MEDQ_TABLE_NAMED, load_medebench
    from ..evaluation.judge_check import CheckFiles
    from ..evaluation.judge_check_medebench import edits_of_run, medebench_plan

    if dataset in MEDQ_TABLE_NAMED:
        return _medq_plan(dataset, predictions, options, choices)
    data = load_medebench(dataset)
    edits = None if predictions is None else edits_of_run(predictions, data)
    return medebench_plan(
        data, edits, CheckFiles(out).pictures, options, layout=choices.judge_layout
    )


def _medq_plan(
    dataset: str, predictions: Path | None, options: CheckOptions, choices: EvaluationOptions
) -> CheckPlan:
    from ..data import load_medq
    from ..evaluation.judge_check_medq import medq_plan, replies_of_run

    data = load_medq(dataset)
    if data.kind not in ("caption", "paired"):
        raise click.UsageError(f"expected a table of descriptions, got {dataset} ({data.kind})")
    replies = None if predictions is None else replies_of_run(predictions, data)
    return medq_plan(data, replies, _templates(data.kind, choices.judge_wording), options)


def _templates(kind: str, wording: str) -> MedQTemplates:
    """The published questions, which VLMEvalKit ships, or ours."""
    from ..hosting.medq_classes import host_templates_of
    from ..judging.medq import host_templates, own_templates

    if wording == "own":
        return own_templates(kind)
    try:
        found = host_templates_of(kind)
    except ModuleNotFoundError as error:
        if error.name != "vlmeval":
            raise
        raise click.UsageError(
            "expected VLMEvalKit, which ships the published questions, to be installed; or take "
            """ours: --judge-args '{"medbench_judge_wording": "own"}'"""
        ) from error
    return own_templates(kind) if found is None else host_templates(kind, found)


def _as_asked(dataset: str, arguments: dict[str, Any]) -> dict[str, Any]:
    """The judge and the parameters that MedQ-Bench asks it with; MedEBench leaves them open."""
    from ..data import MEDQ_TABLE_NAMED
    from ..judging.medq import PUBLISHED_JUDGE

    if dataset not in MEDQ_TABLE_NAMED:
        return arguments
    asked = {name: PUBLISHED_JUDGE[name] for name in ("temperature", "max_tokens")} | arguments
    if asked["model"] == "gpt-4o":
        asked["model"] = PUBLISHED_JUDGE["model"]
    return asked


def _second_settings(
    given: Mapping[str, Any], arguments: Mapping[str, Any]
) -> JudgeSettings | None:
    from ..evaluation.options import judge_settings

    if given["second_judge"] is None:
        return None
    chosen = {name: arguments[name] for name in _SHARED if name in arguments}
    chosen |= json_object("--second-judge-args", given["second_judge_args"])
    chosen["model"] = given["second_judge"]
    environ = dict(os.environ)
    if given["second_judge_base_url"]:
        # The judge's key is for the judge's address, and goes nowhere else.
        chosen["api_base"] = given["second_judge_base_url"]
        chosen.pop("key", None)
        environ.pop("OPENAI_API_KEY", None)
    if given["second_judge_key_variable"]:
        chosen["key"] = _key(given["second_judge_key_variable"])
    settings = judge_settings(chosen, environ)
    if settings is None:
        raise click.UsageError("expected a key or an address for the second judge")
    return settings


def _key(variable: str) -> str:
    value = os.environ.get(variable)
    if not value:
        raise click.UsageError(f"expected a key in the environment variable {variable}, got none")
    return value
