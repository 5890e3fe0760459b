"""The raters' form in a real browser, opened from its folder, filled in and sent back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import WebDriverWait

from medbench_vlmeval.human.entries import Entries
from medbench_vlmeval.human.key import SheetKey

from ..browser import chromium
from .made import edit_run, exported, sheet_path, varied

driver = pytest.fixture(scope="module")(chromium)

COMMENT = '=HYPERLINK("x"); "both",\nthen é\tend'


class Form:
    """The form as a rater uses it."""

    def __init__(self, driver: webdriver.Chrome, path: Path) -> None:
        self.driver, self.path = driver, path
        driver.execute_cdp_cmd(
            "Browser.setDownloadBehavior",
            {"behavior": "allow", "downloadPath": str(path.parent), "eventsEnabled": True},
        )

    def open(self, width: int = 1280) -> Form:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(self.path.absolute().as_uri())
        return self

    def js(self, script: str) -> Any:
        return self.driver.execute_script(f"return {script}")

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    @property
    def sample(self) -> str:
        return str(self.one(".sample:not([hidden])").get_attribute("data-sample"))

    @property
    def where(self) -> str:
        return str(self.one("#where").text)

    def press(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def rate(self, item: int, *grades: str) -> None:
        """Rate an item by keys alone: the digits of each grade, then on to the next scale."""
        first = f'.item[data-item="{item}"] .scale input'
        self.driver.execute_script("document.querySelector(arguments[0]).focus()", first)
        for grade in grades:
            self.press(*grade)
            self.press(Keys.TAB)

    def field(self, item: int, name: str) -> Any:
        return self.one(f'.item[data-item="{item}"] [data-field="{name}"]')

    def download(self) -> Path:
        path = self.path.with_name(f"{self.js('document.body.dataset.sheet')}_rater_A.csv")
        self.one("#download").click()
        WebDriverWait(self.driver, 10, poll_frequency=0.05).until(lambda _: path.is_file())
        return path

    def schemes(self) -> set[str]:
        """What kinds of addresses the page asked for."""
        events = [json.loads(it["message"])["message"] for it in self.driver.get_log("performance")]
        return {
            it["params"]["request"]["url"].partition(":")[0]
            for it in events
            if it["method"] == "Network.requestWillBeSent"
        }


@pytest.fixture(scope="module")
def form(driver: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory) -> Form:
    root = tmp_path_factory.mktemp("a folder # with signs")
    exported(root / "out", [edit_run(root, it, varied(1), n=2) for it in ("Alpha", "Betas")])
    return Form(driver, sheet_path(root / "out").with_name("form.html"))


def test_what_is_entered_by_keys_survives_a_reload_and_comes_back_as_a_table(form: Form) -> None:
    form.open()
    assert (form.sample, form.where) == ("1", "Sample 1 of 2, 0 of 4 items rated")
    form.rate(1, "7", "10", "0")
    form.rate(2, "3", "4")
    assert form.where.endswith("1 of 4 items rated")
    form.field(2, "comment").send_keys("n")
    assert form.sample == "1", "a letter in a comment turns no page"
    form.driver.execute_script(
        "const it = document.querySelector(arguments[0]); it.value = arguments[1];"
        "it.dispatchEvent(new Event('input', { bubbles: true }))",
        '.item[data-item="2"] textarea',
        COMMENT,
    )
    form.one("#next").click()
    form.press("p")
    assert form.sample == "1"
    form.press("n")
    form.field(4, "cannot_judge").click()
    form.open()
    assert (form.sample, form.where) == ("1", "Sample 1 of 2, 2 of 4 items rated")
    form.press("n")
    form.press("o")
    assert form.sample == "1", "the next open one"

    table = form.download()
    found = Entries.read([table], SheetKey.read(form.path.parents[2] / "key.json"))
    by_item = {entry.item: entry for entry in found.entries}
    assert by_item[1].ratings == {"EA": 7, "CP": 10, "VQ": 0}
    assert by_item[2].ratings == {"EA": 3, "CP": 4}
    assert by_item[2].comment == COMMENT
    assert (by_item[4].cannot_judge, by_item[4].ratings) == (True, {})
    assert [problem.what for problem in found.problems] == [
        "item 2: VQ empty",
        "item 3: not rated",
    ]
    assert form.schemes() <= {"file", "blob"}
    assert form.driver.get_log("browser") == []


def test_every_picture_is_shown_and_says_nothing_of_its_model(form: Form) -> None:
    form.open()
    form.driver.execute_script(
        "for (const it of document.images) it.loading = 'eager';"
        "for (const it of document.querySelectorAll('.sample')) it.hidden = false"
    )
    WebDriverWait(form.driver, 10, poll_frequency=0.05).until(
        lambda _: form.js("[...document.images].every(it => it.complete)")
    )
    assert form.js("[...document.images].every(it => it.naturalWidth > 0)")
    page = form.js("document.documentElement.outerHTML")
    assert not any(name in page for name in ("Alpha", "Betas"))


def test_a_phone_shows_it_without_scrolling_sideways(form: Form) -> None:
    form.open(width=390)
    assert form.js("document.documentElement.scrollWidth - window.innerWidth") <= 0
