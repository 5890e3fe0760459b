"""What edits cost, and the ceilings over all of them: US dollars, or a number of images."""

from __future__ import annotations

import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

_MILLION = 1_000_000
_TEXT_TOKENS = 1000
"""Tokens reserved for an instruction."""


class BudgetReached(Exception):
    """The next edit could exceed a ceiling."""


@dataclass(frozen=True)
class EditPrice:
    """What one request costs, in US dollars.

    `dearest` is reserved before a request goes out. Without prices of tokens it is also what every
    request is booked at.
    """

    dearest: float
    text: float | None = None
    image: float = 0.0
    output: float = 0.0

    def of(self, usage: Mapping[str, Any]) -> float:
        """The cost of an answer with these counts of tokens; the dearest without counts."""
        said = usage.get("output_tokens")
        if self.text is None or said is None:
            return self.dearest
        words, pixels = usage.get("text_tokens"), usage.get("image_tokens")
        if words is None or pixels is None:
            # A total alone is booked at the dearer of the two.
            words, pixels = 0, usage.get("input_tokens") or 0
        return (words * self.text + pixels * self.image + said * self.output) / _MILLION


@cache
def price_table() -> Mapping[str, Any]:
    """The table as shipped: date, source and prices."""
    import json
    from importlib.resources import files

    text = files(__package__).joinpath("prices.json").read_text(encoding="utf-8")
    table: Mapping[str, Any] = json.loads(text)
    return table


def price_of(model: str, quality: str | None, own: float | None, n_images: int) -> EditPrice | None:
    """The price of one edit; `None` means that nobody knows.

    Args:
        model: as requested; a provider's prefix (``openai/gpt-image-1``) is ignored.
        quality: as requested; without one, or an unknown one, the dearest counts.
        own: US dollars per request, which overrides the table.
        n_images: images sent along.
    """
    if own is not None:
        return EditPrice(own)
    entry = price_table()["models"].get(model.rpartition("/")[2])
    if entry is None:
        return None
    outputs = entry["output_tokens"]
    output_tokens = outputs.get(quality or "", max(outputs.values()))
    tokens = (_TEXT_TOKENS, n_images * entry["image_tokens"], output_tokens)
    prices = (entry["text"], entry["image"], entry["output"])
    dearest = sum(n * price for n, price in zip(tokens, prices, strict=True)) / _MILLION
    return EditPrice(dearest, *prices)


class PriceList:
    """What edits with one, two or more images cost; arguments as of `price_of`."""

    def __init__(self, model: str, quality: str | None, own: float | None) -> None:
        self._model = model
        self._quality = quality
        self._own = own

    def of(self, n_images: int) -> EditPrice | None:
        """The price of an edit that sends so many images; `None` means that nobody knows."""
        return price_of(self._model, self._quality, self._own, n_images)

    def refuse_ceiling_without_price(self, max_cost: float | None) -> None:
        """Refuse a ceiling that could not be kept.

        Raises:
            ValueError: there is a ceiling, and no price.
        """
        if max_cost is not None and self.of(1) is None:
            raise ValueError(
                f"expected price_per_image with max_cost, as the price of {self._model} is not "
                "known; give it, or give max_images instead"
            )


class EditBudget:
    """What was spent, what is reserved by requests under way, and the ceilings over both.

    A request goes out only if its dearest outcome still fits. Threads may share a budget.

    Args:
        max_cost: US dollars; `None`: no ceiling.
        max_images: requests that may have made an image; `None`: no ceiling.
    """

    def __init__(self, max_cost: float | None, max_images: int | None) -> None:
        self._max_cost = max_cost
        self._max_images = max_images
        self._change = threading.Condition()
        self._reserved = 0.0
        self._under_way = 0
        self.spent = 0.0
        self.images = 0
        self.requests = 0

    def hold(self, dearest: float) -> None:
        """Reserve the dearest outcome of one request; `settle` gives it back.

        Raises:
            BudgetReached: it does not fit, and nothing under way could still turn out cheaper.
        """
        with self._change:
            while reached := self._reached(dearest):
                if not self._under_way:
                    raise BudgetReached(reached)
                self._change.wait()
            self._reserved += dearest
            self._under_way += 1
            self.requests += 1

    def _reached(self, dearest: float) -> str:
        if self._max_images is not None and self.images + self._under_way >= self._max_images:
            return f"{self.images} of {self._max_images} images are made"
        if self._max_cost is None or self.spent + self._reserved + dearest <= self._max_cost:
            return ""
        return f"{self.spent:.4f} of {self._max_cost:.4f} US dollars are spent"

    def settle(self, dearest: float, *, cost: float, images: int) -> None:
        """The request is over: book what it cost and the images it made, or may have made."""
        with self._change:
            self._under_way -= 1
            # Back to exactly nothing, so that rounding cannot keep a waiting request waiting.
            self._reserved = self._reserved - dearest if self._under_way else 0.0
            self.spent += cost
            self.images += images
            self._change.notify_all()
