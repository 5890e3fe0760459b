from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medbench_vlmeval.metrics import box_iou, box_iou_batch
from medbench_vlmeval.official import medsg

UNIT = (0, 0, 10, 10)

coordinates = st.floats(-1e4, 1e4, allow_nan=False)
boxes = st.tuples(coordinates, coordinates, coordinates, coordinates)
integer_boxes = st.tuples(*[st.integers(0, 24)] * 4)


@pytest.mark.parametrize(
    ("box", "expected"),
    [
        pytest.param((0, 0, 10, 10), 1.0, id="equal"),
        pytest.param((5, 0, 15, 10), 50 / 150, id="half_shifted"),
        pytest.param((2, 2, 4, 7), 0.1, id="inside"),
        pytest.param((5, 5, 15, 15), 25 / 175, id="corner"),
        pytest.param((10, 0, 20, 10), 0.0, id="touching_side"),
        pytest.param((10, 10, 20, 20), 0.0, id="touching_corner"),
        pytest.param((11, 11, 20, 20), 0.0, id="apart"),
        pytest.param((-10, -10, 20, 20), 1 / 9, id="around"),
        pytest.param((5, 0, 5, 10), 0.0, id="line"),
        pytest.param((5, 5, 5, 5), 0.0, id="point"),
        pytest.param((8, 8, 2, 2), 0.0, id="inverted"),
        pytest.param((0, 8, 10, 2), 0.0, id="inverted_in_y"),
    ],
)
def test_value_by_hand(box: tuple[float, ...], expected: float) -> None:
    assert box_iou(UNIT, box) == pytest.approx(expected, abs=1e-15)
    assert box_iou_batch([UNIT], [box])[0] == box_iou(UNIT, box)


@given(boxes, boxes)
@settings(max_examples=300, deadline=None)
def test_value_is_symmetric_and_within_bounds(a: tuple[float, ...], b: tuple[float, ...]) -> None:
    assert box_iou(a, b) == box_iou(b, a)
    assert 0.0 <= box_iou(a, b) <= 1.0


@given(boxes)
@settings(max_examples=200, deadline=None)
def test_a_box_with_area_equals_itself(box: tuple[float, ...]) -> None:
    x1, y1, x2, y2 = box
    has_area = x2 > x1 and y2 > y1 and (x2 - x1) * (y2 - y1) > 0
    assert box_iou(box, box) == (1.0 if has_area else 0.0)


@given(integer_boxes, integer_boxes)
@settings(max_examples=200, deadline=None)
def test_value_is_the_count_of_pixels(a: tuple[int, ...], b: tuple[int, ...]) -> None:
    painted = []
    for x1, y1, x2, y2 in (a, b):
        canvas = np.zeros((24, 24), dtype=bool)
        canvas[y1:y2, x1:x2] = True
        painted.append(canvas)
    union = np.count_nonzero(painted[0] | painted[1])
    both = np.count_nonzero(painted[0] & painted[1])
    assert box_iou(a, b) == pytest.approx(both / union if union else 0.0, abs=1e-15)


@given(integer_boxes, integer_boxes)
@settings(max_examples=200, deadline=None)
def test_value_equals_the_published_one_for_boxes_with_area(
    a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    if a[2] > a[0] and a[3] > a[1] and b[2] > b[0] and b[3] > b[1]:
        assert box_iou(a, b) == medsg.iou(a, [list(b)])


def test_batch_equals_the_scalar_row_by_row() -> None:
    generator = np.random.default_rng(3)
    truths, found = generator.uniform(-20, 336, (2, 3000, 4))
    batch = box_iou_batch(truths, found)
    assert batch.dtype == np.float64
    assert batch.tolist() == [box_iou(a, b) for a, b in zip(truths, found, strict=True)]
    assert np.count_nonzero(batch) > 50


def test_batch_equals_torchvision() -> None:
    torch = pytest.importorskip("torch")
    operators = pytest.importorskip("torchvision.ops")
    generator = np.random.default_rng(4)
    corners = np.sort(generator.uniform(0, 336, (2, 500, 2, 2)), axis=2).reshape(2, 500, 4)
    theirs = operators.box_iou(*map(torch.from_numpy, corners)).diagonal().numpy()
    np.testing.assert_allclose(box_iou_batch(*corners), theirs, rtol=0, atol=1e-12)


def test_boxes_beyond_a_float_score_nothing_instead_of_failing() -> None:
    huge = (-1e200, -1e200, 1e200, 1e200)
    assert box_iou(huge, huge) == 0.0
    assert box_iou(UNIT, huge) == 0.0
    assert box_iou_batch([huge, UNIT], [huge, huge]).tolist() == [0.0, 0.0]


def test_no_rows_give_no_values() -> None:
    assert box_iou_batch(np.empty((0, 4)), np.empty((0, 4))).shape == (0,)


def test_what_is_no_box_is_refused() -> None:
    with pytest.raises(ValueError, match="four finite numbers"):
        box_iou(UNIT, (1, 2, 3))
    with pytest.raises(ValueError, match="four finite numbers"):
        box_iou((float("nan"), 0, 1, 1), UNIT)
    with pytest.raises(ValueError, match=r"shape \(N, 4\)"):
        box_iou_batch([1, 2, 3, 4], [UNIT])
    with pytest.raises(ValueError, match="as many boxes as truths"):
        box_iou_batch([UNIT, UNIT], [UNIT])
    with pytest.raises(ValueError, match="finite boxes"):
        box_iou_batch([UNIT], [(0, 0, 1, float("inf"))])
