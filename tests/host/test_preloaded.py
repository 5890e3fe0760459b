"""What runs that share an import of the host tell of themselves, so that tests on them can fail."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from .environments import clean_environ
from .plugins import write_plugin
from .preloaded import ForkedRun, preloaded
from .running import Host

pytestmark = pytest.mark.host

HANGS = "import signal; signal.pause()"


def started(folder: Path, program: str) -> ForkedRun:
    return preloaded().start(program=program, cwd=folder, environ=clean_environ())


@pytest.mark.parametrize(
    ("program", "status", "said"),
    [
        ("print('done')", 0, "done"),
        ("raise SystemExit(3)", 3, ""),
        ("raise SystemExit('no such model')", 1, "no such model"),
        ("raise ValueError('broken')", 1, "ValueError: broken"),
        ("import os; os.kill(os.getpid(), 11)", -signal.SIGSEGV, ""),
    ],
    ids=["done", "status", "text", "error", "signal"],
)
def test_a_run_ends_as_a_process_of_its_own_would(
    tmp_path: Path, program: str, status: int, said: str
) -> None:
    found, output = started(tmp_path, program).finished()
    assert found == status
    assert said in output


def test_a_run_that_fails_fails_its_test(tmp_path: Path) -> None:
    with pytest.raises(AssertionError, match="ValueError: broken"):
        Host("ms-vlmeval", tmp_path).python("raise ValueError('broken')")


def test_a_running_run_can_be_killed(tmp_path: Path) -> None:
    run = started(tmp_path, HANGS)
    assert run.poll() is None
    run.kill()
    assert run.wait() == run.poll() == -signal.SIGKILL


def test_a_run_that_hangs_is_killed_and_an_error(tmp_path: Path) -> None:
    run = started(tmp_path, HANGS)
    with pytest.raises(TimeoutError):
        run.wait(0.2)
    assert run.poll() == -signal.SIGKILL


def test_a_run_that_was_left_running_does_not_stop_the_next(tmp_path: Path) -> None:
    left = started(tmp_path, HANGS)
    assert started(tmp_path, "print('next')").finished()[1].endswith("next\n")
    assert left.poll() == -signal.SIGKILL


def test_a_plugin_on_the_path_is_registered_for_that_run_alone(tmp_path: Path) -> None:
    source = """
from medbench_vlmeval.models.baselines import CopyInput
from medbench_vlmeval.registry import register_editor

register_editor("Another-Copy")(CopyInput)
"""
    plugin = write_plugin(tmp_path / "plugin", "another_copy", source)
    program = "from vlmeval.config import supported_VLM; print('Another-Copy' in supported_VLM)"
    with_plugin = Host("ms-vlmeval", tmp_path, {"PYTHONPATH": str(plugin)})
    assert with_plugin.python(program).split()[-1] == "True"
    assert Host("ms-vlmeval", tmp_path).python(program).split()[-1] == "False"
