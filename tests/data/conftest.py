"""A data folder of its own for every test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def lmu(lmu: Path) -> Path:
    """For every test here."""
    return lmu


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """The addresses that were connected to; every attempt fails."""
    attempts: list[object] = []

    def refuse(self: object, address: object) -> None:
        attempts.append(address)
        raise OSError("no network in this test")

    monkeypatch.setattr("socket.socket.connect", refuse)
    return attempts
