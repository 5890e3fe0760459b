"""Masked SSIM and its image path against scikit-image and the released code's steps, as ratios.

    python benchmarks/ssim.py            about three minutes
    python benchmarks/ssim.py --quick    half a minute, for a look
    python benchmarks/ssim.py --roi-share    no timing: how both values depend on the ROI's size

One thread, CPU time of the process, candidates interleaved, medians over repetitions of a loop over
different images. Times do not carry over to other machines; ratios roughly do.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import NamedTuple

import cv2
import numpy as np
from PIL import Image
from skimage import data
from skimage.metrics import structural_similarity

from medbench_vlmeval.images import encode_png, png_decoder, read_rgb, read_roi, resize_like
from medbench_vlmeval.images.png import DECODER_VARIABLE
from medbench_vlmeval.metrics import (
    PreparedSample,
    edit_metrics,
    masked_and_context_ssim,
    ssim_kernel,
)
from medbench_vlmeval.metrics.ssim import KERNEL_VARIABLE

N_MODELS = 7
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
METRIC_TARGETS = {"numba": 40, "strips": 6}
FILE_TARGETS = {1: 7, N_MODELS: 12}
"""For the fast extra and edited images of the input's size."""
PHOTOGRAPHS = (
    "astronaut", "immunohistochemistry", "chelsea", "coffee", "rocket", "hubble_deep_field",
    "retina", "moon",
)  # fmt: skip


class Pair(NamedTuple):
    previous: np.ndarray
    edited: np.ndarray
    roi: np.ndarray


class SampleFiles(NamedTuple):
    previous: Path
    roi: Path
    edited: tuple[Path, ...]


def photograph(name: str, side: int) -> np.ndarray:
    image = getattr(data, name)()
    if image.ndim == 2:
        image = np.repeat(image[..., None], 3, axis=2)
    return cv2.resize(image, (side, side), interpolation=cv2.INTER_AREA)


def noisy(image: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    noise = generator.normal(0, 2, image.shape)
    return np.clip(np.rint(image + noise), 0, 255).astype(np.uint8)


def soft_ellipse(side: int, generator: np.random.Generator) -> np.ndarray:
    roi = np.zeros((side, side), np.uint8)
    centre = [int(value) for value in generator.uniform(0.3, 0.7, 2) * side]
    axes = [int(value) for value in generator.uniform(0.12, 0.3, 2) * side]
    cv2.ellipse(roi, centre, axes, generator.uniform(0, 180), 0, 360, 255, -1)
    return cv2.GaussianBlur(roi, (0, 0), 3)


def made_pairs(n_images: int, side: int) -> list[Pair]:
    generator = np.random.default_rng(0)
    pairs = []
    for name in PHOTOGRAPHS[:n_images]:
        previous = photograph(name, side)
        pairs.append(Pair(previous, noisy(previous, generator), soft_ellipse(side, generator)))
    return pairs


def made_files(folder: Path, pairs: Iterable[Pair], edited_side: int) -> list[SampleFiles]:
    generator = np.random.default_rng(1)
    samples = []
    for number, pair in enumerate(pairs):
        image = cv2.resize(pair.previous, (edited_side, edited_side), interpolation=cv2.INTER_CUBIC)
        images = {"previous": pair.previous, "roi": pair.roi}
        images |= {f"edited_{model}": noisy(image, generator) for model in range(N_MODELS)}
        paths = {}
        for role, pixels in images.items():
            paths[role] = folder / f"{number}_{role}.png"
            if role == "roi":
                Image.fromarray(pixels).save(paths[role])
            else:
                paths[role].write_bytes(encode_png(pixels))
        edited = tuple(paths[f"edited_{model}"] for model in range(N_MODELS))
        samples.append(SampleFiles(paths["previous"], paths["roi"], edited))
    return samples


def blackened_as_released(image: np.ndarray, roi: np.ndarray) -> np.ndarray:
    keep = np.float32(1) - roi.astype(np.float32) / np.float32(255)
    scaled = image.astype(np.float32) / np.float32(255) * keep[..., None]
    return (scaled * np.float32(255)).astype(np.uint8)


def released_ssim(previous: np.ndarray, edited: np.ndarray, roi: np.ndarray) -> float:
    return structural_similarity(
        blackened_as_released(previous, roi), blackened_as_released(edited, roi), channel_axis=-1
    )


def released_from_files(previous: Path, roi: Path, edited: Path) -> float:
    input_image = Image.open(previous).convert("RGB")
    edited_image = Image.open(edited).convert("RGB")
    edited_image = edited_image.resize(input_image.size, Image.Resampling.BICUBIC)
    mask = Image.open(roi).convert("L").resize(input_image.size, Image.Resampling.NEAREST)
    return released_ssim(np.asarray(input_image), np.asarray(edited_image), np.asarray(mask))


def ours_from_files(sample: SampleFiles, n_models: int) -> list[float]:
    previous = read_rgb(sample.previous)
    roi = read_roi(sample.roi, size_wh=previous.size_wh)
    prepared = PreparedSample(previous.pixels, roi.values)
    scores = []
    for path in sample.edited[:n_models]:
        pixels, _ = resize_like(read_rgb(path), previous.size_wh)
        scores.append(edit_metrics(prepared, pixels).official)
    return scores


def chosen(kernel: str, decoder: str, run: Callable[[], object]) -> Callable[[], object]:
    def with_settings() -> object:
        os.environ[KERNEL_VARIABLE] = kernel
        os.environ[DECODER_VARIABLE] = decoder
        return run()

    return with_settings


def medians(candidates: dict[str, Callable[[], object]], repetitions: int) -> dict[str, float]:
    for run in candidates.values():
        run()
    seconds: dict[str, list[float]] = {name: [] for name in candidates}
    for _ in range(repetitions):
        for name, run in candidates.items():
            start = time.process_time()
            run()
            seconds[name].append(time.process_time() - start)
    return {name: statistics.median(values) for name, values in seconds.items()}


def show(
    title: str, seconds: dict[str, float], n_images: int, targets: dict[str, int] | None = None
) -> None:
    print(f"\n{title}")
    peer = next(iter(seconds.values()))
    for name, value in seconds.items():
        line = f"  {name:<48} {1000 * value / n_images:9.2f} ms {peer / value:7.1f}x"
        target = (targets or {}).get(name)
        print(line if target is None else f"{line}   (target {target}x)", flush=True)


def settings() -> list[tuple[str, str]]:
    """What can be compared here: with the fast extra, and without."""
    os.environ[KERNEL_VARIABLE] = os.environ[DECODER_VARIABLE] = "auto"
    best = (ssim_kernel(), png_decoder())
    return list(dict.fromkeys([best, (best[0], "pillow"), ("strips", "pillow")]))


def compare_metric(pairs: list[Pair], repetitions: int) -> None:
    blackened = [
        (blackened_as_released(p.previous, p.roi), blackened_as_released(p.edited, p.roi))
        for p in pairs
    ]
    candidates: dict[str, Callable[[], object]] = {
        "scikit-image, official, already blackened": lambda: [
            structural_similarity(x, y, channel_axis=-1) for x, y in blackened
        ],
        "released steps: blacken, scikit-image": lambda: [released_ssim(*p) for p in pairs],
    }
    targets = {}
    for kernel, decoder in settings():
        name = f"{kernel}: blacken, official and strict"
        targets[name] = METRIC_TARGETS[kernel]
        candidates[name] = chosen(
            kernel, decoder, lambda: [masked_and_context_ssim(*p) for p in pairs]
        )
    for pair in pairs:
        difference = abs(masked_and_context_ssim(*pair).official - released_ssim(*pair))
        if difference > 1e-12:
            raise SystemExit(f"values differ by {difference}, the comparison is void")
    side = pairs[0].roi.shape[0]
    show(f"arrays, {side} x {side}", medians(candidates, repetitions), len(pairs), targets)


def compare_files(samples: list[SampleFiles], edited_side: int, repetitions: int) -> None:
    candidates: dict[str, Callable[[], object]] = {
        "released steps, each model by itself": lambda: [
            released_from_files(s.previous, s.roi, s.edited[0]) for s in samples
        ]
    }
    models_by_name, targets = {}, {}
    for kernel, decoder in settings():
        for n_models in (1, N_MODELS):
            name = f"{kernel}, {decoder}: {n_models} model(s) of a sample"
            models_by_name[name] = n_models
            if (kernel, decoder, edited_side) == ("numba", "pyspng", 512):
                targets[name] = FILE_TARGETS[n_models]
            candidates[name] = chosen(
                kernel, decoder, lambda n=n_models: [ours_from_files(s, n) for s in samples]
            )
    seconds = medians(candidates, repetitions)
    per_image = {name: value / models_by_name.get(name, 1) for name, value in seconds.items()}
    title = f"files, input 512 x 512, edited {edited_side} x {edited_side}, per edited image"
    show(title, per_image, len(samples), targets)


def show_roi_shares() -> None:
    """The same noise everywhere, hence the same contextual preservation, under growing masks."""
    side = 512
    pictures = [photograph(name, side) for name in PHOTOGRAPHS]
    generator = np.random.default_rng(0)
    edits = [np.clip(p + generator.normal(0, 15, p.shape), 0, 255) for p in pictures]
    print("ROI share   official   strict")
    for share in (0.05, 0.2, 0.5, 0.8):
        roi = np.zeros((side, side), np.uint8)
        half = round(side * share**0.5 / 2)
        roi[side // 2 - half : side // 2 + half, side // 2 - half : side // 2 + half] = 255
        values = [
            masked_and_context_ssim(picture, edited.astype(np.uint8), roi)
            for picture, edited in zip(pictures, edits, strict=True)
        ]
        official = statistics.fmean(pair.official for pair in values)
        strict = statistics.fmean(pair.context for pair in values)
        print(f"{np.count_nonzero(roi) / roi.size:9.2f} {official:10.3f} {strict:8.3f}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="two images, two repetitions")
    parser.add_argument(
        "--roi-share", action="store_true", help="instead: how both values depend on the ROI's size"
    )
    arguments = parser.parse_args()
    if arguments.roi_share:
        show_roi_shares()
        return
    if not ONE_THREAD.items() <= os.environ.items():
        # Read when NumPy is imported, hence a fresh interpreter.
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})
    cv2.setNumThreads(1)
    n_images, repetitions = (2, 2) if arguments.quick else (len(PHOTOGRAPHS), 9)
    pairs = made_pairs(n_images, 512)
    compare_metric(pairs, repetitions)
    with tempfile.TemporaryDirectory() as folder:
        for edited_side in (512, 1024):
            place = Path(folder) / str(edited_side)
            place.mkdir()
            samples = made_files(place, pairs, edited_side)
            compare_files(samples, edited_side, max(2, repetitions // 2))


if __name__ == "__main__":
    main()
