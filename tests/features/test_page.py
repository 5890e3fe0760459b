"""The page docs/fid.md says what the code does."""

from __future__ import annotations

import doctest
from pathlib import Path

from medbench_vlmeval.evaluation.fid_runs import SUFFIX
from medbench_vlmeval.evaluation.set_distances import LEAST_FOR_FRECHET, LEAST_FOR_KERNEL
from medbench_vlmeval.features import EXTRACTORS
from medbench_vlmeval.features.extractor import FID_WEIGHTS_SHA256
from medbench_vlmeval.features.weights import FETCHED_NAMES
from medbench_vlmeval.metrics.kid import N_SUBSETS, SUBSET_SIZE

PAGE = Path(__file__).resolve().parents[2] / "docs" / "fid.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_examples_print_what_the_page_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted >= 10
    assert outcome.failed == 0


def test_the_bounds_and_names_are_those_of_the_code() -> None:
    for words in (
        f"Below **{LEAST_FOR_FRECHET} images** in either set there is no Fréchet distance",
        f"Below **{LEAST_FOR_KERNEL} images** there is no kernel distance",
        f"over {N_SUBSETS} random subsets of {SUBSET_SIZE:,} images",
        f"`<run>{SUFFIX}`",
        f"begins with `{FID_WEIGHTS_SHA256}`",
        FETCHED_NAMES[0],
        *(f"| `{name}` |" for name in EXTRACTORS),
    ):
        assert words in TEXT


def test_the_picture_is_there() -> None:
    assert "(fid_bias.svg)" in TEXT
    assert (PAGE.parent / "fid_bias.svg").read_text(encoding="utf-8").lstrip().startswith("<?xml")
