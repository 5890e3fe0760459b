from __future__ import annotations

import math

import numpy as np
import pytest

from medbench_vlmeval.metrics import (
    PreparedSample,
    edit_metrics,
    estimated_shift,
    masked_and_context_ssim,
    psnr,
)

from .pictures import ellipse, moved, noisy, pasted, photograph


@pytest.fixture
def sample() -> PreparedSample:
    previous = photograph("chelsea", 256)
    return PreparedSample(previous, ellipse(*previous.shape[:2], share=0.2, soft=True))


def test_edit_metrics_are_the_single_metrics(sample: PreparedSample) -> None:
    edited = noisy(pasted(sample.previous, sample.roi, photograph("coffee")), 4)
    inside = sample.roi > 0

    metrics = edit_metrics(sample, edited)

    pair = masked_and_context_ssim(sample.previous, edited, sample.roi)
    assert (metrics.official, metrics.context) == (pair.official, pair.context)
    assert metrics.psnr_inside == psnr(sample.previous, edited, inside)
    assert metrics.psnr_outside == psnr(sample.previous, edited, ~inside)
    assert metrics.shift == estimated_shift(sample.previous, edited, sample.roi)
    assert metrics.roi_share == pytest.approx(inside.mean())
    assert not metrics.shifted
    assert metrics.border == 0


def test_edits_of_one_sample_do_not_disturb_each_other(sample: PreparedSample) -> None:
    first = noisy(sample.previous, 4, seed=1)
    second = moved(sample.previous, 7, -3)

    alone = [
        edit_metrics(PreparedSample(sample.previous, sample.roi), edited)
        for edited in (first, second, first)
    ]

    assert [edit_metrics(sample, edited) for edited in (first, second, first)] == alone
    assert [metrics.shifted for metrics in alone] == [False, True, False]


def test_an_unchanged_image_is_perfect_and_has_infinite_psnr(sample: PreparedSample) -> None:
    metrics = edit_metrics(sample, sample.previous.copy())

    assert (metrics.official, metrics.context) == (1.0, 1.0)
    assert metrics.psnr_inside == metrics.psnr_outside == math.inf


def test_a_change_inside_only_leaves_the_outside_untouched(sample: PreparedSample) -> None:
    edited = pasted(sample.previous, sample.roi, photograph("coffee"))

    metrics = edit_metrics(sample, edited)

    assert metrics.psnr_outside == math.inf
    assert metrics.psnr_inside < 30
    assert metrics.context == 1.0


@pytest.mark.parametrize(
    ("level", "inside_is_none", "outside_is_none"), [(0, True, False), (255, False, True)]
)
def test_a_side_without_pixels_has_no_psnr(
    level: int, inside_is_none: bool, outside_is_none: bool
) -> None:
    previous = photograph("coins", 64)
    sample = PreparedSample(previous, np.full(previous.shape[:2], level, np.uint8))

    metrics = edit_metrics(sample, noisy(previous, 5))

    assert (metrics.psnr_inside is None) == inside_is_none
    assert (metrics.psnr_outside is None) == outside_is_none
    assert (metrics.context is None) == outside_is_none


def test_a_black_band_counts_only_beyond_that_of_the_input(sample: PreparedSample) -> None:
    framed = sample.previous.copy()
    framed[-4:] = 0
    edited = framed.copy()
    edited[-10:] = 0

    assert edit_metrics(sample, framed).border == 4
    assert edit_metrics(PreparedSample(framed, sample.roi), framed).border == 0
    assert edit_metrics(PreparedSample(framed, sample.roi), edited).border == 6


def test_a_wrong_sample_is_refused_at_once() -> None:
    with pytest.raises(ValueError, match="expected roi of shape"):
        PreparedSample(np.zeros((20, 30, 3), np.uint8), np.zeros((30, 20), np.uint8))
