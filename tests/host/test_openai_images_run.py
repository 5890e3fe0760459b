"""Runs of the real host on an image service that makes every kind of difficulty."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.files import read_jsonl

from .image_servers import KEY, Answer, OpenAIServer, Script, edited, one_pixel, openai_error
from .image_servers_asking import by_arrival, files_with
from .running import HOSTS, Host, write_config

pytestmark = pytest.mark.host

DATA = "MedEBench_sample"
N = 15
FAILS = Answer(status=500, text="oops")
LIMITED = openai_error(429, "rate_limit_exceeded", "slower", headers={"retry-after-ms": "200"})
DIFFICULTIES = {
    2: [LIMITED, edited()],
    3: [FAILS, FAILS, edited()],
    4: [openai_error(400, "moderation_blocked", f"Rejected, {KEY}")],
    5: [Answer(text="I would remove it here.")],
    6: [edited(broken=True)],
    7: [one_pixel()],
    8: [Answer(drop=True), edited()],
    9: [edited(delay_s=4), edited()],
    10: [FAILS],
    11: [openai_error(429, "rate_limit_exceeded", "slower")],
}
CALLS = 4 + 2 + 3 + 1 + 1 + 1 + 1 + 2 + 2 + 4 + 4 + 1
"""Of a first run with three repetitions: four rows without trouble before and after, and so on."""


def configured(host: Host, server: OpenAIServer, **options: Any) -> tuple[str, ...]:
    quick = {"retries": 3, "backoff_s": 0.02, "timeout_s": 2}
    model = {"class": "OpenAIImagesEditor", "base_url": server.base_url, **quick, **options}
    datasets = {DATA: {"class": "MedEBench", "dataset": DATA}}
    config = write_config(host.folder / "config.json", {"local-editor": model}, datasets)
    return ("--config", config, "--judge", "exact_matching")


def fresh(host: Host) -> None:
    """Put the outputs of earlier runs away; the store of edits stays."""
    host.outputs.rename(host.folder / f"outputs-{time.monotonic_ns()}")


def statuses(host: Host, model: str) -> dict[str, int]:
    predictions = host.result(model, DATA)
    rows, _ = read_jsonl(predictions.with_name(f"{predictions.stem}_scores.jsonl"))
    found: dict[str, int] = {}
    for row in rows:
        status = row["edited"]["status"]
        found[status] = found.get(status, 0) + 1
    return found


def test_every_difficulty_is_counted_and_only_what_is_missing_is_asked_again(
    tmp_path: Path,
) -> None:
    host = Host("ms-vlmeval", tmp_path)
    with OpenAIServer(Script(DIFFICULTIES, row_of=by_arrival())) as server:
        arguments = configured(host, server)
        output = host.run(*arguments, OPENAI_API_KEY=KEY)
        assert server.calls == CALLS
        expected = {"answer": 10, "refusal": 1, "missing": 2, "api_fail": 2}
        assert statuses(host, "local-editor") == expected
        assert KEY not in output
        assert files_with(KEY, tmp_path) == []

        server.script = Script()
        fresh(host)
        host.run(*arguments, OPENAI_API_KEY=KEY)
        assert server.calls == CALLS + 5
        assert statuses(host, "local-editor") == {"answer": N}
        fresh(host)
        host.run(*arguments, OPENAI_API_KEY=KEY)
        assert server.calls == CALLS + 5


@pytest.mark.parametrize("name", HOSTS)
def test_the_api_pipeline_asks_from_many_threads(name: str, tmp_path: Path) -> None:
    host = Host(name, tmp_path)
    rows = {1: DIFFICULTIES[2], 5: DIFFICULTIES[4]}
    with OpenAIServer(Script(rows, [edited(delay_s=0.3)], row_of=by_arrival())) as server:
        arguments = ("--data", DATA, "--model", "gpt-image-1", "--api-mode")
        arguments += ("--judge", "exact_matching")
        service = {"OPENAI_API_BASE": server.base_url, "OPENAI_API_KEY": KEY}
        output = host.run(*arguments, **service)
        assert server.calls == N + 1
        assert 2 <= server.most_under_way <= 8
        assert statuses(host, "gpt-image-1") == {"answer": N - 1, "refusal": 1}
        assert host.status("gpt-image-1", DATA)["status"] == "done"
        assert KEY not in output
        assert files_with(KEY, tmp_path) == []
