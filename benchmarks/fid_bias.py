"""How far few images push a Fréchet distance up; the picture of docs/fid.md.

    python benchmarks/fid_bias.py                 print the table, write docs/fid_bias.svg
    python benchmarks/fid_bias.py --quick         fewer draws and images, for a look; write nothing

Features are made: 2,048 independent Gaussians whose variances fall as 1, 1/2, 1/3, … and add up to
100. One "model" has the distribution of the reference; another differs in mean and spread by a
known amount. So every true distance is known, and what is not that is the doing of n.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import NamedTuple

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
if __name__ == "__main__" and any(name not in os.environ for name in THREADS):
    os.execve(
        sys.executable, [sys.executable, *sys.argv], {**os.environ, **dict.fromkeys(THREADS, "1")}
    )

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402

from medbench_vlmeval.metrics import frechet_distance, kernel_distance  # noqa: E402

DIM = 2048
SIZES = (17, 50, 100, 288, 500, 1182, 2500, 5000, 10000)
LANDMARKS = {17: "a task", 288: "largest organ", 500: "least n", 1182: "MedEBench"}
PICTURE = Path(__file__).resolve().parents[1] / "docs" / "fid_bias.svg"


class Gaussian(NamedTuple):
    """Independent features."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]

    def drawn(self, n: int, generator: np.random.Generator) -> NDArray[np.float64]:
        return self.mean + generator.normal(size=(n, DIM)) * self.deviation


VARIANCES = 1 / np.arange(1, DIM + 1)
DEVIATIONS = np.sqrt(100 * VARIANCES / VARIANCES.sum())
REFERENCE = Gaussian(np.zeros(DIM), DEVIATIONS)
MODELS = {
    "same distribution": REFERENCE,
    "another distribution": Gaussian(0.2 * DEVIATIONS, 1.15 * DEVIATIONS),
}


def true_frechet(model: Gaussian) -> float:
    gaps = model.mean - REFERENCE.mean, model.deviation - REFERENCE.deviation
    return float(sum(np.square(gap).sum() for gap in gaps))


def true_kernel(model: Gaussian) -> float:
    """From the moments of x·y; the reference has mean 0."""
    within = [_expected(it, it) for it in (model, REFERENCE)]
    return sum(within) - 2 * _expected(model, REFERENCE)


def _expected(a: Gaussian, b: Gaussian) -> float:
    """Mean of the kernel of two independent draws; a is b, or b has mean 0."""
    m, s, other = a.mean, a.deviation**2, b.deviation**2
    if b is REFERENCE:
        first, second, third = 0.0, (s * other).sum() + (m**2 * other).sum(), 0.0
    else:
        length, spread = (m**2).sum(), (m**2 * s).sum()
        first = length
        second = (s**2).sum() + 2 * spread + length**2
        skew = length * (spread + (s**2).sum()) + 2 * (m**2 * s**2).sum()
        third = length**3 + 3 * length * spread + 3 * skew
    return float(third / DIM**3 + 3 * second / DIM**2 + 3 * first / DIM + 1)


def estimates(
    model: Gaussian, sizes: tuple[int, ...], n_draws: int
) -> dict[int, NDArray[np.float64]]:
    """By n: one row a draw, Fréchet and kernel distance from as many reference images."""
    found = {}
    for n in sizes:
        draws = n_draws if n <= 1500 else max(2, n_draws // 5)
        rows = []
        for seed in range(draws):
            generator = np.random.default_rng([seed, n])
            sets = model.drawn(n, generator), REFERENCE.drawn(n, generator)
            rows.append((frechet_distance(*sets), kernel_distance(*sets)))
        found[n] = np.array(rows)
    return found


def printed(name: str, model: Gaussian, found: dict[int, NDArray[np.float64]]) -> None:
    print(f"{name}: true Fréchet {true_frechet(model):.2f}, "
          f"true 1000 MMD² {1000 * true_kernel(model):.3f}")  # fmt: skip
    print(f"{'n':>6} {'Fréchet':>9} {'±':>6} {'1000 MMD²':>10} {'±':>7}")
    for n, rows in found.items():
        (frechet, kernel), (about, wide) = rows.mean(axis=0), rows.std(axis=0, ddof=1)
        print(f"{n:6} {frechet:9.2f} {about:6.2f} {1000 * kernel:10.3f} {1000 * wide:7.3f}")


def draw(found: dict[str, dict[int, NDArray[np.float64]]]) -> None:
    import matplotlib as mpl

    mpl.use("svg")
    from matplotlib import pyplot as plt

    plt.rcParams |= {"svg.hashsalt": "fid_bias", "svg.fonttype": "none", "font.size": 9}
    figure, axes = plt.subplots(1, 2, figsize=(9.2, 3.9), layout="constrained")
    truths = {"same distribution": "#1b7837", "another distribution": "#762a83"}
    for column, (axis, scale, title) in enumerate(
        zip(axes, (1, 1000), ("Fréchet distance", "1000 × kernel distance (MMD²)"), strict=True)
    ):
        for name, colour in truths.items():
            sizes = list(found[name])
            values = [scale * rows[:, column] for rows in found[name].values()]
            axis.plot(sizes, [it.mean() for it in values], "o-", color=colour, ms=4, label=name)
            low, high = ([edge(it) for it in values] for edge in (np.min, np.max))
            axis.fill_between(sizes, low, high, color=colour, alpha=0.2, lw=0)
            truth = (true_frechet, true_kernel)[column](MODELS[name]) * scale
            axis.axhline(truth, color=colour, ls="--", lw=1, label=f"its true value, {truth:.2f}")
        axis.set(xscale="log", title=title, xlabel="images in each set, n")
        for n, label in LANDMARKS.items():
            axis.axvline(n, color="0.75", lw=0.8, zorder=0)
            axis.text(n, 0.99, f" {label}, {n}", rotation=90, fontsize=7, color="0.35",
                      va="top", ha="right", transform=axis.get_xaxis_transform())  # fmt: skip
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].legend(frameon=False, fontsize=8)
    figure.savefig(PICTURE, metadata={"Date": None})
    print(f"written: {PICTURE.name}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="up to 1,182 images, 3 draws")
    quick = parser.parse_args().quick
    sizes = tuple(n for n in SIZES if n <= 1182) if quick else SIZES
    found = {name: estimates(model, sizes, 3 if quick else 20) for name, model in MODELS.items()}
    for name, model in MODELS.items():
        printed(name, model, found[name])
    if not quick:
        draw(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
