from __future__ import annotations

from collections import Counter
from itertools import islice
from random import Random

import pytest

from medbench_vlmeval.human.sampling import drawn_in_turn

STRATA = [("Eyes", "a")] * 30 + [("Eyes", "b")] * 4 + [("Spine", "c")] * 3 + [("Torso", "d")]


def first(n: int, seed: int = 0, strata: list[tuple[str, ...]] = STRATA) -> list[int]:
    return list(islice(drawn_in_turn(strata, Random(seed)), n))


def test_everything_comes_once() -> None:
    assert sorted(first(999)) == list(range(len(STRATA)))


def test_groups_take_turns_until_they_are_empty() -> None:
    organs = Counter(STRATA[position][0] for position in first(7))
    assert organs == {"Eyes": 3, "Spine": 3, "Torso": 1}


def test_within_a_group_its_own_groups_take_turns() -> None:
    tasks = Counter(STRATA[p][1] for p in first(12) if STRATA[p][0] == "Eyes")
    assert tasks == {"a": 4, "b": 4}


def test_the_same_seed_draws_the_same_and_another_something_else() -> None:
    assert first(12, seed=3) == first(12, seed=3)
    assert first(12, seed=3) != first(12, seed=4)


def test_fewer_samples_are_the_beginning_of_more() -> None:
    assert first(20)[:8] == first(8)


@pytest.mark.parametrize("strata", [[], [()], [("a",), ()]], ids=["none", "no labels", "uneven"])
def test_samples_without_labels_are_drawn_too(strata: list[tuple[str, ...]]) -> None:
    assert sorted(first(9, strata=strata)) == list(range(len(strata)))
