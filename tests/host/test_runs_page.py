"""The page docs/runs.md shows what the commands print about a run of the real host."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

from medbench_vlmeval.cli import main

from .running import Host

pytestmark = pytest.mark.host

PAGE = Path(__file__).resolve().parents[2] / "docs" / "runs.md"
BLOCKS = re.findall(
    r"^```\n(.*?)\n```$", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
)
SHOWN = [block.removeprefix("$ medbench ").split("\n", 1) for block in BLOCKS if block[0] == "$"]


@pytest.fixture(scope="module")
def host(tmp_path_factory: pytest.TempPathFactory) -> Host:
    (command,) = (block for block in BLOCKS if block.startswith("python -m vlmeval "))
    arguments = command.removeprefix("python -m vlmeval ").removesuffix(" --work-dir outputs")
    host = Host("ms-vlmeval", tmp_path_factory.mktemp("runs"))
    host.run(*arguments.split())
    return host


def alike(text: str, folder: str = "…") -> list[str]:
    """Lines without what differs between machines: the folder, and the bytes of a packed image."""
    without_hashes = re.sub(r"\b[0-9a-f]{12}(…|[0-9a-f]{52})?|/[0-9a-f]{2}/", "#", text)
    return [line.rstrip() for line in without_hashes.replace(folder, "…").strip().split("\n")]


def test_the_page_shows_every_command_that_it_is_about() -> None:
    assert [command.split()[0] for command, _ in SHOWN] == ["results", "show", "verify", "diff"]


@pytest.mark.parametrize(("command", "printed"), SHOWN, ids=lambda text: text.split()[0])
def test_a_command_prints_what_the_page_shows(
    command: str, printed: str, host: Host, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(host.folder)
    monkeypatch.setenv("LMUData", str(host.folder / "LMUData"))
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 0, result.output
    assert alike(result.output, str(host.folder)) == alike(printed)
