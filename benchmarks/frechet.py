"""The Fréchet distance by the nuclear norm, beside the root of a product of covariances.

    python benchmarks/frechet.py            1,182 images of 2,048 features, as in MedEBench
    python benchmarks/frechet.py --quick    300 of 512, for a look
    python benchmarks/frechet.py --features what the networks take for an image of 512 x 512

Features are made so that the true value is known. All ways run in the same process on the same
features; one thread unless OMP_NUM_THREADS says otherwise. Only the ratios mean anything elsewhere.
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
if __name__ == "__main__" and any(name not in os.environ for name in THREADS):
    os.execve(
        sys.executable, [sys.executable, *sys.argv], {**os.environ, **dict.fromkeys(THREADS, "1")}
    )

import numpy as np  # noqa: E402
import scipy.linalg  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from medbench_vlmeval.metrics import frechet_distance  # noqa: E402

Features = NDArray[np.float64]


def made_sets(n: int, dim: int) -> tuple[Features, Features, float]:
    """Two sets whose sample moments, and so whose distance, are known; n images span n - 1 axes."""
    axes = min(n - 1, dim)
    first = 1 / np.sqrt(np.arange(1, axes + 1))
    second = 1.1 * first[::-1] + 0.01
    generator = np.random.default_rng(0)
    turned = np.linalg.qr(generator.normal(size=(dim, axes)))[0].T
    sets = []
    for deviations in (first, second):
        drawn = generator.normal(size=(n, axes))
        white = np.linalg.qr(drawn - drawn.mean(axis=0))[0] * np.sqrt(n - 1)
        sets.append(white @ (deviations[:, None] * turned))
    return sets[0], sets[1], float(np.square(first - second).sum())


def moments(features: Features) -> tuple[Features, Features]:
    return features.mean(axis=0), np.cov(features, rowvar=False)


def by_sqrtm(a: Features, b: Features) -> float:
    """As pytorch-fid and clean-fid do, the real part of a matrix root."""
    (mean_a, cov_a), (mean_b, cov_b) = moments(a), moments(b)
    root = scipy.linalg.sqrtm(cov_a @ cov_b)
    shift = mean_a - mean_b
    return float(shift @ shift + np.trace(cov_a) + np.trace(cov_b) - 2 * np.trace(root).real)


def by_eigenvalues(a: Features, b: Features) -> float:
    """As torch-fidelity and torchmetrics do."""
    (mean_a, cov_a), (mean_b, cov_b) = moments(a), moments(b)
    roots = np.sqrt(np.linalg.eigvals(cov_a @ cov_b).astype(np.complex128)).real.sum()
    shift = mean_a - mean_b
    return float(shift @ shift + np.trace(cov_a) + np.trace(cov_b) - 2 * roots)


def timed(way: Callable[[Features, Features], float], a: Features, b: Features, repetitions: int):
    wall, processor = [], []
    for _ in range(repetitions):
        starts = time.perf_counter(), time.process_time()
        value = way(a, b)
        wall.append(time.perf_counter() - starts[0])
        processor.append(time.process_time() - starts[1])
    return median(processor), median(wall), value


def print_features() -> None:
    """Inception has random weights here, which take as long as any others."""
    import tempfile

    import torch

    from medbench_vlmeval.features import clean_resize, extractor_named
    from medbench_vlmeval.features.inception import InceptionFeatures, fid_inception
    from medbench_vlmeval.files import sha256_file

    torch.set_num_threads(int(os.environ["OMP_NUM_THREADS"]))
    images = list(np.random.default_rng(0).integers(0, 256, (16, 512, 512, 3), dtype=np.uint8))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "random.pth")
        torch.save(fid_inception().state_dict(), path)
        networks = [
            InceptionFeatures(path, sha256_file(path)),
            extractor_named("efficientnet_lite0"),
        ]
    for network in networks:
        network(images[:2])
        processor, wall, _ = timed(lambda a, _, run=network: run(a), images, images, 3)
        print(f"{network.name:18} {1000 * processor / 16:6.0f} ms processor time an image "
              f"({1000 * wall / 16:.0f} ms wall)")  # fmt: skip
    processor, _, _ = timed(lambda a, _: clean_resize(a[0], (299, 299)), images, images, 9)
    print(f"{'the resize in it':18} {1000 * processor:6.0f} ms")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="300 images of 512 features")
    parser.add_argument("--features", action="store_true", help="time the networks instead")
    options = parser.parse_args()
    if options.features:
        print_features()
        return 0
    n, dim = (300, 512) if options.quick else (1182, 2048)
    a, b, truth = made_sets(n, dim)
    print(f"{n} images in each set, {dim} features, true distance {truth:.8f}")
    ways = {
        "nuclear norm": (frechet_distance, 5),
        "eigenvalues": (by_eigenvalues, 1),
        "sqrtm": (by_sqrtm, 1),
    }
    found = {name: timed(way, a, b, repetitions) for name, (way, repetitions) in ways.items()}
    ours = found["nuclear norm"][0]
    for name, (processor, wall, value) in found.items():
        print(f"{name:13} {processor:7.2f} s processor time ({wall:.2f} s wall), "
              f"{processor / ours:5.1f}x as long; off by {value - truth:+.1e}")  # fmt: skip
    return 0 if abs(found["nuclear norm"][2] - truth) < 1e-9 * truth else 1


if __name__ == "__main__":
    sys.exit(main())
