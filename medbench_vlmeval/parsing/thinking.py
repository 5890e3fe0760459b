"""The thinking part of a reply: what a reasoning model writes before its answer."""

from __future__ import annotations

import re

_MARK = re.compile(
    r"<\s*(?P<close>/?)\s*think(?:ing)?\s*>|◁\s*(?P<close_kimi>/?)\s*think(?:ing)?\s*▷",
    re.IGNORECASE,
)


def without_thinking(reply: str) -> tuple[str, bool]:
    """The reply without its thinking part, and whether that part never ended.

    Blocks between ``<think>`` and ``</think>`` (also ``<thinking>``, and ``◁think▷`` as Kimi-VL
    writes it, in any case) are removed. A closing mark without an opening one drops everything
    before it: serving stacks often put the opening mark into the prompt. When a block never ends,
    the reply was cut inside it; the text before it is given, and True.

    Linear in the length of the reply.
    """
    kept: list[str] = []
    position = 0
    is_thinking = False
    for mark in _MARK.finditer(reply):
        closes = bool(mark["close"] or mark["close_kimi"])
        if closes and not is_thinking:
            kept.clear()
        elif not closes and not is_thinking:
            kept.append(reply[position : mark.start()])
        if closes or not is_thinking:
            position = mark.end()
        is_thinking = not closes
    if not is_thinking:
        kept.append(reply[position:])
    return "".join(kept), is_thinking
