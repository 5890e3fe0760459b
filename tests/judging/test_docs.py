"""The first example of docs/judging.md is run and prints what the page says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from PIL import Image

from .asking import GOOD
from .interrupted import ROOT
from .server import Answer, JudgeServer


def test_the_first_example_prints_what_the_page_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    page = (ROOT / "docs" / "judging.md").read_text(encoding="utf-8")
    code, printed = re.findall(r"```(?:python)?\n(.*?)```", page, flags=re.DOTALL)[:2]
    monkeypatch.chdir(tmp_path)
    for name in ("previous", "truth", "edited"):
        Image.new("RGB", (64, 48)).save(f"{name}.png")
    with JudgeServer(lambda _: Answer.says(GOOD)) as server:
        assert "http://127.0.0.1:8000/v1" in code
        exec(code.replace("http://127.0.0.1:8000/v1", server.base_url), {})
    assert capsys.readouterr().out == printed
    assert server.calls == 1
