"""Judge throughput against a local server with a fixed answering time, as share of the ideal.

Ideal is calls x latency / lanes: every lane always waiting for an answer and for nothing else. The
server runs in a process of its own on the same machine, each scenario of ours in another one, so
that CPU time and peak memory are its own. Beside it the same questions one after another with a
pause of 0.5 s, the way VLMEvalKit's judged medical datasets ask by default, on a few rows and
scaled to the same number of calls. "Bare client" is the OpenAI client alone with as many lanes and
bodies of the same size made beforehand, no images read, nothing stored: what this machine allows.
"Others" is how many cores other programs used meanwhile (Linux); above 0.2 or so a line says more
about them than about us.

    python benchmarks/judge.py            # 5 minutes
    python benchmarks/judge.py --quick    # less than one, ratios a little lower
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import os
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
KNOWN_IMAGES = 42
IMAGE_SIZE_WH = (402, 307)
"""Noise does not compress: a PNG of this size has 370 kB."""


@dataclass(frozen=True)
class Scenario:
    """One line of the table. `images`: ``none``; ``known``: three out of 42; ``new``: one of its
    own for every call, to be read, checked and encoded, beside two that eight calls share."""

    name: str
    calls: int
    latency_s: float
    images: str
    target: str = ""
    lanes: int = 32

    @property
    def ideal_s(self) -> float:
        return self.calls * self.latency_s / self.lanes


SCENARIOS = (
    Scenario("text, 0.2 s", 1920, 0.2, images="none", target="0.85"),
    Scenario("3 known images, 0.2 s", 1920, 0.2, images="known", target="0.65"),
    Scenario("1 new of 3 images, 0.2 s", 960, 0.2, images="new"),
    Scenario("1 new of 3 images, 2 s", 960, 2.0, images="new", target="0.95"),
)
QUICK = (
    Scenario("text, 0.2 s", 480, 0.2, images="none", target="0.85"),
    Scenario("3 known images, 0.2 s", 480, 0.2, images="known", target="0.65"),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", default="", help="scenarios whose name holds this text")
    parser.add_argument("--one", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.one:
        print(json.dumps(measured(**json.loads(arguments.one))))
        return
    print(
        f"{'scenario':<26}{'lanes':>6}{'calls':>7}{'seconds':>9}{'of ideal':>10}{'target':>8}"
        f"{'bare client':>13}{'others':>8}{'CPU ms/call':>13}{'peak MB':>9}{'2nd run calls':>15}"
        f"{'s one by one':>14}{'gain':>7}"
    )
    with tempfile.TemporaryDirectory() as folder:
        for scenario in QUICK if arguments.quick else SCENARIOS:
            if arguments.only in scenario.name:
                print(line(scenario, Path(folder)), flush=True)


def line(scenario: Scenario, folder: Path) -> str:
    """Measure one scenario and the one-by-one way beside it."""
    with server(scenario.latency_s) as address:
        own = in_own_process(scenario, folder, address)
        one_by_one = seconds_one_by_one(scenario, folder, address)
    return (
        f"{scenario.name:<26}{scenario.lanes:>6}{scenario.calls:>7}{own['seconds']:>9.2f}"
        f"{scenario.ideal_s / own['seconds']:>10.3f}{scenario.target:>8}"
        f"{scenario.ideal_s / own['bare_seconds']:>13.3f}"
        f"{own['others']:>8.2f}{own['cpu_ms']:>13.2f}"
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
        before, busy_began = stats(address), busy_seconds()
        began, cpu_began = time.monotonic(), time.process_time()
        verdicts = judge.run(calls, log_path=Path(outputs) / "judge.jsonl")
        seconds, cpu_s = time.monotonic() - began, time.process_time() - cpu_began
        busy_s, after = busy_seconds() - busy_began, stats(address)
        peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        asked = after["calls"]
        scored = sum(verdict.reading is not None for verdict in verdicts.values())
        if not scored == asked - before["calls"] == chosen.calls:
            raise RuntimeError(f"expected {chosen.calls} scores, got {scored}; calls: {asked}")
        judge.run(calls, log_path=Path(outputs) / "judge.jsonl")
        asked_again = int(stats(address)["calls"] - asked)
    return {
        "seconds": seconds,
        "bare_seconds": asyncio.run(seconds_of_bare_client(chosen, address, calls[0])),
        "others": max(0.0, busy_s - cpu_s - after["cpu_s"] + before["cpu_s"]) / seconds,
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


def stats(address: str) -> dict[str, float]:
    """Calls so far and CPU seconds of the server."""
    with urlopen(address + "/stats") as answer:
        found: dict[str, float] = json.load(answer)
    return found


def busy_seconds() -> float:
    """CPU seconds of the whole machine since it started; 0 where the system does not say."""
    counters = Path("/proc/stat")
    if not counters.exists():
        return 0.0
    user, nice, system, _idle, _wait, interrupts, soft_interrupts = (
        int(word) for word in counters.read_text().split()[1:8]
    )
    ticks = user + nice + system + interrupts + soft_interrupts
    return ticks / os.sysconf("SC_CLK_TCK")


def questions(scenario: Scenario, folder: Path) -> Iterator[JudgeCall]:
    """Calls of about 2 kB of text, with three images where wanted."""
    for number in range(scenario.calls):
        text = f"Judge row {number}. " + "Consider sharpness, noise and contrast. " * 50
        parts = (text, *images_of(scenario, number, folder))
        yield JudgeCall(str(number), (Message("user", parts),), RUBRIC)


def images_of(scenario: Scenario, number: int, folder: Path) -> tuple[Path, ...]:
    if scenario.images == "none":
        return ()
    if scenario.images == "known":
        seeds = [(number + step) % KNOWN_IMAGES for step in range(3)]
    else:
        block = number // CALLS_PER_REFERENCE
        seeds = [10_000 + 2 * block, 10_001 + 2 * block, 1_000_000 + number]
    return tuple(picture(folder, seed) for seed in seeds)


def picture(folder: Path, seed: int) -> Path:
    """A PNG of noise, made once."""
    path = folder / f"{seed}.png"
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
