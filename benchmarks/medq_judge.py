"""Judging MedQ-Bench reasoning: our evaluation beside VLMEvalKit's own class, in one run.

354 rows (the size of both reasoning tables of the test split) are judged in four dimensions by a
local server that answers after 0.2 s, 32 questions at a time: predictions read, judged, summarised
with intervals, all files written. Beside it VLMEvalKit's class judges 20 of the same rows against
the same server, as it does by default (one after another, a pause of 0.5 s after each call), and
its time is scaled to 354 rows. A second run of ours shows that nothing is asked twice.

    python benchmarks/medq_judge.py            # about 80 s, most of it the host's class
    python benchmarks/medq_judge.py --rows 40 --host-rows 4
"""

from __future__ import annotations

import argparse
import contextlib
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from urllib.request import urlopen

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

LATENCY_S = 0.2
LANES = 32
DIMENSIONS = 4
GRADES = ("good", "usable", "reject")
SERVER = """
import asyncio, sys
from tests.judging.server import Answer, JudgeServer
server = JudgeServer(lambda request: Answer.says("Score: 1"), latency_s=float(sys.argv[1]),
                     keep_bodies=False)
async def main():
    task = asyncio.ensure_future(server.serve())
    while not server.port:
        await asyncio.sleep(0.01)
    print(server.port, flush=True)
    await task
asyncio.run(main())
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=354)
    parser.add_argument("--host-rows", type=int, default=20)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, server() as address:
        ours = seconds_of_ours(arguments.rows, Path(folder), address)
        asked = calls(address)
        again = seconds_of_ours(arguments.rows, Path(folder), address)
        repeated = calls(address) - asked
        host = seconds_of_host(arguments.host_rows, address) * arguments.rows / arguments.host_rows
    ideal = arguments.rows * DIMENSIONS * LATENCY_S / LANES
    print(f"{arguments.rows} rows x {DIMENSIONS} dimensions, {LATENCY_S} s a reply, {LANES} lanes")
    print(
        f"ours, everything written   {ours:8.2f} s   {ideal / ours:.2f} of the ideal {ideal:.1f} s"
    )
    print(f"ours, second run           {again:8.2f} s   {repeated} calls")
    print(
        f"VLMEvalKit's class         {host:8.0f} s   scaled from {arguments.host_rows} rows, "
        f"{host / ours:.0f}x as long"
    )


def row_text(number: int) -> str:
    grade = GRADES[number % 3]
    return (
        f"Slice {number} shows the abdomen. Noise is fine and even, edges are soft. "
        f"Overall, the quality of this image is {grade}."
    )


def seconds_of_ours(n_rows: int, folder: Path, address: str) -> float:
    from medbench_vlmeval.data import MedQData, MedQQuestion
    from medbench_vlmeval.evaluation.medq_reasoning import evaluate_medq_reasoning
    from medbench_vlmeval.files import write_jsonl_atomic
    from medbench_vlmeval.judging import Judge, JudgeSettings
    from medbench_vlmeval.judging.medq import own_templates

    samples = tuple(
        MedQQuestion(
            index=number,
            key=str(number),
            kind="caption",
            question="",
            images=(folder / f"{number}.png",),
            sha256=(f"{number:064d}",),
            case=str(number),
            description=row_text(number),
            modality=("CT", "MRI")[number % 2],
        )
        for number in range(n_rows)
    )
    data = MedQData("MedQ_Caption_test", "caption", folder, samples, "0" * 64, None, "benchmark")
    replies = [
        {"index": str(number), "prediction": f"{number}: {row_text(number + 1)}"}
        for number in range(n_rows)
    ]
    predictions = write_jsonl_atomic(folder / "M_MedQ_Caption_test.jsonl", replies)
    judge = Judge(
        JudgeSettings(
            base_url=address, api_key="k", nproc=LANES, cache_path=folder / "cache.sqlite"
        )
    )
    start = time.perf_counter()
    evaluate_medq_reasoning(predictions, data, templates=own_templates("caption"), judge=judge)
    return time.perf_counter() - start


def seconds_of_host(n_rows: int, address: str) -> float:
    import pandas as pd
    from vlmeval.api import OpenAIWrapper
    from vlmeval.dataset.medqbench_caption import MedQBench_Caption_Scorer

    rows = [{"prediction": row_text(n + 1), "description": row_text(n)} for n in range(n_rows)]
    with contextlib.redirect_stdout(io.StringIO()):
        judge = OpenAIWrapper(
            model="judge", api_base=f"{address}/chat/completions", key="k", retry=3, verbose=False
        )
        scorer = MedQBench_Caption_Scorer(pd.DataFrame(rows), judge)
        start = time.perf_counter()
        scorer.compute_scores()
    return time.perf_counter() - start


@contextlib.contextmanager
def server() -> Iterator[str]:
    command = [sys.executable, "-c", SERVER, str(LATENCY_S)]
    environ = {**os.environ, "PYTHONPATH": str(ROOT)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environ, cwd=ROOT) as it:
        try:
            yield f"http://127.0.0.1:{int(it.stdout.readline())}/v1"
        finally:
            it.kill()


def calls(address: str) -> int:
    with urlopen(f"{address}/stats") as reply:
        return int(json.load(reply)["calls"])


if __name__ == "__main__":
    main()
