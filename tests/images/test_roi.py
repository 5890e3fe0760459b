from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.images import ImageUnreadable, likely_inverted, read_roi

from .made import encoded, picture


def mask(share: float = 0.25, inside: int = 255, outside: int = 0) -> np.ndarray:
    values = np.full((40, 80), outside, np.uint8)
    values[:, : round(80 * share)] = inside
    return values


@pytest.mark.parametrize("mode", ["L", "1", "P", "RGB", "RGBA", "LA", "CMYK"])
def test_values_are_what_the_released_code_sees(mode: str) -> None:
    image = Image.fromarray(mask()).convert(mode)
    data = encoded(image, "TIFF" if mode == "CMYK" else "PNG")
    size_wh = (50, 31)

    roi = read_roi(data, size_wh=size_wh)

    expected = image.convert("L").resize(size_wh, Image.Resampling.NEAREST)
    assert np.array_equal(roi.values, np.asarray(expected))
    assert roi.values.dtype == np.uint8


def test_share_and_flags_of_an_ordinary_mask() -> None:
    roi = read_roi(encoded(Image.fromarray(mask())))

    assert roi.share == 0.25
    assert roi.flags == frozenset()


@pytest.mark.parametrize(
    ("values", "flags"),
    [
        (mask(inside=1), {"zero_one"}),
        (mask(inside=0), {"empty"}),
        (mask(outside=255), {"full"}),
        (mask(inside=1, outside=1), {"full", "zero_one"}),
        (mask(inside=200), {"soft"}),
        (mask(outside=3), {"soft", "full"}),
    ],
    ids=["zero_one", "empty", "full", "all_one", "soft", "soft_full"],
)
def test_odd_masks_are_flagged(values: np.ndarray, flags: set[str]) -> None:
    assert read_roi(encoded(Image.fromarray(values))).flags == flags


@pytest.mark.parametrize(
    ("size_wh", "flags"),
    [
        ((80, 40), set()),
        ((160, 80), {"resized"}),
        ((80, 80), {"resized", "aspect_differs"}),
        (None, set()),
    ],
    ids=["same", "scaled", "squeezed", "own_size"],
)
def test_another_size_is_flagged(size_wh: tuple[int, int] | None, flags: set[str]) -> None:
    roi = read_roi(encoded(Image.fromarray(mask())), size_wh=size_wh)

    assert roi.flags == flags
    assert roi.share == 0.25


def test_resizing_makes_no_new_grey() -> None:
    roi = read_roi(encoded(Image.fromarray(mask())), size_wh=(77, 39))

    assert set(np.unique(roi.values)) == {0, 255}


@pytest.mark.parametrize("dtype", [np.uint16, np.int32, np.float32])
def test_deep_masks_are_cut_at_255(dtype: type) -> None:
    values = mask(inside=1).astype(dtype) * 300

    roi = read_roi(encoded(Image.fromarray(values), "TIFF"))

    assert np.array_equal(roi.values, mask())


def test_a_palette_with_transparency_gives_no_warning() -> None:
    image = Image.fromarray(mask()).convert("P")

    roi = read_roi(encoded(image, transparency=bytes([0, 255])))

    assert roi.share == 0.25


def test_an_unreadable_mask_is_named(tmp_path: Path) -> None:
    path = tmp_path / "12.png"
    path.write_bytes(b"no mask")

    with pytest.raises(ImageUnreadable, match=r"12\.png"):
        read_roi(path)


def test_a_mode_without_grey_levels_is_named() -> None:
    lab = Image.merge("LAB", Image.fromarray(picture()).split())

    with pytest.raises(ImageUnreadable, match="LAB has no grey levels"):
        read_roi(encoded(lab, "TIFF"))


@pytest.mark.parametrize(
    ("shares", "expected"),
    [
        ({"a": 0.1, "b": 0.2, "c": 0.93, "d": 0.05}, ["c"]),
        ({"a": 0.1, "b": 0.93}, []),
        ({"a": 0.9, "b": 0.8, "c": 0.93, "d": 0.05}, []),
        ({"a": 0.1, "b": 0.2, "c": 0.6, "d": 0.05}, []),
        ({}, []),
    ],
    ids=["one_outlier", "too_few", "large_masks_are_usual", "merely_large", "none"],
)
def test_inverted_masks_stand_out_from_their_set(
    shares: dict[str, float], expected: list[str]
) -> None:
    assert likely_inverted(shares) == expected
