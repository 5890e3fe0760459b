"""Runs of the real host that end early: a key that is refused, a process that is killed."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from .image_servers import KEY, OpenAIServer, Script, edited
from .image_servers_asking import files_with
from .running import Host
from .test_openai_images_run import N, configured, statuses

pytestmark = pytest.mark.host


def test_a_bad_key_costs_one_request_and_leaves_counted_failures(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    wrong = "sk-wrong-0123456789"
    with OpenAIServer(Script()) as server:
        output = host.run(*configured(host, server, max_concurrency=4), OPENAI_API_KEY=wrong)
        assert server.calls == 1
    assert output.count("did not accept the key") == 1
    assert statuses(host, "local-editor") == {"api_fail": N}
    assert files_with(wrong, tmp_path) == []


def test_a_killed_run_asks_only_for_what_is_missing(tmp_path: Path) -> None:
    host = Host("ms-vlmeval", tmp_path)
    with OpenAIServer(Script(default=[edited(delay_s=0.5)])) as server:
        arguments = configured(host, server, max_concurrency=1)
        process = host.start(*arguments, OPENAI_API_KEY=KEY)
        while server.calls < 5:
            assert process.poll() is None
            time.sleep(0.02)
        process.kill()
        process.wait()
        before = server.calls
        # The fifth request may have come before the fourth answer was put away.
        kept = len(list((tmp_path / "LMUData/medbench/edits/memo").rglob("*.json")))
        server.script = Script()
        host.run(*arguments, OPENAI_API_KEY=KEY)
    assert kept in (3, 4)
    assert server.calls - before == N - kept
    assert statuses(host, "local-editor") == {"answer": N}
