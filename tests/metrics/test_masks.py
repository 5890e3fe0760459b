from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from medbench_vlmeval.metrics import box_iou, box_mask, mask_iou

whole_boxes = st.tuples(*[st.integers(-5, 40)] * 4)


def test_a_mask_is_itself_and_the_order_does_not_matter() -> None:
    generator = np.random.default_rng(0)
    a, b = generator.random((2, 20, 30)) < 0.4
    assert mask_iou(a, a) == 1.0
    assert mask_iou(a, b) == mask_iou(b, a)


def test_a_case_by_hand() -> None:
    a = np.array([[1, 1, 0], [0, 255, 0]])
    b = np.array([[0, 1, 1], [0, 1, 0]])
    assert mask_iou(a, b) == 2 / 4


def test_the_set_formula_agrees() -> None:
    generator = np.random.default_rng(1)
    for _ in range(20):
        a, b = generator.random((2, 9, 7)) < generator.random()
        inside_a, inside_b = (set(map(tuple, np.argwhere(mask))) for mask in (a, b))
        union = inside_a | inside_b
        expected = len(inside_a & inside_b) / len(union) if union else 0.0
        assert mask_iou(a, b) == expected


@pytest.mark.parametrize("other", [np.zeros((4, 4)), np.eye(4)])
def test_an_empty_mask_shares_nothing(other: np.ndarray) -> None:
    assert mask_iou(np.zeros((4, 4)), other) == 0.0


@pytest.mark.parametrize("other", [np.ones((3, 4)), np.ones((4, 4, 1)), np.ones(4)])
def test_masks_of_other_shapes_are_refused(other: np.ndarray) -> None:
    with pytest.raises(ValueError, match="shape"):
        mask_iou(np.ones((4, 4)), other)


@settings(max_examples=200, deadline=None)
@given(whole_boxes, whole_boxes)
def test_whole_boxes_give_the_same_as_masks_inside_the_image(
    a: tuple[int, ...], b: tuple[int, ...]
) -> None:
    size_wh = (40, 33)
    clipped = [
        (max(x1, 0), max(y1, 0), min(x2, size_wh[0]), min(y2, size_wh[1]))
        for x1, y1, x2, y2 in (a, b)
    ]
    assert mask_iou(box_mask(a, size_wh), box_mask(b, size_wh)) == pytest.approx(
        box_iou(clipped[0], clipped[1])
    )


def test_a_box_holds_the_pixels_whose_centre_lies_in_it() -> None:
    assert np.argwhere(box_mask((0.5, 0, 2.5, 1), (4, 2))).tolist() == [[0, 0], [0, 1]]
    assert not box_mask((3, 3, 1, 1), (4, 4)).any()
    with pytest.raises(ValueError, match="finite"):
        box_mask((0, 0, float("nan"), 1), (4, 4))
    with pytest.raises(ValueError, match="four"):
        box_mask((0, 0, 1), (4, 4))
