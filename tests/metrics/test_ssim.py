from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.ndimage import maximum_filter
from skimage.metrics import structural_similarity

from medbench_vlmeval.metrics import context_ssim, masked_and_context_ssim, masked_ssim
from medbench_vlmeval.metrics.ssim import KERNEL_VARIABLE

from .pictures import ellipse, noisy, photograph

TOLERANCE = 1e-12


@pytest.fixture(params=["numba", "strips"], autouse=True)
def kernel(request: pytest.FixtureRequest) -> Iterator[str]:
    # Hypothesis objects to function-scoped monkeypatch, hence a context of its own.
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv(KERNEL_VARIABLE, request.param)
        yield request.param


def blackened(image: np.ndarray, roi: np.ndarray) -> np.ndarray:
    """ToTensor, times 1 - mask, ToPILImage, in the float32 arithmetic of the released code."""
    keep = np.float32(1) - roi.astype(np.float32) / np.float32(255)
    tensor = image.astype(np.float32) / np.float32(255) * keep[..., None]
    return (tensor * np.float32(255)).astype(np.uint8)


def reference(
    previous: np.ndarray, edited: np.ndarray, roi: np.ndarray
) -> tuple[float, float | None, int]:
    official, similarity = structural_similarity(
        blackened(previous, roi), blackened(edited, roi), channel_axis=-1, full=True
    )
    near_roi = maximum_filter((roi > 0).astype(np.uint8), size=7)[3:-3, 3:-3]
    free = similarity[3:-3, 3:-3][near_roi == 0]
    return official, float(free.mean()) if free.size else None, len(free)


def random_pairs() -> list[pytest.param]:
    """Forty-eight pairs: every kind of image with every kind of mask, at growing sizes."""
    random = np.random.default_rng(7)
    sizes = [(7, 7), (7, 30), (31, 8), (8, 9), (20, 33), (40, 70), (97, 64), (130, 111)]
    pairs = []
    for number, (height, width) in enumerate(sizes):
        shape = (height, width, 3)
        images = {
            "noise": random.integers(0, 256, shape),
            "near_white": random.integers(250, 256, shape),
            "near_black": random.integers(0, 3, shape),
            "checker": np.broadcast_to(
                255 * (np.indices((height, width)).sum(0) % 2)[..., None], shape
            ),
            "ramp": np.broadcast_to((np.arange(width) * 255 // width)[None, :, None], shape),
            "steps": np.repeat(random.integers(0, 256, (height, width, 1)) // 64 * 85, 3, axis=2),
        }
        rois = {
            "none": np.zeros((height, width)),
            "corner": np.pad(
                np.full((height // 3, width // 3), 255),
                ((0, height - height // 3), (0, width - width // 3)),
            ),
            "soft": ellipse(height, width, share=0.3, soft=True),
            "dots": np.where(random.random((height, width)) < 0.01, 255, 0),
            "zero_one": random.integers(0, 2, (height, width)),
            "any_grey": random.integers(0, 256, (height, width)),
        }
        for shift, (name, image) in enumerate(images.items()):
            mask_name = list(rois)[(shift + number) % len(rois)]
            previous = np.ascontiguousarray(image, np.uint8)
            edited = noisy(previous, float(random.choice([0.5, 4, 60])), seed=number)
            roi = np.ascontiguousarray(rois[mask_name], np.uint8)
            label = f"{name}-{mask_name}-{width}x{height}"
            pairs.append(pytest.param(previous, edited, roi, id=label))
    return pairs


@pytest.mark.parametrize(("previous", "edited", "roi"), random_pairs())
def test_both_values_equal_an_independent_implementation(
    previous: np.ndarray, edited: np.ndarray, roi: np.ndarray
) -> None:
    official, context, n_context = reference(previous, edited, roi)

    pair = masked_and_context_ssim(previous, edited, roi)

    assert pair.official == pytest.approx(official, abs=TOLERANCE)
    assert pair.n_context_windows == n_context
    if context is None:
        assert pair.context is None
    else:
        assert pair.context == pytest.approx(context, abs=TOLERANCE)


@pytest.mark.parametrize("name", ["astronaut", "chelsea", "immunohistochemistry"])
def test_photographs_with_soft_masks_equal_scikit_image(name: str) -> None:
    previous = photograph(name)
    roi = ellipse(*previous.shape[:2], share=0.2, soft=True)
    edited = noisy(previous, 2)
    official, context, _ = reference(previous, edited, roi)

    assert masked_ssim(previous, edited, roi) == pytest.approx(official, abs=TOLERANCE)
    assert context_ssim(previous, edited, roi) == pytest.approx(context, abs=TOLERANCE)


def small_images(height: int = 11, width: int = 13) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.uint8, (height, width, 3))


def small_masks(height: int = 11, width: int = 13) -> st.SearchStrategy[np.ndarray]:
    return arrays(np.uint8, (height, width), elements=st.sampled_from([0, 0, 0, 1, 128, 255]))


properties = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@properties
@given(image=small_images(), roi=small_masks())
def test_equal_images_score_exactly_one(image: np.ndarray, roi: np.ndarray) -> None:
    pair = masked_and_context_ssim(image, image.copy(), roi)

    assert pair.official == 1.0
    assert pair.context in (None, 1.0)


@properties
@given(a=small_images(), b=small_images(), roi=small_masks())
def test_the_order_of_the_images_does_not_matter(
    a: np.ndarray, b: np.ndarray, roi: np.ndarray
) -> None:
    assert masked_and_context_ssim(a, b, roi) == masked_and_context_ssim(b, a, roi)


@properties
@given(a=small_images(), b=small_images(), roi=small_masks())
def test_values_stay_within_bounds_and_equal_the_reference(
    a: np.ndarray, b: np.ndarray, roi: np.ndarray
) -> None:
    official, context, n_context = reference(a, b, roi)

    pair = masked_and_context_ssim(a, b, roi)

    assert -1 <= pair.official <= 1
    assert pair.official == pytest.approx(official, abs=TOLERANCE)
    assert (pair.context is None) == (n_context == 0)
    if context is not None:
        assert pair.context == pytest.approx(context, abs=TOLERANCE)


@properties
@given(a=small_images(), b=small_images(), c=small_images(), roi=small_masks())
def test_context_ssim_ignores_what_happens_inside_the_roi(
    a: np.ndarray, b: np.ndarray, c: np.ndarray, roi: np.ndarray
) -> None:
    edited_elsewhere = np.where(roi[..., None] > 0, c, b)

    assert context_ssim(a, b, roi) == context_ssim(a, edited_elsewhere, roi)


@properties
@given(a=small_images(), b=small_images(), roi=small_masks())
def test_flipping_everything_changes_nothing(a: np.ndarray, b: np.ndarray, roi: np.ndarray) -> None:
    upright = masked_and_context_ssim(a, b, roi)
    flipped = masked_and_context_ssim(a[::-1, ::-1], b[::-1, ::-1], roi[::-1, ::-1])

    assert flipped.official == pytest.approx(upright.official, abs=TOLERANCE)
    assert flipped.n_context_windows == upright.n_context_windows


def test_one_window_by_hand() -> None:
    # Black against black but for one pixel of 255 in one channel: means 255/49 and 0, variance
    # 49/48 * (255^2/49 - (255/49)^2) = 255^2/49, covariance 0.
    previous = np.zeros((7, 7, 3), np.uint8)
    edited = previous.copy()
    edited[3, 3, 0] = 255
    c1, c2 = (0.01 * 255) ** 2, (0.03 * 255) ** 2
    mean, variance = 255 / 49, 255**2 / 49
    by_hand = (c1 * c2) / ((mean**2 + c1) * (variance + c2))
    roi = np.zeros((7, 7), np.uint8)

    pair = masked_and_context_ssim(previous, edited, roi)

    assert pair.official == pytest.approx((by_hand + 2) / 3, abs=1e-15)
    assert pair.context == pair.official
    assert pair.n_context_windows == 1


def test_constant_images_differ_by_their_luminance_alone() -> None:
    roi = np.zeros((16, 16), np.uint8)
    a, b = np.full((16, 16, 3), 100, np.uint8), np.full((16, 16, 3), 110, np.uint8)
    c1 = (0.01 * 255) ** 2

    value = masked_ssim(a, b, roi)

    assert value == pytest.approx((2 * 100 * 110 + c1) / (100**2 + 110**2 + c1), abs=1e-15)


def test_a_roi_everywhere_scores_one_officially_and_nothing_strictly() -> None:
    a, b = noisy(photograph("coins", 64), 0), noisy(photograph("moon", 64), 0)
    b = b[: a.shape[0], : a.shape[1]]
    roi = np.full(a.shape[:2], 255, np.uint8)

    pair = masked_and_context_ssim(a, b, roi)

    assert pair == (1.0, None, 0)


def test_an_empty_roi_makes_both_values_equal() -> None:
    a = photograph("chelsea", 96)
    b = noisy(a, 10)
    roi = np.zeros(a.shape[:2], np.uint8)

    pair = masked_and_context_ssim(a, b, roi)

    assert pair.context == pytest.approx(pair.official, abs=TOLERANCE)
    assert pair.n_context_windows == (a.shape[0] - 6) * (a.shape[1] - 6)


def test_one_roi_pixel_takes_forty_nine_windows() -> None:
    a = photograph("chelsea", 96)
    roi = np.zeros(a.shape[:2], np.uint8)
    roi[30, 40] = 1

    pair = masked_and_context_ssim(a, noisy(a, 10), roi)

    assert pair.n_context_windows == (a.shape[0] - 6) * (a.shape[1] - 6) - 49


def test_a_mask_of_zeros_and_ones_hardly_masks() -> None:
    a = noisy(np.full((64, 64, 3), 128, np.uint8), 60, seed=1)
    b = noisy(np.full((64, 64, 3), 128, np.uint8), 60, seed=2)
    roi = np.zeros((64, 64), np.uint8)
    roi[:, :32] = 1

    assert masked_ssim(a, b, roi * 255) - masked_ssim(a, b, roi) > 0.4
    assert context_ssim(a, b, roi) == context_ssim(a, b, roi * 255)


def test_the_official_value_rises_with_the_roi_and_the_strict_one_does_not() -> None:
    previous = photograph("grass", 256)
    edited = noisy(previous, 40)
    masks = [ellipse(256, 256, share=share) for share in (0.05, 0.2, 0.5)]

    official = [masked_ssim(previous, edited, roi) for roi in masks]
    context = [context_ssim(previous, edited, roi) for roi in masks]

    assert official == sorted(official)
    assert official[2] - official[0] > 0.15
    assert max(context) - min(context) < 0.05


def test_arrays_that_are_not_contiguous_are_accepted() -> None:
    wide = photograph("chelsea", 96)
    a, b = wide[::2, ::-1], noisy(wide, 9)[::2, ::-1]
    roi = ellipse(96, 96, share=0.2)[: wide.shape[0] : 2, : wide.shape[1]]

    expected = masked_and_context_ssim(a.copy(), b.copy(), roi.copy())

    assert masked_and_context_ssim(a, b, roi) == expected


@pytest.mark.parametrize(
    ("previous", "edited", "roi", "message"),
    [
        pytest.param(
            np.zeros((8, 8, 3)), np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8), np.uint8),
            "expected previous to be uint8, got float64", id="float_image",
        ),
        pytest.param(
            np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8), np.zeros((8, 8), np.uint8),
            r"expected previous of shape \(H, W, 3\), got \(8, 8\)", id="grey_image",
        ),
        pytest.param(
            np.zeros((8, 8, 4), np.uint8), np.zeros((8, 8, 4), np.uint8),
            np.zeros((8, 8), np.uint8), r"got \(8, 8, 4\)", id="four_channels",
        ),
        pytest.param(
            np.zeros((8, 8, 3), np.uint8), np.zeros((8, 9, 3), np.uint8),
            np.zeros((8, 8), np.uint8), r"got \(8, 9, 3\).*resize_like", id="another_size",
        ),
        pytest.param(
            np.zeros((8, 8, 3), np.uint8), np.zeros((8, 8, 3), np.uint8),
            np.zeros((8, 8), bool), "expected roi to be uint8 with 255 inside, got bool",
            id="boolean_mask",
        ),
        pytest.param(
            np.zeros((8, 9, 3), np.uint8), np.zeros((8, 9, 3), np.uint8),
            np.zeros((9, 8), np.uint8), r"expected roi of shape \(8, 9\), got \(9, 8\)",
            id="transposed_mask",
        ),
        pytest.param(
            np.zeros((6, 9, 3), np.uint8), np.zeros((6, 9, 3), np.uint8),
            np.zeros((6, 9), np.uint8), "at least 7 pixels, the SSIM window, got 9 x 6",
            id="smaller_than_a_window",
        ),
    ],
)  # fmt: skip
def test_wrong_input_is_named(
    previous: np.ndarray, edited: np.ndarray, roi: np.ndarray, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        masked_ssim(previous, edited, roi)
