"""Reading, scoring and bootstrapping the replies of a whole MedSG-Bench run, beside slower ways.

    python benchmarks/boxes.py            9,630 replies, 2,000 resamples
    python benchmarks/boxes.py --quick    a tenth of both, for a look

One thread, processor time. Times do not carry over to other machines; ratios roughly do. The
replies are made in the forms and shares that real runs show (fenced JSON above all).
"""

from __future__ import annotations

import argparse
import os
import random
import sys
import time
from collections.abc import Callable
from typing import NamedTuple

ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
if __name__ == "__main__" and any(os.environ.get(name) != "1" for name in ONE_THREAD):
    os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **ONE_THREAD})

import numpy as np  # noqa: E402
from numpy.typing import NDArray  # noqa: E402
from scipy import stats as scipy_stats  # noqa: E402

from medbench_vlmeval.metrics import box_iou, box_iou_batch  # noqa: E402
from medbench_vlmeval.official import medsg  # noqa: E402
from medbench_vlmeval.parsing import read_box  # noqa: E402
from medbench_vlmeval.stats import mean_interval  # noqa: E402

N_REPLIES = 9630
N_RESAMPLES = 2000
SIZE = (336, 336)
THRESHOLDS = (0.3, 0.5, 0.7)
TARGET_S = 5.0
FENCED = '```json\n[\n\t{{"bbox_2d": [{}, {}, {}, {}], "label": "area described by: Tooth"}}'
FORMS = {
    FENCED + "\n]\n```": 78,
    "[{},{},{},{}]": 16,
    FENCED + ',\n\t{{"bbox_2d": [148, 30': 4,
    "({},{}),({},{})": 1,
    "I cannot see it.": 1,
}
"""Forms of a reply, with their shares in percent."""


class Run(NamedTuple):
    replies: list[str]
    truths: NDArray[np.float64]
    clusters: list[int]


def made_run(n: int) -> Run:
    generator = random.Random(0)
    truths = np.sort(np.random.default_rng(0).integers(0, 336, (n, 2, 2)), axis=1).reshape(n, 4)
    forms = generator.choices([*FORMS], [*FORMS.values()], k=n)
    replies = [
        form.format(*(int(side) + generator.randrange(-30, 31) for side in truth))
        for form, truth in zip(forms, truths, strict=True)
    ]
    return Run(replies, truths.astype(np.float64), [generator.randrange(n // 2) for _ in range(n)])


def read_all(run: Run) -> NDArray[np.float64]:
    """One box a row; a reply without a box gets one without area, which scores 0."""
    readings = [read_box(reply, convention="absolute", size_wh=SIZE) for reply in run.replies]
    return np.array([reading.box or (0, 0, 0, 0) for reading in readings], dtype=np.float64)


def metric_columns(values: NDArray[np.float64]) -> list[NDArray[np.float64]]:
    return [values, *((values >= threshold).astype(np.float64) for threshold in THRESHOLDS)]


def with_intervals(values: NDArray[np.float64], run: Run, n_resamples: int) -> list[float | None]:
    columns = metric_columns(values)
    return [mean_interval(it, run.clusters, n_resamples=n_resamples).low for it in columns]


def iou_row_by_row(truths: NDArray[np.float64], boxes: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.array([box_iou(truth, box) for truth, box in zip(truths, boxes, strict=True)])


def rows_of_clusters(run: Run) -> list[NDArray[np.int64]]:
    members: dict[int, list[int]] = {}
    for row, cluster in enumerate(run.clusters):
        members.setdefault(cluster, []).append(row)
    return [np.array(rows) for rows in members.values()]


def bootstrap_loop(values: NDArray[np.float64], run: Run, n_resamples: int) -> list[float]:
    """Each resample gathered row by row, as one would write it first."""
    members, generator = rows_of_clusters(run), np.random.default_rng(0)
    columns = np.stack(metric_columns(values), axis=1)
    means = []
    for _ in range(n_resamples):
        drawn = generator.integers(len(members), size=len(members))
        means.append(columns[np.concatenate([members[it] for it in drawn])].mean(axis=0))
    return [float(low) for low in np.percentile(means, 2.5, axis=0)]


def bootstrap_scipy(values: NDArray[np.float64], run: Run, n_resamples: int) -> list[float]:
    members = rows_of_clusters(run)
    sizes = np.array([len(rows) for rows in members], dtype=np.float64)

    def ratio(sums: NDArray[np.float64], sizes: NDArray[np.float64], axis: int) -> object:
        return sums.sum(axis=axis) / sizes.sum(axis=axis)

    lows = []
    for column in metric_columns(values):
        sums = np.array([column[rows].sum() for rows in members])
        outcome = scipy_stats.bootstrap(
            (sums, sizes), ratio, paired=True, vectorized=True, batch=50,
            n_resamples=n_resamples, method="percentile", random_state=0,
        )  # fmt: skip
        lows.append(float(outcome.confidence_interval.low))
    return lows


def timed(work: Callable[[], object], repeats: int) -> tuple[float, object]:
    best, outcome = float("inf"), None
    for _ in range(repeats):
        begin = time.process_time()
        outcome = work()
        best = min(best, time.process_time() - begin)
    return best, outcome


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of replies and resamples")
    parser.add_argument("--repeats", type=int, default=2, help="take the best of so many")
    options = parser.parse_args()
    share = 10 if options.quick else 1
    run, n_resamples = made_run(N_REPLIES // share), N_RESAMPLES // share

    reading, boxes = timed(lambda: read_all(run), options.repeats)
    official, _ = timed(
        lambda: [medsg.pixel_boxes(reply) for reply in run.replies], options.repeats
    )
    batch, values = timed(lambda: box_iou_batch(run.truths, boxes), options.repeats)
    loop, looped = timed(lambda: iou_row_by_row(run.truths, boxes), options.repeats)
    ours, lows = timed(lambda: with_intervals(values, run, n_resamples), options.repeats)
    scipys, scipy_lows = timed(lambda: bootstrap_scipy(values, run, n_resamples), 1)
    gathered, loop_lows = timed(lambda: bootstrap_loop(values, run, n_resamples), 1)

    total = reading + batch + ours
    print(f"{len(run.replies)} replies, {n_resamples} resamples of clusters, 4 metrics")
    print(
        f"strict reading       {reading:8.3f} s   {1e6 * reading / len(run.replies):.0f} µs a reply"
    )
    print(f"published parser     {official:8.3f} s")
    print(f"IoU, batch           {batch:8.4f} s   per-row loop {loop / batch:.0f}x as long")
    print(f"intervals            {ours:8.3f} s   per-row loop {gathered / ours:.1f}x, "
          f"scipy.stats.bootstrap {scipys / ours:.1f}x as long")  # fmt: skip
    print(f"read, scored, with intervals: {total:.2f} s (target {TARGET_S:.0f} s)")
    same = bool(np.array_equal(values, looped))
    spread = max(abs(a - b) for peers in (scipy_lows, loop_lows) for a, b in zip(lows, peers))  # noqa: B905
    print(f"batch equals loop: {same}; lower ends differ by at most {spread:.4f}")
    return 0 if same and spread < 0.02 and (options.quick or total < TARGET_S) else 1


if __name__ == "__main__":
    sys.exit(main())
