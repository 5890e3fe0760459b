"""``medbench leaderboard`` from 50 runs on disk to its files: all statistics, 1,182 samples.

    python benchmarks/leaderboard.py            50 models, 1,182 samples, 6 headline metrics
    python benchmarks/leaderboard.py --models 10

The runs are made of drawn scores with the evaluators' writers and are not part of the time. One
thread unless --threads says otherwise. `benchmarks/board.py` times the statistics alone.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import TypeVar

from one_thread import restart_with_threads

if __name__ == "__main__":
    restart_with_threads()

import numpy as np
from board import N_CLUSTERS, N_MODELS, N_SAMPLES, made_boards

from medbench_vlmeval.evaluation.medebench_metrics import METRICS
from medbench_vlmeval.evaluation.run_files import RunFiles, base_manifest
from medbench_vlmeval.report.boards.files import write_boards
from medbench_vlmeval.report.boards.leaderboard import Leaderboard, leaderboard
from medbench_vlmeval.report.collecting import collecting
from medbench_vlmeval.stats import summarise
from medbench_vlmeval.types import Score, Summary

TARGET_S, TARGET_GB = 20.0, 2.0
N_ORGANS, N_TASKS = 13, 70
NAMES = ("CP", "EA", "VQ", "CP_strict", "EA_strict", "VQ_strict")
JUDGE = {"model_requested": "judge", "models_returned": ["judge-1"], "repeats": 1}
T = TypeVar("T")


def timed(name: str, work: Callable[[], T]) -> tuple[float, T]:
    wall, processor = time.perf_counter(), time.process_time()
    outcome = work()
    took = time.perf_counter() - wall
    print(f"{name:12} {took:7.2f} s   processor {time.process_time() - processor:7.2f} s")
    return took, outcome


def summaries_of(columns: dict[str, np.ndarray], groups: dict[str, list[str]]) -> list[Summary]:
    """A table of groups, with intervals overall only: drawing them is not what is timed."""
    metrics = [metric for metric in METRICS if metric.name in columns]
    found = []
    for metric in metrics:
        scores = [Score(float(value)) for value in columns[metric.name]]
        found.append(summarise(scores, metric))
        for group_by, labels in groups.items():
            for group in sorted(set(labels)):
                own = columns[metric.name][[label == group for label in labels]]
                mean = float(own.mean())
                found.append(
                    Summary(
                        metric.name, mean, mean, mean, len(own), len(own), len(own), mean, mean,
                        group, group_by,
                    )
                )  # fmt: skip
    return found


def write_run(
    folder: Path, model: str, columns: dict[str, np.ndarray], clusters: list[int]
) -> None:
    path = folder / model / "T20260101_G0" / f"{model}_MedEBench_test.jsonl"
    path.parent.mkdir(parents=True)
    path.write_text("", encoding="utf-8")
    files = RunFiles(path)
    organs = [f"organ {row % N_ORGANS}" for row in range(N_SAMPLES)]
    tasks = [f"task {row % N_TASKS}" for row in range(N_SAMPLES)]
    metrics = [metric for metric in METRICS if metric.name in columns]
    files.write_scores(
        {
            "index": row + 1,
            "cluster": str(clusters[row]),
            "groups": {"organ": organs[row], "task": tasks[row]},
            "edited": {"status": "answer", "file": "0" * 64 + ".png", "note": ""},
            "scores": {
                name: {"value": float(values[row]), "status": "answer"}
                for name, values in columns.items()
            },
        }
        for row in range(N_SAMPLES)
    )
    summaries = summaries_of(columns, {"organ": organs, "task": tasks})
    files.write_groups(summaries, metrics)
    overall = {it.metric: float(it.value or 0) for it in summaries if it.group_by == "overall"}
    files.write_summary(overall)
    data = {"name": "MedEBench_test", "fingerprint": "f" * 64, "revision": None}
    sizes = {"n_samples": N_SAMPLES, "n_expected": N_SAMPLES, "partial": False}
    files.write_manifest(
        {
            **base_manifest(path), "data": {**data, **sizes}, "judge": JUDGE, "metrics": metrics,
            "edited": {"answer": N_SAMPLES}, "complete": True,
        }
    )  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--models", type=int, default=N_MODELS)
    parser.add_argument("--threads", type=int, default=1, help="threads of numpy's matrix products")
    options = parser.parse_args()
    boards, clusters = made_boards()
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "outputs"
        for model in range(options.models):
            columns = {name: values[:, model] for name, values in zip(NAMES, boards, strict=True)}
            write_run(folder, f"model-{model}", columns, clusters)

        began = time.perf_counter()
        with ExitStack() as stack:
            _, found = timed("collecting", lambda: stack.enter_context(collecting([folder])))
            _, made = timed("boards", lambda: leaderboard(found.runs))
            _, paths = timed("writing", lambda: write_boards(made.reports, Path(scratch) / "out"))
        total = time.perf_counter() - began
        report(made, paths, total)
        in_time = options.models < N_MODELS or total < TARGET_S
    return 0 if in_time and peak_gb() < TARGET_GB else 1


def report(made: Leaderboard, paths: list[Path], total: float) -> None:
    (board,) = made.reports
    n_pairs = sum(len(it.pairs) for it in board.statistics)
    print(f"{'all':12} {total:7.2f} s; peak memory {peak_gb():.2f} GB "
          f"(targets: {TARGET_S:.0f} s, {TARGET_GB:.0f} GB)")  # fmt: skip
    print(f"{len(board.board.of_kind('measured'))} models, {N_SAMPLES} samples of {N_CLUSTERS} "
          f"images, {len(board.statistics)} metrics, {n_pairs} pairs")  # fmt: skip
    sizes = {path.suffix: path.stat().st_size / 1e6 for path in paths}
    print("files: " + ", ".join(f"{name} {size:.1f} MB" for name, size in sizes.items()))
    facts = next(path for path in paths if path.suffix == ".json")
    pairs = json.loads(facts.read_text(encoding="utf-8"))["statistics"][0]["pairs"]
    print(f"different after Holm in {board.statistics[0].metric.name}: "
          f"{sum(it['p_adjusted'] <= 0.05 for it in pairs)} of {len(pairs)}")  # fmt: skip


def peak_gb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2


if __name__ == "__main__":
    sys.exit(main())
