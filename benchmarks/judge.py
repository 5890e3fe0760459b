"""Judge throughput against a local server with a fixed answering time, as share of the ideal.

Ideal is calls x latency / lanes: every lane always waiting for an answer and for nothing else. The
server runs in a process of its own on the same machine, each scenario of ours in another one, so
that CPU time and peak memory are its own. Beside it the same questions one after another with a
pause of 0.5 s, the way VLMEvalKit's judged medical datasets ask by default, on a few rows and
scaled to the same number of calls. "Bare client" is the OpenAI client alone with as many lanes and
bodies of the same size made beforehand, no images read, nothing stored: what this machine allows.

    python benchmarks/judge.py            # 5 minutes
    python benchmarks/judge.py --quick    # less than one, ratios a little lower
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from urllib.request import urlopen

import numpy as np
from PIL import Image

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from medbench_vlmeval.judging import Judge, JudgeCall, JudgeSettings, Message, Rubric  # noqa: E402

SERVER = ROOT / "tests" / "judging" / "server.py"
RUBRIC = Rubric("score", ("Score",), 0, 2, allowed=(0, 1, 2))
PAUSE_S = 0.5
CALLS_PER_REFERENCE = 8
"""Edits judged against the same two images, as when several models are scored."""
IMAGE_SIZE_WH = (402, 307)
"""Noise does not compress: a PNG of this size has 370 kB."""


@dataclass(frozen=True)
class Scenario:
    """One line of the table."""

    name: str
    calls: int
    latency_s: float
    images: bool
    target: float
    lanes: int = 32

    @property
    def ideal_s(self) -> float:
        return self.calls * self.latency_s / self.lanes


SCENARIOS = (
    Scenario("text, 200 ms", 960, 0.2, images=False, target=0.85),
    Scenario("3 images, 200 ms", 960, 0.2, images=True, target=0.65),
    Scenario("3 images, 2 s", 960, 2.0, images=True, target=0.95),
)
QUICK = (
    Scenario("text, 200 ms", 320, 0.2, images=False, target=0.85),
    Scenario("3 images, 200 ms", 320, 0.2, images=True, target=0.65),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(**json.loads(arguments.one))))
        return
    print(
        f"{'scenario':<18}{'lanes':>6}{'calls':>7}{'seconds':>9}{'of ideal':>10}{'target':>8}"
        f"{'bare client':>13}{'CPU ms/call':>13}{'peak MB':>9}{'2nd run calls':>15}"
        f"{'s one by one':>14}{'gain':>7}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for scenario in QUICK if arguments.quick else SCENARIOS:
            print(line(scenario, Path(folder)), flush=True)


def line(scenario: Scenario, folder: Path) -> str:
    """Measure one scenario and the one-by-one way beside it."""
    with server(scenario.latency_s) as address:
        own = in_own_process(scenario, folder, address)
        one_by_one = seconds_one_by_one(scenario, folder, address)
    return (
        f"{scenario.name:<18}{scenario.lanes:>6}{scenario.calls:>7}{own['seconds']:>9.2f}"
        f"{scenario.ideal_s / own['seconds']:>10.3f}{scenario.target:>8.2f}"
        f"{scenario.ideal_s / own['bare_seconds']:>13.3f}{own['cpu_ms']:>13.2f}"
        f"{own['peak_mb']:>9.0f}{own['second_run_calls']:>15}"
        f"{one_by_one:>14.0f}{one_by_one / own['seconds']:>6.0f}x"
    )


@contextmanager
def server(latency_s: float) -> Iterator[str]:
    """The local server in its own process; gives its base URL."""
    command = [sys.executable, str(SERVER), "--latency", str(latency_s)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    if process.stdout is None:
        raise RuntimeError("the server has no standard output")
    try:
        yield process.stdout.readline().strip()
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def in_own_process(scenario: Scenario, folder: Path, address: str) -> dict[str, Any]:
    """`measured` in a fresh process."""
    given = json.dumps({"scenario": asdict(scenario), "folder": str(folder), "address": address})
    command = [sys.executable, __file__, "--one", given]
    answer = subprocess.run(command, check=True, capture_output=True, text=True)
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


def measured(scenario: dict[str, Any], folder: str, address: str) -> dict[str, Any]:
    """Seconds, CPU and memory of one run, and the calls that a second run makes."""
    chosen = Scenario(**scenario)
    calls = list(questions(chosen, Path(folder)))
    with tempfile.TemporaryDirectory() as outputs:
        settings = JudgeSettings(
            model="judge",
            base_url=address,
            nproc=chosen.lanes,
            cache_path=Path(outputs) / "cache.sqlite",
        )
        judge = Judge(settings)
        # Importing the client and opening the first connection is not throughput.
        judge.run([JudgeCall("warm", (Message("user", ("warm up",)),), RUBRIC)])
        before = served(address)
        began, cpu_began = time.monotonic(), time.process_time()
        verdicts = judge.run(calls, log_path=Path(outputs) / "judge.jsonl")
        seconds, cpu_s = time.monotonic() - began, time.process_time() - cpu_began
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        asked = served(address)
        scored = sum(verdict.reading is not None for verdict in verdicts.values())
        if not scored == asked - before == chosen.calls:
            raise RuntimeError(f"expected {chosen.calls} scores, got {scored}; calls: {asked}")
        judge.run(calls, log_path=Path(outputs) / "judge.jsonl")
        asked_again = served(address) - asked
    return {
        "seconds": seconds,
        "bare_seconds": asyncio.run(seconds_of_bare_client(chosen, address, calls[0])),
        "cpu_ms": 1000 * cpu_s / chosen.calls,
        "peak_mb": peak_mb,
        "second_run_calls": asked_again,
    }


async def seconds_of_bare_client(scenario: Scenario, address: str, call: JudgeCall) -> float:
    """Seconds for as many requests of the same size, the body made beforehand."""
    from openai import AsyncOpenAI

    content = [shown(part) for part in call.messages[0].parts]
    request = {"model": "judge", "messages": [{"role": "user", "content": content}]}
    body = json.dumps(request).encode()
    left = iter(range(scenario.calls))

    async def lane(client: AsyncOpenAI) -> None:
        for _ in left:
            await client.post("/chat/completions", cast_to=object, content=body)

    async with AsyncOpenAI(base_url=address, api_key="no-key-needed", max_retries=0) as client:
        await client.post("/chat/completions", cast_to=object, content=body)
        began = time.monotonic()
        await asyncio.gather(*[lane(client) for _ in range(scenario.lanes)])
        return time.monotonic() - began


def served(address: str) -> int:
    with urlopen(address + "/stats") as answer:
        return int(json.load(answer)["calls"])


def questions(scenario: Scenario, folder: Path) -> Iterator[JudgeCall]:
    """Calls of about 2 kB of text, with two shared images and one of their own where wanted."""
    for number in range(scenario.calls):
        text = f"Judge row {number}. " + "Consider sharpness, noise and contrast. " * 50
        parts: tuple[str | Path, ...] = (text,)
        if scenario.images:
            block = number // CALLS_PER_REFERENCE
            parts = (
                text,
                picture(folder, f"previous-{block}", 2 * block),
                picture(folder, f"reference-{block}", 2 * block + 1),
                picture(folder, f"edited-{number}", 1_000_000 + number),
            )
        yield JudgeCall(str(number), (Message("user", parts),), RUBRIC)


def picture(folder: Path, name: str, seed: int) -> Path:
    """A PNG of noise, made once."""
    path = folder / f"{name}.png"
    if not path.exists():
        width, height = IMAGE_SIZE_WH
        pixels = np.random.default_rng(seed).integers(0, 256, (height, width, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(path, compress_level=0)
    return path


def seconds_one_by_one(scenario: Scenario, folder: Path, address: str) -> float:
    """Seconds for all calls, from a few asked one after another with a pause after each."""
    from openai import OpenAI

    calls = list(questions(scenario, folder))[:6]
    with OpenAI(base_url=address, api_key="no-key-needed", max_retries=0) as client:
        began = time.monotonic()
        for call in calls:
            content = [shown(part) for part in call.messages[0].parts]
            client.chat.completions.create(
                model="judge",
                messages=[{"role": "user", "content": content}],  # type: ignore[misc, list-item]
                max_tokens=400,
            )
            time.sleep(PAUSE_S)
        return (time.monotonic() - began) / len(calls) * scenario.calls


def shown(part: str | Path) -> dict[str, Any]:
    if isinstance(part, str):
        return {"type": "text", "text": part}
    url = "data:image/png;base64," + base64.b64encode(part.read_bytes()).decode("ascii")
    return {"type": "image_url", "image_url": {"url": url}}


if __name__ == "__main__":
    main()
