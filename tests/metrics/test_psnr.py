from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from skimage.metrics import peak_signal_noise_ratio

from medbench_vlmeval.metrics import psnr

from .pictures import ellipse, noisy, photograph

IMAGES = arrays(np.uint8, (5, 6, 3))


def test_psnr_equals_scikit_image() -> None:
    a = photograph("coffee")
    b = noisy(a, 7)

    assert psnr(a, b) == pytest.approx(peak_signal_noise_ratio(a, b, data_range=255), abs=1e-12)


def test_psnr_of_a_region_counts_only_its_pixels() -> None:
    a = photograph("coffee")
    b = noisy(a, 7)
    region = ellipse(*a.shape[:2], share=0.2) > 0
    error = np.mean((a[region].astype(float) - b[region]) ** 2)

    assert psnr(a, b, region) == pytest.approx(10 * math.log10(255**2 / error), abs=1e-12)
    assert psnr(a, b, np.ones_like(region)) == psnr(a, b)


def test_one_changed_level_by_hand() -> None:
    a = np.zeros((4, 4, 3), np.uint8)
    b = a.copy()
    b[0, 0, 0] = 3

    assert psnr(a, b) == pytest.approx(10 * math.log10(255**2 / (9 / 48)))


def test_equal_images_have_infinite_psnr() -> None:
    a = photograph("coins", 32)

    assert psnr(a, a.copy()) == math.inf


def test_an_empty_region_has_no_psnr() -> None:
    a = photograph("coins", 32)

    assert psnr(a, a, np.zeros(a.shape[:2], bool)) is None


@given(a=IMAGES, b=IMAGES, region=arrays(np.bool_, (5, 6)) | st.none())
def test_the_order_does_not_matter(a: np.ndarray, b: np.ndarray, region: np.ndarray | None) -> None:
    assert psnr(a, b, region) == psnr(b, a, region)


@pytest.mark.parametrize(
    ("a", "b", "region", "message"),
    [
        pytest.param(
            np.zeros((4, 4, 3)), np.zeros((4, 4, 3)), None, "expected a to be uint8", id="float"
        ),
        pytest.param(
            np.zeros((4, 4, 3), np.uint8), np.zeros((4, 5, 3), np.uint8), None,
            r"shape of a, \(4, 4, 3\), got \(4, 5, 3\)", id="shapes",
        ),
        pytest.param(
            np.zeros((4, 4, 3), np.uint8), np.zeros((4, 4, 3), np.uint8),
            np.zeros((4, 4), np.uint8), "expected region to be bool", id="region_dtype",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_named(
    a: np.ndarray, b: np.ndarray, region: np.ndarray | None, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        psnr(a, b, region)
