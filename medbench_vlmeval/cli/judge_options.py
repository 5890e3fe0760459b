"""Options about the judge, the same for every command that asks one."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import click

Command = TypeVar("Command", bound=Callable[..., Any])

_OPTIONS = (
    click.option(
        "--judge", default=None, help="Judge model; 'none' for no judge.  [default: gpt-4o]"
    ),
    click.option("--judge-base-url", default=None, help="Any OpenAI-compatible endpoint."),
    click.option(
        "--judge-nproc", default=32, show_default=True, help="Judge calls under way at once."
    ),
    click.option(
        "--judge-retry", default=6, show_default=True, help="Repetitions of a failed call."
    ),
    click.option("--judge-args", default="{}", help="More options as JSON, see docs/judging.md."),
    click.option(
        "--max-cost", type=float, default=None, help="Stop judging at this many US dollars."
    ),
    click.option(
        "--estimate", is_flag=True, help="Say what judging would cost, and judge nothing."
    ),
)


def judge_options(command: Command) -> Command:
    """Give a command the options from ``--judge`` to ``--estimate``."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def judge_arguments(given: Mapping[str, Any]) -> dict[str, Any]:
    """VLMEvalKit's judge arguments, with ours beside them, out of the options given.

    Raises:
        click.UsageError: ``--judge-args`` is not a JSON object.
    """
    model = given["judge"] or "gpt-4o"
    arguments: dict[str, Any] = {
        "model": "exact_matching" if model == "none" else model,
        "nproc": given["judge_nproc"],
        "retry": given["judge_retry"],
        **json_object("--judge-args", given["judge_args"]),
    }
    if given["judge_base_url"]:
        arguments["api_base"] = given["judge_base_url"]
    if given["max_cost"] is not None:
        arguments["medbench_max_cost"] = given["max_cost"]
    if given["estimate"]:
        arguments["medbench_estimate"] = True
    return arguments


def json_object(option: str, text: str) -> dict[str, Any]:
    """The JSON object that an option holds.

    Raises:
        click.UsageError: it is not one.
    """
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise click.UsageError(f"expected a JSON object for {option} ({error})") from error
    if not isinstance(value, dict):
        raise click.UsageError(f"expected a JSON object for {option}, got {text}")
    return value
