from __future__ import annotations

import asyncio
import json
from datetime import date

import pytest

from medbench_vlmeval.judging.pricing import (
    Budget,
    BudgetReached,
    Price,
    image_tokens,
    price_of,
    price_table,
    text_tokens,
)


@pytest.mark.parametrize(
    ("model", "size_wh", "tokens"),
    [
        # Worked examples of the provider's public description of its rule.
        ("gpt-4o", (1024, 1024), 765),
        ("gpt-4o", (2048, 4096), 1105),
        ("gpt-4o", (512, 512), 255),
        ("gpt-4o", (100, 100), 255),
        ("gpt-4o", (513, 513), 765),
        ("gpt-4o-mini", (512, 512), 8500),
        ("gpt-4.1-mini", (1024, 1024), 1659),
        ("gpt-4.1-mini", (9000, 9000), 2489),
        ("a-model-nobody-knows", (1024, 1024), 765),
        ("gemini-2.5-flash", (768, 768), 258),
        ("claude-sonnet-4-5", (750, 1000), 1000),
    ],
)
def test_image_tokens_follow_the_stated_rule(
    model: str, size_wh: tuple[int, int], tokens: int
) -> None:
    assert image_tokens(model, size_wh) == tokens


def test_text_counts_four_plain_characters_or_one_other_as_a_token() -> None:
    assert text_tokens("") == 0
    assert text_tokens("abcdefgh") == 2
    assert text_tokens("abcde") == 2
    assert text_tokens("图像质量") == 4


def test_a_dated_id_has_the_price_of_its_family_unless_listed_itself() -> None:
    assert price_of("gpt-4o-2024-08-06") == price_of("gpt-4o") == Price(2.5, 10.0)
    assert price_of("openai/gpt-4o") == price_of("gpt-4o")
    assert price_of("gpt-4o-2024-05-13") == Price(5.0, 15.0)
    assert price_of("gpt-4o-mini-2024-07-18") == Price(0.15, 0.6)
    assert price_of("gpt-4o-something") is None
    assert price_of("gpt-4o", (1.0, 2.0)) == Price(1.0, 2.0)


def test_the_table_has_a_date_and_only_rules_that_exist() -> None:
    table = price_table()
    date.fromisoformat(table["as_of"])
    assert {entry["image"] for entry in table["models"].values()} <= set(table["image_rules"])
    assert json.dumps(table)
    for model in table["models"]:
        assert image_tokens(model, (640, 480)) > 0


def test_cost_is_per_million_tokens() -> None:
    assert Price(2.0, 8.0).of(1_000_000, 500_000) == 6.0


async def ask(budget: Budget, expected: float | None, cost: float | None) -> None:
    held = await budget.hold(expected)
    await asyncio.sleep(0)
    budget.add(cost, expected)
    await budget.release(held)


def test_a_budget_lets_through_only_what_fits() -> None:
    async def spend() -> tuple[int, float]:
        budget = Budget(1.0)
        done = 0
        try:
            while True:
                await ask(budget, 0.3, 0.3)
                done += 1
        except BudgetReached:
            return done, budget.spent

    done, spent = asyncio.run(spend())
    assert done == 3
    assert spent == pytest.approx(0.9)


def test_a_question_waits_while_cheaper_outcomes_are_possible() -> None:
    async def spend() -> float:
        budget = Budget(1.0)

        async def cheap() -> None:
            await ask(budget, 0.6, 0.1)

        await asyncio.gather(*[cheap() for _ in range(5)])
        return budget.spent

    assert asyncio.run(spend()) == pytest.approx(0.5)


def test_an_estimate_that_was_too_low_once_is_scaled_up() -> None:
    async def spend(budget: Budget) -> None:
        while True:
            await ask(budget, 0.1, 0.4)

    async def spent() -> float:
        budget = Budget(1.0)
        with pytest.raises(BudgetReached):
            await spend(budget)
        return budget.spent

    assert asyncio.run(spent()) == pytest.approx(0.8)


def test_without_a_ceiling_everything_is_let_through_and_counted() -> None:
    async def spend() -> float:
        budget = Budget(None)
        await ask(budget, None, None)
        await ask(budget, 1e9, 2.0)
        return budget.spent

    assert asyncio.run(spend()) == 2.0
