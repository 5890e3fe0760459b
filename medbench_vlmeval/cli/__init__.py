"""``medbench``: prepare data, score pictures, look at results, check the installation."""

from __future__ import annotations

import logging
import sys

import click

from .. import __version__
from .attention import attention, attention_quadrants, attention_score
from .boards import leaderboard
from .data_commands import data
from .diagnostics import fid
from .groups import Plain
from .human import human
from .judge_check import judge_check
from .looking import conventions, doctor
from .pages import report
from .runs import diff, repair, results, show, verify
from .scoring import score


@click.group(cls=Plain, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="medbench")
@click.option("-v", "--verbose", is_flag=True, help="Log what happens, not only what matters.")
def main(verbose: bool) -> None:
    """Medical image benchmarks for VLMEvalKit: data, scores, results, and the installation."""
    logging.basicConfig(
        level=logging.DEBUG if verbose else logging.INFO, format="%(message)s", stream=sys.stderr
    )
    for chatty in ("httpx", "httpx2", "httpcore", "openai", "PIL", "asyncio", "numba", "peewee"):
        logging.getLogger(chatty).setLevel(logging.WARNING)


for command in (
    data, score, results, leaderboard, report, show, verify, diff, repair, fid, judge_check,
    human, attention, attention_score, attention_quadrants, conventions, doctor,
):  # fmt: skip
    main.add_command(command)
