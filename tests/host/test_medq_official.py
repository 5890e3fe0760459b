"""The published letter rules against the methods of the installed VLMEvalKit."""

from __future__ import annotations

import math
import random

import pytest

from medbench_vlmeval.official.medq import choice, deg_choice

pytestmark = pytest.mark.host

_ALPHABET = (
    "AAABBBCCDDEEFabcdefxz  ..::)(--,;[]*\\{}\n\t\v\x1c0125ıßſİﬀéЖＡＢ答选是\u00a0\u200b\u2028"
)
_WORDS = [
    "answer is ", "Answer is ", "ANSWER IS ", "option ", "OPTION ", "the ", "A ", "a ", "B. ",
    "C) ", "D - ", "E: ", "<think>", "</think>", "\\boxed{", "}", "**", "Yes", "No", "None", "",
]  # fmt: skip


def strings(n: int) -> list[str]:
    """`n` random strings: half of signs, half of words and signs."""
    source = random.Random(20251001)
    made = ["".join(source.choices(_ALPHABET, k=source.randrange(12))) for _ in range(n // 2)]
    pieces = [*_WORDS, *_ALPHABET]
    made += ["".join(source.choices(pieces, k=source.randrange(9))) for _ in range(n - n // 2)]
    return made


def test_letters_equal_those_of_the_host() -> None:
    from vlmeval.dataset.medqbench_mcq import MedqbenchMCQDataset

    host = MedqbenchMCQDataset.__new__(MedqbenchMCQDataset)
    replies = strings(5_000)
    published = [host._extract_option_letter(reply) for reply in replies]
    assert [choice(reply) for reply in replies] == published
    assert {"A", "B", "C", "D"} < set(published)
    assert sum(len(letter) > 1 for letter in published) > 200


def test_letters_of_the_robustness_benchmark_equal_those_of_the_host() -> None:
    from vlmeval.dataset.medq_deg_bench import MedQDEGBenchDataset

    host = MedQDEGBenchDataset.__new__(MedQDEGBenchDataset)
    replies = strings(5_000)
    published = [host._extract_option_letter(reply) for reply in replies]
    assert [deg_choice(reply) for reply in replies] == published
    assert {"A", "B", "C", "D", "E"} < set(published)


@pytest.mark.parametrize("reply", [2, 2.5, True, math.inf])
def test_numbers_are_read_as_the_host_reads_them(reply: object) -> None:
    from vlmeval.dataset.medqbench_mcq import MedqbenchMCQDataset

    host = MedqbenchMCQDataset.__new__(MedqbenchMCQDataset)
    assert choice(reply) == host._extract_option_letter(reply)
