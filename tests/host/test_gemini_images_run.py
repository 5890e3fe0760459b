"""Runs of the real host on a service that speaks Gemini's protocol."""

from __future__ import annotations

from pathlib import Path

import pytest

from .image_servers import KEY, Answer, GeminiServer, Script, edited, gemini_error
from .image_servers_asking import by_arrival, files_with
from .running import Host, write_config
from .test_openai_images_run import DATA, N, fresh, statuses

pytestmark = pytest.mark.host

ROWS = {
    2: [gemini_error(500, "INTERNAL", "x"), edited()],
    3: [Answer(finish="IMAGE_SAFETY")],
    4: [Answer(words=f"The clip stays, {KEY}.")],
    5: [edited(broken=True)],
    6: [Answer(drop=True), edited()],
    7: [gemini_error(503, "UNAVAILABLE", "busy")],
}


def test_a_configured_run_and_a_second_one(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    with GeminiServer(Script(ROWS, row_of=by_arrival())) as server:
        model = {
            "class": "GeminiImagesEditor",
            "base_url": server.base_url,
            "retries": 1,
            "backoff_s": 0.02,
        }
        datasets = {DATA: {"class": "MedEBench", "dataset": DATA}}
        config = write_config(tmp_path / "config.json", {"local-gemini": model}, datasets)
        arguments = ("--config", config, "--judge", "exact_matching")
        output = host.run(*arguments, GEMINI_API_KEY=KEY)
        assert server.calls == N + 3
        counts = {"answer": N - 4, "refusal": 1, "missing": 2, "api_fail": 1}
        assert statuses(host, "local-gemini") == counts
        assert KEY not in output
        assert files_with(KEY, tmp_path) == []
        server.script = Script()
        fresh(host)
        host.run(*arguments, GEMINI_API_KEY=KEY)
        assert server.calls == N + 3 + 4
        assert statuses(host, "local-gemini") == {"answer": N}


@pytest.mark.parametrize("name", ["gemini-2.0-flash-exp-image"])
def test_the_api_pipeline_runs_the_entries(name: str, tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    with GeminiServer(Script(default=[edited(delay_s=0.05)])) as server:
        arguments = ("--data", DATA, "--model", name, "--api-mode", "--judge", "exact_matching")
        service = {"GOOGLE_GEMINI_BASE_URL": server.base_url, "GOOGLE_API_KEY": KEY}
        host.run(*arguments, **service)
        assert server.calls == N
        assert 2 <= server.most_under_way <= 8
    assert statuses(host, name) == {"answer": N}
    assert files_with(KEY, tmp_path) == []
