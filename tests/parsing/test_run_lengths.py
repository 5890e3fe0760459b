from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis.extra.numpy import array_shapes, arrays
from pycocotools.mask import decode, encode

from medbench_vlmeval.parsing import RunLengths

masks = arrays(np.bool_, array_shapes(min_dims=2, max_dims=2, max_side=12))


def written_compressed(runs: tuple[int, ...]) -> str:
    """COCO's compressed text, written from its description: 5 bits a character, sign in bit 4."""
    text = ""
    for position, run in enumerate(runs):
        value = run - runs[position - 2] if position > 2 else run
        more = True
        while more:
            bits = value & 31
            value >>= 5
            more = value != (-1 if bits & 16 else 0)
            text += chr(48 + (bits | 32 if more else bits))
    return text


@settings(max_examples=100, deadline=None)
@given(masks)
def test_a_mask_survives_both_forms(mask: np.ndarray) -> None:
    runs = RunLengths.of(mask)
    assert np.array_equal(RunLengths.from_coco(runs.to_coco()).mask(), mask)
    compressed = {"size": list(mask.shape), "counts": written_compressed(runs.runs)}
    assert RunLengths.from_coco(compressed) == runs


def test_runs_go_down_the_columns_and_begin_outside() -> None:
    mask = np.array([[0, 1], [1, 1], [0, 0]])
    assert RunLengths.of(mask).runs == (1, 1, 1, 2, 1)
    assert RunLengths.of(1 - mask).runs == (0, 1, 1, 1, 2, 1)


@pytest.mark.filterwarnings("ignore:__array__ implementation:DeprecationWarning")
def test_pycocotools_writes_and_reads_the_same() -> None:
    generator = np.random.default_rng(0)
    for _ in range(30):
        mask = generator.random(generator.integers(1, 90, size=2)) < generator.random()
        theirs = encode(np.asfortranarray(mask.astype(np.uint8)))
        assert RunLengths.from_coco(theirs) == RunLengths.of(mask)
        assert np.array_equal(decode(theirs).astype(bool), RunLengths.of(mask).mask())


@pytest.mark.parametrize(
    ("written", "reason"),
    [
        ({}, "size"),
        ({"size": [3], "counts": [3]}, "size"),
        ({"size": [2, 2], "counts": None}, "counts"),
        ({"size": [2, 2], "counts": [1, 2]}, "4 pixels in all, got 3"),
        ({"size": [2, 2], "counts": [5, -1]}, "negative"),
        ({"size": [0, 2], "counts": []}, "pixels"),
        ({"size": [100_000, 100_000], "counts": [10_000_000_000]}, "pixels"),
        ({"size": [2, 2], "counts": "é"}, "compressed"),
        ({"size": [2, 2], "counts": "P"}, "inside a number"),
        ({"size": [2, 2], "counts": "o" * 400}, "compressed"),
        ({"size": [2, 2], "counts": [1.5, 2.5]}, "counts"),
        ({"size": [True, 4], "counts": [4]}, "size"),
    ],
)
def test_what_is_no_mask_is_refused_before_it_is_decoded(
    written: dict[str, object], reason: str
) -> None:
    with pytest.raises(ValueError, match=reason):
        RunLengths.from_coco(written)


def test_only_planes_have_runs() -> None:
    with pytest.raises(ValueError, match="shape"):
        RunLengths.of(np.ones((2, 2, 2)))
