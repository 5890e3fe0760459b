from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.features import (
    FeatureCache,
    FeatureFunction,
    clean_resize,
    extracted_features,
    frechet_name,
    identity_of,
    kernel_name,
)
from medbench_vlmeval.metrics import frechet_distance

from ..data.releases import picture
from ..shared import shared_cases
from .networks import mean_colours

COLOURS = FeatureFunction("mean_colours", 6, mean_colours, sha256="0" * 64)


def written(folder: Path, images: dict[str, Image.Image | bytes]) -> list[Path]:
    for name, image in images.items():
        if isinstance(image, bytes):
            (folder / name).write_bytes(image)
        else:
            image.save(folder / name)
    return [folder / name for name in images]


def test_every_kind_of_image_becomes_8_bit_rgb(tmp_path: Path) -> None:
    grey = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5
    paths = written(
        tmp_path,
        {
            "grey.png": Image.fromarray(grey),
            "deep.png": Image.fromarray(grey.astype(np.uint16) * 257),
            "colour.png": Image.fromarray(np.stack([grey] * 3, axis=-1)),
            "alpha.png": Image.fromarray(np.stack([grey] * 3 + [np.full_like(grey, 255)], axis=-1)),
            "large.png": Image.fromarray(np.full((100, 70), 255, np.uint8)),
        },
    )
    seen: list[tuple[tuple[int, ...], np.dtype]] = []

    def watching(images: Sequence[np.ndarray]) -> np.ndarray:
        seen.extend((it.shape, it.dtype) for it in images)
        return mean_colours(list(images))

    found = extracted_features(paths, replace(COLOURS, function=watching), batch_size=2)
    assert seen == [((6, 8, 3), np.uint8)] * 4 + [((100, 70, 3), np.uint8)]
    assert np.abs(found.values[:4] - found.values[0]).max() == 0


def test_unreadable_images_are_left_out_and_named_by_position(tmp_path: Path) -> None:
    paths = written(
        tmp_path,
        {"a.png": b"no image", "b.png": picture(1), "c.png": picture(2)[:60], "d.png": picture(3)},
    )
    found = extracted_features(paths, COLOURS, batch_size=1)
    assert found.positions.tolist() == [1, 3]
    assert found.values.shape == (2, 6)
    assert extracted_features(paths[:1], COLOURS).values.shape == (0, 6)


def test_a_file_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        extracted_features([tmp_path / "gone.png"], COLOURS)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda images: np.zeros((len(images), 5)), r"shape \(2, 6\) from mean_colours"),
        (lambda images: np.zeros(6), "shape"),
        (lambda images: np.full((len(images), 6), np.nan), "NaN or infinity"),
    ],
    ids=["dim", "flat", "nan"],
)
def test_features_that_are_none_are_refused(tmp_path: Path, function: object, message: str) -> None:
    paths = written(tmp_path, {"a.png": picture(1), "b.png": picture(2)})
    with pytest.raises(ValueError, match=message):
        extracted_features(paths, replace(COLOURS, function=function))  # type: ignore[arg-type]


@pytest.mark.parametrize("case", shared_cases("fid.jsonl"))
def test_distances_do_not_depend_on_the_batch_size(case: dict, tmp_path: Path) -> None:
    features = case["features"]
    sizes = features.get("batch_sizes", [1, 3, 100])
    n, d, offset = 100, 8, features.get("offset", 10000.0)
    paths = written(tmp_path, {f"{it:03}.png": picture(it, (4, 3)) for it in range(2 * n)})

    def far_off(images: Sequence[np.ndarray]) -> np.ndarray:
        return np.array([it.reshape(-1)[:d] / 255.0 + offset for it in images])

    extractor = FeatureFunction("far_off", d, far_off, sha256="1" * 64)
    distances = []
    for size in sizes:
        values = extracted_features(paths, extractor, batch_size=size).values
        assert values.dtype == np.float64
        distances.append(frechet_distance(values[:n], values[n:]))
    assert distances == pytest.approx([distances[-1]] * len(sizes), rel=1e-6)
    if case["id"] != "B109b":
        return
    assert sizes == [1, 7, 100]


def test_kept_features_come_back_for_the_same_images_and_extractor_only(tmp_path: Path) -> None:
    paths = written(tmp_path, {"a.png": picture(1), "b.png": b"none", "c.png": picture(2)})
    cache, hashes = FeatureCache(tmp_path / "cache"), ["a", "b", "c"]
    assert cache.recall(hashes, COLOURS) is None
    found = extracted_features(paths, COLOURS)
    cache.remember(hashes, COLOURS, found)
    again = cache.recall(hashes, COLOURS)
    assert again is not None
    assert np.array_equal(again.values, found.values)
    assert again.positions.tolist() == [0, 2]
    assert cache.recall(["a", "c", "b"], COLOURS) is None
    for other in ({"sha256": "1" * 64}, {"resize": "another way"}, {"name": "x"}, {"dim": 7}):
        assert cache.recall(hashes, replace(COLOURS, **other)) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("damage", [b"", b"PK cut", b"\x80\x04."], ids=["empty", "zip", "pickle"])
def test_damaged_or_deleted_caches_are_no_harm(tmp_path: Path, damage: bytes) -> None:
    paths = written(tmp_path, {"a.png": picture(1), "b.png": picture(2)})
    cache = FeatureCache(tmp_path / "cache")
    kept = cache.remember(["a", "b"], COLOURS, extracted_features(paths, COLOURS))
    assert [it.name for it in kept.parent.iterdir()] == [kept.name]
    kept.write_bytes(damage)
    assert cache.recall(["a", "b"], COLOURS) is None
    kept.unlink()
    assert cache.recall(["a", "b"], COLOURS) is None


def test_kept_features_of_another_shape_are_not_taken(tmp_path: Path) -> None:
    paths = written(tmp_path, {"a.png": picture(1), "b.png": picture(2)})
    cache = FeatureCache(tmp_path / "cache")
    kept = cache.remember(["a", "b"], COLOURS, extracted_features(paths, COLOURS))
    np.savez(kept, values=np.zeros((3, 6)), positions=np.arange(3))
    assert cache.recall(["a", "b"], COLOURS) is None


def test_the_resize_is_antialiased_and_not_rounded() -> None:
    stripes = np.zeros((64, 64, 3), np.uint8)
    stripes[:, ::2] = 255
    small = clean_resize(stripes, (16, 16))
    assert small.dtype == np.float32
    # Each pixel stands for four columns; plain bicubic without a filter would see 0 or 255 only.
    assert np.abs(small[:, 2:-2] - 127.5).max() < 2
    assert (small != np.rint(small)).any()


def test_the_resize_stays_in_range_and_leaves_a_fitting_image_alone() -> None:
    edge = np.zeros((8, 8, 3), np.uint8)
    edge[:, 4:] = 255
    large = clean_resize(edge, (32, 24))
    assert large.shape == (24, 32, 3)
    assert (large.min(), large.max()) == (0, 255)
    assert np.array_equal(clean_resize(edge, (8, 8)), edge)


@pytest.mark.parametrize("image", [np.zeros((4, 4), np.uint8), np.zeros((4, 4, 3))])
def test_what_is_no_rgb_image_is_not_resized(image: np.ndarray) -> None:
    with pytest.raises(ValueError, match="shape \\(H, W, 3\\) and uint8"):
        clean_resize(image, (2, 2))


@pytest.mark.parametrize("name", ["", "FID", "inception", "a b", "../x", "é"])
def test_names_that_mislead_or_fit_no_file_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match="expected a name"):
        replace(COLOURS, name=name)


def test_a_function_of_ones_own_has_its_own_name() -> None:
    assert (frechet_name(COLOURS), kernel_name(COLOURS)) == (
        "Frechet_mean_colours",
        "MMD2_mean_colours",
    )
    assert identity_of(COLOURS)["resize"] == "as the function does"
