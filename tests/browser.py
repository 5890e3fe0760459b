"""Chromium without a window, for tests of pages that run in a browser.

A test module that needs it has ``driver = pytest.fixture(scope="module")(chromium)``.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator

import pytest
from selenium import webdriver

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--hide-scrollbars",
)  # fmt: skip


def program(*names: str) -> str:
    """A program of the browser; its absence skips here and fails in CI."""
    found = next(filter(None, map(shutil.which, names)), None)
    if found is None:
        said = f"{names[0]} is not installed: apt-get install chromium chromium-driver"
        if os.environ.get("CI", "").lower() in ("1", "true"):
            pytest.fail(said)
        pytest.skip(said)
    return found


def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[webdriver.Chrome]:
    """A browser with a profile of its own, which logs messages and requests."""
    options = webdriver.ChromeOptions()
    options.binary_location = program("chromium", "chromium-browser", "google-chrome")
    for flag in (*FLAGS, f"--user-data-dir={tmp_path_factory.mktemp('profile')}"):
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = webdriver.ChromeService(program("chromedriver"))
    driver = webdriver.Chrome(options=options, service=service)
    yield driver
    driver.quit()
