from __future__ import annotations

import doctest
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from skimage.filters import threshold_otsu

from medbench_vlmeval.metrics import attention_grounding, attention_iou, mask_iou
from medbench_vlmeval.metrics.attention import attended_pixels, resized_map, resized_roi

from ..shared import shared_cases, shared_path

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attention.md"

CASES = {case.id: case for case in shared_cases("attention.jsonl")}


def shared_case(name: str) -> Any:
    """The case of that id as a parameter; skips like `shared_cases` where there are none."""
    return pytest.mark.parametrize("case", [CASES.get(name, CASES.get("absent"))])


def ramp() -> np.ndarray:
    return np.tile(np.linspace(0, 1, 8), (8, 1))


def quarter(side: int = 8) -> np.ndarray:
    roi = np.zeros((side, side), np.uint8)
    roi[: side // 2, : side // 2] = 255
    return roi


def blob(size_hw: tuple[int, int] = (64, 64), centre: tuple[float, float] = (0.3, 0.3)) -> Any:
    rows, columns = (np.arange(side) / side for side in size_hw)
    distance = (rows[:, None] - centre[0]) ** 2 + (columns[None] - centre[1]) ** 2
    return np.exp(-distance / 0.02)


@shared_case("V-A01")
def test_a_square_inside_the_roi(case: dict[str, Any]) -> None:
    values = np.zeros((8, 8))
    values[2:4, 2:4] = 1
    found = attention_grounding(values, quarter(), alpha=case["alpha"])
    assert found.iou == case["required"]["iou"] == attention_iou(values, quarter())
    assert found.attended_share == case["required"]["predicted_pixels"] / 64
    assert found.pointing == found.energy == 1.0


@shared_case("V-A02")
def test_a_ramp_over_eight_columns(case: dict[str, Any]) -> None:
    required = case["required"]
    roi = np.zeros((8, 8), bool)
    roi[:, 4:] = True
    found = attention_grounding(ramp(), roi, alpha=case["alpha"])
    assert found.iou == case["expected_iou"]
    assert found.threshold == pytest.approx(required["threshold"], abs=required["tolerance"])
    assert threshold_otsu(ramp()) == pytest.approx(required["otsu"], abs=required["tolerance"])
    attended = attended_pixels(ramp(), (8, 8), side=8)
    assert np.flatnonzero(attended[0]).tolist() == required["predicted_columns"]


@shared_case("V-A03")
def test_a_map_that_fires_everywhere_scores_the_roi_share(case: dict[str, Any]) -> None:
    found = attention_grounding(np.ones((8, 8), bool), quarter())
    assert found.roi_share == case["required"]["roi_share_reported"]
    assert found.iou == case["required"]["iou"]
    assert found.attended_share == 1.0
    assert found.threshold is None


@shared_case("V-A04")
def test_a_mask_of_another_size_is_brought_to_the_square_by_nearest_neighbour(
    case: dict[str, Any],
) -> None:
    width, height = case["mask_size"]
    grey = np.random.default_rng(0).integers(0, 256, (height, width), dtype=np.uint8)
    values = blob(tuple(case["map_size"]))
    found = attention_grounding(values, grey)
    nearest = Image.fromarray(grey).resize((512, 512), Image.Resampling.NEAREST)
    expected = np.asarray(nearest) > 127
    assert case["required"] == {"mask_resize": "nearest", "roi_pixels_after": "> 127 counts"}
    assert found.roi_share == expected.mean()
    normal = (values - values.min()) / (values.max() - values.min())
    large = resized_map(normal, (512, 512))
    attended = large > 1.3 * threshold_otsu(large)
    assert found.iou == mask_iou(attended, expected)


def test_a_map_that_is_the_roi_scores_one_and_the_opposite_zero() -> None:
    roi = blob() > 0.5
    same = attention_grounding(roi.astype(float), roi)
    assert (same.iou, same.pointing, same.energy) == (1.0, 1.0, 1.0)
    opposite = attention_grounding((~roi).astype(float), roi)
    assert (opposite.iou, opposite.pointing, opposite.energy) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize("factor", [1e-4, 3.0], ids=["small", "large"])
@pytest.mark.parametrize("offset", [0.0, -2.0, 1.0])
def test_scale_and_offset_of_a_map_do_not_matter(factor: float, offset: float) -> None:
    roi = blob(centre=(0.4, 0.35)) > 0.5
    expected, found = (
        attention_grounding(values, roi) for values in (blob(), factor * blob() + offset)
    )
    assert found.iou == pytest.approx(expected.iou, abs=2e-3)
    assert found.energy == pytest.approx(expected.energy)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_the_kind_of_number_hardly_matters(dtype: type) -> None:
    roi = blob() > 0.5
    assert attention_iou(blob().astype(dtype), roi) == pytest.approx(
        attention_iou(blob(), roi), abs=5e-3
    )


@pytest.mark.parametrize("turn", [1, 2, 3])
def test_turning_both_changes_nothing(turn: int) -> None:
    values, roi = blob(), quarter(64)
    assert attention_iou(np.rot90(values, turn), np.rot90(roi, turn)) == pytest.approx(
        attention_iou(values, roi), abs=1e-12
    )


def test_the_threshold_is_strict() -> None:
    values = np.array([[0.0, 0.5], [0.5, 1.0]])
    level = float(threshold_otsu(values))
    found = attention_grounding(values, np.ones((2, 2), bool), alpha=0.5 / level)
    assert found.threshold == pytest.approx(0.5)
    assert found.attended_share == 0.25


def test_a_map_of_the_pictures_size_is_drawn_as_it_is_scored() -> None:
    values, roi = blob(), blob(centre=(0.4, 0.35)) > 0.5
    attended = attended_pixels(values, (values.shape[1], values.shape[0]))
    assert attended is not None
    assert mask_iou(attended, roi) == attention_iou(values, roi)


def test_a_binary_map_without_any_pixel_says_what_is_missing() -> None:
    found = attention_grounding(np.zeros((8, 8), bool), quarter())
    assert (found.iou, found.pointing, found.energy) == (0.0, None, None)
    assert "attends no pixel" in found.note


def test_nothing_above_the_threshold_scores_zero() -> None:
    found = attention_grounding(ramp(), quarter(), alpha=3.0)
    assert (found.iou, found.attended_share) == (0.0, 0.0)


@pytest.mark.parametrize(
    ("values", "roi", "note"),
    [
        (np.full((8, 8), 0.25), quarter(), "constant"),
        (np.zeros((8, 8)), quarter(), "constant"),
        (np.full((8, 8), np.nan), quarter(), "not finite"),
        (np.where(np.eye(8), np.nan, ramp()), quarter(), "not finite"),
        (np.where(np.eye(8), np.inf, ramp()), quarter(), "not finite"),
        (ramp(), np.zeros((8, 8), np.uint8), "ROI has no pixels"),
        (np.full((64, 64), 0.5), quarter(40), "constant"),
        (blob(), np.zeros((40, 30), np.uint8), "ROI has no pixels"),
    ],
    ids=["constant", "zeros", "nan", "one nan", "infinite", "empty", "sizes", "empty, sizes"],
)
def test_where_there_is_no_number_there_is_none(
    values: np.ndarray, roi: np.ndarray, note: str
) -> None:
    found = attention_grounding(values, roi)
    assert attention_iou(values, roi) is None
    assert (found.iou, found.attended_share, found.pointing, found.energy) == (None,) * 4
    assert note in found.note
    assert 0.0 <= found.roi_share < 0.5


def test_several_highest_pixels_point_in_part() -> None:
    values = np.zeros((4, 4))
    values[0, 0] = values[3, 3] = 1.0
    assert attention_grounding(values, quarter(4)).pointing == 0.5


def test_energy_by_hand() -> None:
    values = np.array([[1.0, 3.0], [5.0, 1.0]])  # normalised: 0, 0.5, 1, 0
    roi = np.array([[False, True], [False, False]])
    assert attention_grounding(values, roi).energy == pytest.approx(0.5 / 1.5)


@pytest.mark.parametrize(
    "roi",
    [quarter() // 255, quarter() / 255, quarter() > 0, quarter().astype(np.int64)],
    ids=["zero-one", "fraction", "boolean", "wide"],
)
def test_masks_are_read_whatever_their_scale(roi: np.ndarray) -> None:
    assert attention_iou(ramp(), roi) == attention_iou(ramp(), quarter())


def test_grey_of_a_mask_is_cut_above_127() -> None:
    assert attention_grounding(ramp(), np.full((8, 8), 127, np.uint8)).iou is None
    assert attention_grounding(ramp(), np.full((8, 8), 128, np.uint8)).roi_share == 1.0


@pytest.mark.parametrize(
    ("values", "roi", "options"),
    [
        (np.ones((2, 2, 2)), quarter(), {}),
        (np.ones((0, 4)), quarter(), {}),
        (ramp(), np.ones((2, 2, 3)), {}),
        (ramp(), np.full((8, 8), np.nan), {}),
        (ramp(), quarter(), {"alpha": 0.0}),
        (ramp(), quarter(), {"side": 0}),
    ],
    ids=["map", "no pixels", "colour mask", "nan mask", "alpha", "side"],
)
def test_other_arrays_and_options_are_refused(
    values: np.ndarray, roi: np.ndarray, options: dict[str, Any]
) -> None:
    with pytest.raises(ValueError, match="expected"):
        attention_iou(values, roi, **options)


def test_resizing_is_that_of_torch() -> None:
    torch = pytest.importorskip("torch")
    values = np.random.default_rng(1).random((9, 14))
    expected = torch.nn.functional.interpolate(
        torch.from_numpy(values)[None, None], size=(64, 50), mode="bilinear", align_corners=False
    )[0, 0].numpy()
    np.testing.assert_allclose(resized_map(values, (50, 64)), expected, atol=1e-6)


def test_a_mask_is_resized_as_the_released_scoring_does() -> None:
    roi = np.random.default_rng(2).random((37, 23)) > 0.5
    picture = Image.fromarray(roi.astype(np.uint8) * 255)
    expected = np.asarray(picture.resize((50, 64), Image.Resampling.NEAREST)) == 255
    np.testing.assert_array_equal(resized_roi(roi, (50, 64)), expected)


def test_the_published_iou_follows_the_roi_share() -> None:
    organs = json.loads(shared_path("data/medebench_organs.json").read_text(encoding="utf-8"))
    chart = json.loads(shared_path("data/medebench_attention.json").read_text(encoding="utf-8"))
    iou = chart["per_organ_iou_bar"]
    assert len(iou) == 13
    shares = [organs["organs"][name]["roi_ratio_fig4"] for name in iou]
    assert np.corrcoef(shares, [*iou.values()])[0, 1] == pytest.approx(0.92, abs=0.005)


def test_examples_of_the_page_print_what_it_shows() -> None:
    outcome = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert outcome.attempted > 10
    assert outcome.failed == 0
