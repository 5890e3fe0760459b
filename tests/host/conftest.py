"""What the tests of installation and hosting share: one build of each kind, made once."""

from __future__ import annotations

from pathlib import Path

import pytest

from .environments import Environment, build, copy_sources, create_environment


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of this checkout."""
    folder = tmp_path_factory.mktemp("wheel")
    return build("wheel", copy_sources(folder / "sources"), folder / "dist")


@pytest.fixture(scope="session")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    """An environment that holds this package and nothing else; do not change it."""
    environment = create_environment(tmp_path_factory.mktemp("installed"))
    environment.unpack(wheel)
    return environment
