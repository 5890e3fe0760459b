"""What a question costs: tokens by stated rules, prices from a dated table, and a ceiling.

Text counts one token per four ASCII characters and one per other character, plus four per message.
Images are counted as their provider describes it; a model whose rule is not known is counted like
``gpt-4o``: 85 tokens, and 170 for each square of 512 pixels after the image was fitted into 2048 x
2048 and its shorter side reduced to 768.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

_MILLION = 1_000_000
_DATE_SUFFIX = re.compile(r"-\d{4}-\d{2}-\d{2}$")
_MESSAGE_TOKENS = 4
_PATCH_SIDE = 32
_PATCH_LIMIT = 1536


@dataclass(frozen=True)
class Price:
    """US dollars per million tokens."""

    prompt: float
    completion: float

    def of(self, prompt_tokens: int, completion_tokens: int) -> float:
        """US dollars for one reply."""
        return (prompt_tokens * self.prompt + completion_tokens * self.completion) / _MILLION


@cache
def price_table() -> Mapping[str, Any]:
    """The table as shipped: date, source, prices and image rules."""
    text = files(__package__).joinpath("prices.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def price_of(model: str, own: tuple[float, float] | None = None) -> Price | None:
    """The price of `model`; `own` overrides the table, `None` means that nobody knows.

    A dated id that is not listed itself has the price of its family; a provider's prefix
    (``openai/gpt-4o``) is ignored.
    """
    if own is not None:
        return Price(*own)
    entry = _entry(model)
    return None if entry is None else Price(entry["input"], entry["output"])


def text_tokens(text: str) -> int:
    """Estimated tokens of a text."""
    plain = len(text.encode("ascii", errors="ignore"))
    return math.ceil(plain / 4) + len(text) - plain


def message_tokens() -> int:
    """Tokens that each message adds to its parts."""
    return _MESSAGE_TOKENS


def image_tokens(model: str, size_wh: tuple[int, int]) -> int:
    """Estimated tokens of an image of `size_wh` pixels, sent without a detail setting."""
    entry = _entry(model) or {"image": "tiles"}
    rule = price_table()["image_rules"][entry["image"]]
    if rule["kind"] == "patches":
        return _patch_tokens(size_wh, rule["factor"])
    if rule["kind"] == "squares":
        return rule["tile"] * _squares(size_wh, rule["side"])
    if rule["kind"] == "area":
        return math.ceil(size_wh[0] * size_wh[1] / rule["pixels_per_token"])
    return rule["base"] + rule["tile"] * _squares(_fitted(size_wh), 512)


def _entry(model: str) -> Mapping[str, Any] | None:
    name = model.rpartition("/")[2]
    models = price_table()["models"]
    found: Mapping[str, Any] | None = models.get(name) or models.get(_DATE_SUFFIX.sub("", name))
    return found


def _fitted(size_wh: tuple[int, int]) -> tuple[int, int]:
    scale = min(1.0, 2048 / max(size_wh), 768 / min(size_wh))
    return max(1, round(size_wh[0] * scale)), max(1, round(size_wh[1] * scale))


def _squares(size_wh: tuple[int, int], side: int) -> int:
    return math.ceil(size_wh[0] / side) * math.ceil(size_wh[1] / side)


def _patch_tokens(size_wh: tuple[int, int], factor: float) -> int:
    patches = min(_squares(size_wh, _PATCH_SIDE), _PATCH_LIMIT)
    return math.ceil(patches * factor)


class Budget:
    """What was spent, what is reserved by questions under way, and the ceiling over both.

    A question is let through only if its dearest outcome still fits. Estimates are scaled up by
    the worst ratio of real to estimated cost seen so far.
    """

    def __init__(self, ceiling: float | None, *, spent: float = 0.0) -> None:
        self._ceiling = ceiling
        self._reserved = 0.0
        self._under_way = 0
        self._factor = 1.0
        self._settled = asyncio.Condition()
        self.spent = spent

    async def hold(self, expected: float | None) -> float:
        """Reserve the expected cost of a question; give what this returns to `release`.

        Raises:
            BudgetReached: it does not fit, and nothing under way could still turn out cheaper.
        """
        if self._ceiling is None or expected is None:
            return 0.0
        async with self._settled:
            while self.spent + self._reserved + expected * self._factor > self._ceiling:
                if not self._under_way:
                    raise BudgetReached(self.spent, self._ceiling)
                await self._settled.wait()
            held = expected * self._factor
            self._reserved += held
            self._under_way += 1
        return held

    async def release(self, held: float) -> None:
        """The question is over, answered or not."""
        if not held:
            return
        self._under_way -= 1
        # Back to exactly nothing, so that rounding cannot keep a waiting question waiting.
        self._reserved = self._reserved - held if self._under_way else 0.0
        async with self._settled:
            self._settled.notify_all()

    def add(self, cost: float | None, expected: float | None) -> None:
        """Book what a reply cost, and learn from it how far estimates can be trusted."""
        self.spent += cost or 0.0
        if cost and expected:
            self._factor = max(self._factor, cost / expected)


class BudgetReached(Exception):
    """The next question could exceed the ceiling."""

    def __init__(self, spent: float, ceiling: float) -> None:
        super().__init__(f"{spent:.4f} of {ceiling:.4f} US dollars are spent")
        self.spent = spent
        self.ceiling = ceiling
