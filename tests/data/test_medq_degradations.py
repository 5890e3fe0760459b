from __future__ import annotations

import numpy as np
import pytest
from skimage.metrics import peak_signal_noise_ratio

from medbench_vlmeval.data import medq_degradations_general as general
from medbench_vlmeval.data import medq_degradations_scanner as scanner
from medbench_vlmeval.data import medq_degradations_slides as slides
from medbench_vlmeval.data.medq_degradations import (
    CT,
    DEGRADATIONS,
    FUNDUS,
    HISTOPATHOLOGY,
    LEVELS,
    MRI,
    degrade,
)
from medbench_vlmeval.data.medq_scenes import clean_picture

PICTURES = {CT: "phantom", MRI: "phantom", FUNDUS: "retina", HISTOPATHOLOGY: "glands"}
EVERY = sorted(DEGRADATIONS)


def picture_for(key: str) -> np.ndarray:
    return clean_picture(PICTURES.get(DEGRADATIONS[key].modality, "glands"))


def grey(values) -> np.ndarray:
    return np.repeat(np.asarray(values, dtype=np.uint8)[..., None], 3, axis=-1)


def test_every_kind_of_picture_has_degradations_of_its_own_and_there_are_general_ones():
    counts = {
        modality: sum(it.modality == modality for it in DEGRADATIONS.values())
        for modality in ("", *PICTURES)
    }
    assert counts == {"": 6, CT: 4, MRI: 3, FUNDUS: 1, HISTOPATHOLOGY: 4}
    assert all((it.scope == "general") == (it.modality == "") for it in DEGRADATIONS.values())


def test_labels_are_words():
    assert DEGRADATIONS["jpeg_blocking"].label == "JPEG blocking"
    assert DEGRADATIONS["motion_blur"].label == "motion blur"


@pytest.mark.parametrize("key", EVERY)
def test_mild_is_visible_and_severe_is_clearly_worse(key):
    clean = picture_for(key)
    mild, severe = (
        peak_signal_noise_ratio(clean, degrade(clean, key, level, seed=3))
        for level in ("mild", "severe")
    )
    assert 15 < mild < 37
    assert severe < min(mild - 3.5, 30)


@pytest.mark.parametrize("key", EVERY)
@pytest.mark.parametrize("level", LEVELS)
def test_shape_type_and_the_input_are_kept(key, level):
    pixels = np.random.default_rng(0).integers(0, 256, (37, 52, 3)).astype(np.uint8)
    before = pixels.copy()
    degraded = degrade(pixels, key, level)
    assert degraded.shape == pixels.shape
    assert degraded.dtype == np.uint8
    assert not np.shares_memory(degraded, pixels)
    np.testing.assert_array_equal(pixels, before)
    np.testing.assert_array_equal(degraded, degrade(pixels, key, level))
    assert (level == "none") == bool((degraded == pixels).all())


@pytest.mark.parametrize("key", EVERY)
@pytest.mark.parametrize("level", ["mild", "severe"])
@pytest.mark.parametrize("shape_hw", [(1, 1), (1, 9), (9, 1), (2, 2)])
def test_tiny_pictures_are_degraded_too(key, level, shape_hw):
    pixels = np.full((*shape_hw, 3), 90, dtype=np.uint8)
    assert degrade(pixels, key, level, seed=5).shape == pixels.shape


@pytest.mark.parametrize("value", [0, 255], ids=["black", "white"])
@pytest.mark.parametrize("key", EVERY)
def test_constant_pictures_are_degraded_too(key, value):
    pixels = np.full((40, 30, 3), value, dtype=np.uint8)
    assert degrade(pixels, key, "severe").shape == pixels.shape


@pytest.mark.parametrize("key", ["motion_blur", "defocus", "low_contrast", "aliasing"])
def test_blur_contrast_and_folding_leave_a_constant_picture_as_it_is(key):
    pixels = np.full((40, 30, 3), (10, 100, 201), dtype=np.uint8)
    np.testing.assert_array_equal(degrade(pixels, key, "severe"), pixels)


@pytest.mark.parametrize("key", [it.key for it in DEGRADATIONS.values() if it.is_random])
def test_the_seed_makes_a_difference(key):
    clean = picture_for(key)[::4, ::4]
    versions = {degrade(clean, key, "mild", seed=seed).tobytes() for seed in range(8)}
    assert len(versions) > 1


def test_gaussian_noise_has_the_stated_deviation_and_is_grey_in_grey_pictures():
    pixels = np.full((200, 200, 3), 128, dtype=np.uint8)
    noisy = general.gaussian_noise(pixels, sigma=10, seed=1).astype(float)
    assert noisy.std() == pytest.approx(10, rel=0.02)
    np.testing.assert_array_equal(noisy[..., 0], noisy[..., 2])
    pixels[..., 0] = 90
    coloured = general.gaussian_noise(pixels, sigma=10, seed=1)
    assert (coloured[..., 1] != coloured[..., 2]).any()


def test_blur_of_a_point_is_its_path_or_disk():
    pixels = np.zeros((31, 31, 3), dtype=np.uint8)
    pixels[15, 15] = 255
    path = general.motion_blur(pixels, length=5, degrees=0)[..., 0]
    assert path[15, 13:18].tolist() == [51] * 5
    assert (path > 0).sum() == 5
    disk = general.defocus(pixels, radius=2)[..., 0]
    assert disk[13:18, 13:18].tolist() == [
        [0, 0, 20, 0, 0],
        [0, 20, 20, 20, 0],
        [20, 20, 20, 20, 20],
        [0, 20, 20, 20, 0],
        [0, 0, 20, 0, 0],
    ]


def test_low_contrast_keeps_the_mean_and_the_stated_share():
    pixels = grey([[0, 100], [150, 150]])
    assert general.low_contrast(pixels, kept=0.5)[..., 0].tolist() == [[50, 100], [125, 125]]


def test_uneven_illumination_darkens_one_corner_by_the_stated_share():
    pixels = np.full((50, 60, 3), 200, dtype=np.uint8)
    for seed in range(6):
        lit = general.uneven_illumination(pixels, drop=0.8, seed=seed)[..., 0]
        corners = sorted(int(lit[row, column]) for row in (0, -1) for column in (0, -1))
        assert (corners[0], corners[-1]) == (40, 200)
        assert (lit.min(), lit.max()) == (40, 200)


def test_colour_cast_multiplies_each_channel():
    pixels = np.full((2, 2, 3), 100, dtype=np.uint8)
    cast = general.colour_cast(pixels, red=0.5, green=1.0, blue=3.0)
    assert cast[0, 0].tolist() == [50, 100, 255]


def test_aliasing_adds_the_picture_moved_by_half_its_height():
    pixels = grey([[200], [0], [0], [0]])
    assert scanner.aliasing(pixels, lost=0.5)[..., 0].ravel().tolist() == [150, 0, 50, 0]


def test_aliasing_is_what_weak_lines_of_k_space_give():
    pixels = grey(np.random.default_rng(2).integers(40, 200, (32, 20)))
    lines = np.fft.fft(pixels[..., 0].astype(float), axis=0)
    lines[1::2] *= 1 - 0.6
    by_lines = np.fft.ifft(lines, axis=0).real
    np.testing.assert_allclose(scanner.aliasing(pixels, lost=0.6)[..., 0], by_lines, atol=0.51)


def test_ghosts_lie_in_the_columns_of_what_moved():
    pixels = np.zeros((60, 40, 3), dtype=np.uint8)
    pixels[25:35, 18:22] = 220
    ghosts = scanner.motion_ghosting(pixels, shift=3, period=6)
    assert not ghosts[:, :18].any()
    assert not ghosts[:, 22:].any()
    assert ghosts[5:15, 18:22].max() > 20
    assert ghosts[45:55, 18:22].max() > 20


def test_a_body_that_does_not_move_has_no_ghosts():
    pixels = grey(np.random.default_rng(3).integers(0, 256, (24, 20)))
    np.testing.assert_array_equal(scanner.motion_ghosting(pixels, shift=0, period=6), pixels)


def test_bias_field_falls_to_the_stated_sensitivity():
    pixels = np.full((50, 60, 3), 200, dtype=np.uint8)
    field = scanner.bias_field(pixels, falloff=3, seed=4)
    assert (field.min(), field.max()) == (50, 200)


def test_low_dose_noise_has_the_stated_deviation_and_no_offset():
    pixels = np.full((120, 120, 3), 128, dtype=np.uint8)
    error = scanner.low_dose_noise(pixels, sigma=10, seed=1).astype(float) - 128
    assert error.std() == pytest.approx(10, rel=0.03)
    assert abs(error.mean()) < 1


def test_rings_are_the_same_in_every_direction():
    pixels = np.full((101, 101, 3), 128, dtype=np.uint8)
    rings = scanner.ring_artefacts(pixels, amplitude=60, rings=8, seed=2)[..., 0]
    np.testing.assert_array_equal(rings, rings.T)
    np.testing.assert_array_equal(rings, rings[::-1])
    assert len(np.unique(rings[50])) > 5


def test_all_views_give_no_streaks_and_few_give_more():
    clean = clean_picture("phantom")
    np.testing.assert_array_equal(scanner.sparse_view_streaks(clean, views=180), clean)
    errors = [
        np.abs(scanner.sparse_view_streaks(clean, views=views).astype(int) - clean).mean()
        for views in (90, 45, 15)
    ]
    assert errors == sorted(errors)
    assert errors[0] > 0


def test_back_projection_undoes_projection():
    clean = clean_picture("phantom")[::2, ::2].mean(axis=-1)
    again = scanner._reconstructed(scanner._projected(clean), clean.shape)
    inner = np.s_[60:90, 60:90]
    assert np.abs(again - clean)[inner].mean() < 4


def test_metal_is_white_and_the_way_between_the_pins_dark():
    pixels = np.full((200, 200, 3), 128, dtype=np.uint8)
    streaked = scanner.metal_streaks(pixels, sigma=20, seed=1)[..., 0]
    assert streaked[round(0.46 * 199), round(0.36 * 199)] == 255
    assert streaked[round(0.52 * 199), round(0.64 * 199)] == 255
    assert streaked[92:104, 90:110].min(axis=0).mean() < 60


def test_slides_change_only_where_the_artefact_lies():
    clean = clean_picture("glands")
    for degraded in (
        slides.air_bubble(clean, radius_share=0.1, seed=1),
        slides.dark_spot(clean, radius_share=0.1, seed=1),
        slides.tissue_fold(clean, width_share=0.1, layers=1, seed=1),
    ):
        share = (degraded != clean).any(axis=-1).mean()
        assert 0.02 < share < 0.16


def test_a_fold_is_darker_than_the_tissue():
    clean = clean_picture("glands")
    folded = slides.tissue_fold(clean, width_share=0.2, layers=2, seed=1)
    changed = (folded != clean).any(axis=-1)
    assert folded[changed].mean() < 0.4 * clean[changed].mean()
    assert (folded <= clean).all()


@pytest.mark.parametrize(
    ("pixels", "key", "level", "message"),
    [
        (np.zeros((4, 4), dtype=np.uint8), "defocus", "mild", "convert the picture"),
        (np.zeros((4, 4, 4), dtype=np.uint8), "defocus", "mild", r"\(4, 4, 4\)"),
        (np.zeros((4, 4, 3)), "defocus", "mild", "float64"),
        (np.zeros((0, 4, 3), dtype=np.uint8), "defocus", "mild", r"\(0, 4, 3\)"),
        (np.zeros((4, 4, 3), dtype=np.uint8), "fog", "mild", "motion_blur.*got 'fog'"),
        (np.zeros((4, 4, 3), dtype=np.uint8), "defocus", "L1", "mild, severe, got 'L1'"),
    ],
    ids=["grey", "alpha", "float", "empty", "unknown", "unknown_level"],
)
def test_other_input_is_refused(pixels, key, level, message):
    with pytest.raises(ValueError, match=message):
        degrade(pixels, key, level)
