"""The report page in a real browser, opened from its folder."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.ui import Select, WebDriverWait

from medbench_vlmeval.report.pages.page import write_bundle, write_page

from ...browser import chromium
from . import page_runs

driver = pytest.fixture(scope="module")(chromium)


class Page:
    """A page under test: what a reader would see and do."""

    def __init__(self, driver: webdriver.Chrome, path: Path) -> None:
        self.driver = driver
        self.path = path

    def open(self, hash: str = "", *, width: int = 1280, scheme: str = "light") -> Page:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})
        self.driver.get("about:blank")
        for log in ("browser", "performance"):
            self.driver.get_log(log)
        self.driver.get(self.path.absolute().as_uri() + hash)
        self.until("return document.documentElement.dataset.ready === 'true'")
        return self

    def js(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def until(self, script: str) -> None:
        WebDriverWait(self.driver, 10, poll_frequency=0.05).until(lambda it: self.js(script))

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def press(self, *keys: str) -> None:
        self.driver.switch_to.active_element.send_keys(*keys)

    def listed(self) -> list[str]:
        return self.js(
            "return [...document.querySelectorAll('#list td.index a')].map(it => it.textContent)"
        )

    def choose(self, label: str, value: str) -> None:
        found = [it for it in self.all(".filters .field") if it.text.startswith(label)]
        Select(found[0].find_element(By.TAG_NAME, "select")).select_by_value(value)

    @property
    def hash(self) -> str:
        return str(self.js("return location.hash"))

    @property
    def title(self) -> str:
        found = self.all("#sample-title")
        return found[0].text if found else ""

    def picture_loaded(self) -> None:
        self.until(
            "const it = [...document.querySelectorAll('#sample img')];"
            "return it.length && it.every(one => one.complete)"
        )

    def errors(self) -> list[str]:
        return [it["message"] for it in self.driver.get_log("browser")]

    def requests(self) -> set[str]:
        """Kinds of addresses that the page asked for."""
        events = [json.loads(it["message"])["message"] for it in self.driver.get_log("performance")]
        urls = [
            it["params"]["request"]["url"]
            for it in events
            if it["method"] == "Network.requestWillBeSent"
        ]
        return {url.partition(":")[0] for url in urls}

    def overflow(self) -> int:
        return int(self.js("return document.documentElement.scrollWidth - window.innerWidth"))


MakePage = Callable[[str], Page]


@pytest.fixture(scope="module")
def page(driver: webdriver.Chrome, tmp_path_factory: pytest.TempPathFactory) -> MakePage:
    """A page by name, written once."""
    folder = tmp_path_factory.mktemp("a folder # with signs")
    made: dict[str, Page] = {}
    makers = {
        "edits": lambda: [page_runs.edits(folder / "edits", "Blue")],
        "two": lambda: [page_runs.edits(folder / f"two {it}", f"Model {it}") for it in "ab"],
        "boxes": lambda: [page_runs.boxes(folder / "boxes")],
        "choices": lambda: [page_runs.choices(folder / "choices")],
        "descriptions": lambda: [page_runs.descriptions(folder / "descriptions")],
        "old": lambda: [page_runs.edits(folder / "old", "Old", with_samples=False)],
    }

    def page(name: str) -> Page:
        if name not in made:
            out = folder / "pages" / f"{name}.html"
            with pytest.MonkeyPatch.context() as patch:
                if name != "edits":  # drawing takes longer than all else
                    patch.setattr("medbench_vlmeval.report.pages.page.plots_of", lambda runs: ())
                write_page(makers[name](), out)
            made[name] = Page(driver, out)
        return made[name]

    return page


def test_the_list_sorts_filters_and_searches_and_the_address_says_so(page: MakePage) -> None:
    edits = page("edits").open()
    assert edits.listed() == ["1", "2", "3", "4", "5", "6"]
    (header,) = [it for it in edits.all("#list thead th") if it.text.startswith("CP ↑")]
    header.click()
    edits.until("return location.hash.includes('asc')")
    assert edits.listed() == ["1", "2", "4", "5", "6", "3"]
    header.click()
    edits.until("return location.hash.includes('desc')")
    assert edits.listed() == ["6", "5", "4", "2", "1", "3"]
    edits.choose("organ", "Teeth")
    assert edits.listed() == ["6", "4", "2"]
    assert (edits.one("#count").text, "sort=CP%3Adesc" in edits.hash) == ("3 of 6 samples", True)
    edits.choose("flag", "shifted")
    assert edits.listed() == ["2"]
    edits.one(".filters .clear").click()
    edits.one("#search").send_keys("THING 5")
    assert edits.listed() == ["5"]
    again = page("edits").open(edits.hash)
    assert again.listed() == ["5"]
    assert again.errors() == []


def test_a_range_of_scores_leaves_out_samples_without_one(page: MakePage) -> None:
    edits = page("edits").open()
    edits.one(".filters .max input").send_keys("0.6")
    assert edits.listed() == ["1", "2", "4"]
    edits.choose("status", "refusal")
    assert edits.listed() == []
    assert "No sample fits" in edits.one("#list").text


def test_a_sample_opens_from_list_link_and_keys(page: MakePage) -> None:
    edits = page("edits").open("#by.organ=Teeth&sort=CP:desc")
    edits.all("#list tbody tr")[1].click()
    assert (edits.title.split()[:2], "sample=4" in edits.hash) == (["Sample", "4"], True)
    edits.press("j")
    assert edits.title.startswith("Sample 2")
    edits.press(Keys.ARROW_LEFT)
    edits.press("k")
    assert edits.title.startswith("Sample 6")
    edits.driver.back()
    edits.until(
        "return document.querySelector('#sample-title')?.textContent.startsWith('Sample 4')"
    )
    edits.press(Keys.ESCAPE)
    assert (edits.listed(), edits.title) == (["6", "4", "2"], "")
    edits.press("/")
    assert edits.driver.switch_to.active_element.get_attribute("id") == "search"
    edits.press(Keys.ESCAPE)
    edits.press("?")
    assert edits.one("#help").is_displayed()
    edits.press(Keys.ESCAPE)
    assert not edits.one("#help").is_displayed()
    deep = page("edits").open("#sample=2")
    assert (deep.title.split()[:2], deep.errors()) == (["Sample", "2"], [])


def test_a_link_to_a_sample_that_is_not_there_shows_the_list(page: MakePage) -> None:
    edits = page("edits").open("#sample=99")
    assert "There is no sample 99 here" in edits.one("#count").text
    assert len(edits.listed()) == 6


def test_a_mark_of_a_plot_leads_to_its_samples(page: MakePage) -> None:
    edits = page("edits").open()
    click = (
        "[...document.querySelectorAll('.plot a')]"
        ".find(it => it.getAttribute('xlink:href').startsWith(arguments[0]))"
        ".dispatchEvent(new MouseEvent('click', {bubbles: true, cancelable: true}))"
    )
    edits.js(click, "#sample=6")
    assert edits.title.startswith("Sample 6")
    page("edits").open().js(click, "#organ=Teeth")
    assert edits.listed() == ["2", "4", "6"]


def test_the_slider_uncovers_the_edit_by_mouse_and_keys(page: MakePage) -> None:
    edits = page("edits").open("#sample=1&view=slider")
    edits.picture_loaded()
    divider = edits.one(".divider")
    clip = "return getComputedStyle(document.querySelector('.clipped')).clipPath"
    assert edits.js(clip) == "inset(0px 0px 0px 50%)"
    divider.send_keys(Keys.END)
    assert (
        edits.js("return getComputedStyle(document.querySelector('.clipped')).clipPath")
        == "inset(0px 0px 0px 100%)"
    )
    divider.send_keys(Keys.HOME)
    assert edits.js("return document.querySelector('.divider').value") == "0"
    webdriver.ActionChains(edits.driver).move_to_element(divider).click().perform()
    assert abs(float(divider.get_attribute("value")) - 50) < 2
    assert edits.title.startswith("Sample 1"), "arrow keys move the slider, not the sample"


def test_views_and_regions_change_by_buttons_and_keys(page: MakePage) -> None:
    edits = page("edits").open("#sample=1")
    edits.press("v")
    edits.press("v")
    edits.press("r")
    edits.picture_loaded()
    assert ("view=difference" in edits.hash, "roi=outline" in edits.hash) == (True, True)
    style = "return getComputedStyle(document.querySelector(arguments[0]))[arguments[1]]"
    assert edits.js(style, ".differing", "mixBlendMode") == "difference"
    assert "roi-outline" in edits.js(style, ".roi", "filter")
    edits.one("button[data-value=side]").click()
    assert len(edits.all(".stage figure")) == 4
    assert edits.driver.switch_to.active_element.text == "Side by side"
    assert edits.errors() == []


def test_every_seed_of_an_edit_has_its_picture_and_scores(page: MakePage) -> None:
    edits = page("edits").open("#sample=4")
    captions = [it.text for it in edits.all(".stage figcaption")]
    assert captions[1:4] == [
        "edited, seed 11\nopen\nCP 0.000",
        "edited, seed 12\nopen\nCP 0.250",
        "edited, seed 13\nCP 0.500",
    ]
    options = Select(page("edits").open("#sample=4&view=slider").all(".toolbar select")[1]).options
    assert "edited, seed 12" in [it.text for it in options]


def test_pictures_with_awkward_names_load_and_lost_ones_are_named(page: MakePage) -> None:
    edits = page("edits").open("#sample=5")
    edits.picture_loaded()
    sizes = edits.js(
        "return [...document.querySelectorAll('.stage img')].map(it => it.naturalWidth)"
    )
    assert sizes == [120, 120, 120]
    assert "gone.png" in edits.one(".stage .missing").text
    assert (
        page("edits")
        .open("#sample=3")
        .one(".stage .missing")
        .text.endswith("gave no image: refusal")
    )


@pytest.mark.parametrize(
    ("name", "sample"), [("edits", 3), ("choices", 1)], ids=["reply and judge", "option"]
)
def test_nothing_that_a_model_wrote_runs(page: MakePage, name: str, sample: int) -> None:
    shown = page(name).open(f"#sample={sample}")
    text = shown.one("#sample").text
    for part in ("<script>document.title = 'ran'</script>", "␛[31mred", "[U+202E]abc", "onerror="):
        assert part in text
    assert "ran" not in shown.driver.title
    assert shown.all("#sample script, #sample svg[onload], #sample img[src=x]") == []
    assert shown.errors() == []


def test_nothing_is_fetched_and_no_script_could_be_added(page: MakePage) -> None:
    edits = page("two").open("#sample=2")
    edits.picture_loaded()
    assert edits.requests() <= {"file", "data", "about"}
    assert edits.errors() == []
    edits.js(
        "const it = document.createElement('script'); it.textContent = \"document.title = 'ran'\";"
        "document.body.append(it); fetch('http://127.0.0.1:9/').catch(() => 0)"
    )
    assert edits.driver.title != "ran"
    assert any("Content Security Policy" in it for it in edits.errors())


def test_boxes_lie_on_their_pixels_whatever_size_the_file_has(page: MakePage) -> None:
    boxes = page("boxes").open("#sample=1")
    boxes.picture_loaded()
    places = boxes.js(
        "return [...document.querySelectorAll('.frame')].map(frame => {"
        "  const img = frame.querySelector('img').getBoundingClientRect();"
        "  return Object.fromEntries([...frame.querySelectorAll('rect:not(.under)')].map(rect => {"
        "    const it = rect.getBoundingClientRect();"
        "    const x = (at) => (at - img.left) / img.width;"
        "    const y = (at) => (at - img.top) / img.height;"
        "    const sides = [x(it.left), y(it.top), x(it.right), y(it.bottom)];"
        "    return [rect.getAttribute('class'), sides];"
        "  }));"
        "})"
    )
    assert [sorted(it) for it in places] == [["given"], ["official", "strict", "truth"]]
    assert places[0]["given"] == pytest.approx([0.25, 0.25, 0.75, 0.75], abs=0.01)
    assert places[1]["truth"] == pytest.approx([0.25, 0.2, 0.5, 0.6], abs=0.01)
    assert places[1]["official"] == pytest.approx([0.3, 0.3, 0.55, 0.7], abs=0.01)
    assert [it.text for it in boxes.all(".box-label")] == [
        "given in the question",
        "truth",
        "official = strict",
    ]
    boxes.one(".box-key.truth input").click()
    assert boxes.all("rect.truth") == []


def test_a_question_shows_the_right_answer_and_what_was_read(page: MakePage) -> None:
    options = page("choices").open("#sample=1").all(".options li")
    assert "official reading" in options[0].text
    assert all(it in options[1].text for it in ("right answer", "strict reading"))


def test_a_description_stands_beside_its_reference_with_every_judge_reply(page: MakePage) -> None:
    text = page("descriptions").open("#sample=1").one("#sample").text
    for part in (
        "A dark picture.",
        "a reply",
        "attempt 1: hard to say",
        "attempt 2: hard",
        "c" * 32,
    ):
        assert part in text


def test_runs_are_compared_side_by_side(page: MakePage) -> None:
    two = page("two").open()
    assert [it.text for it in two.all("#list thead th")][-3:] == ["Model a", "Model b", "spread"]
    assert (
        page("two").open("#sample=1").one("table.scores").text.startswith("Score Model a Model b")
    )


def test_a_run_of_an_earlier_version_says_how_to_get_the_rest(page: MakePage) -> None:
    old = page("old").open()
    assert "Evaluate it again" in old.one("#overview").text
    assert (len(old.listed()), old.errors()) == (6, [])
    assert "Editing Accuracy: 7" in page("old").open("#sample=1").one("#sample").text


def test_light_and_dark_follow_the_system_until_the_button(page: MakePage) -> None:
    background = "return getComputedStyle(document.body).backgroundColor"
    edits = page("edits").open(scheme="dark")
    dark = edits.js(background)
    edits.one("[data-theme-toggle]").click()
    light = edits.js(background)
    assert (dark, light) == ("rgb(18, 21, 24)", "rgb(247, 247, 245)")
    edits.js("localStorage.clear()")


@pytest.mark.parametrize(
    ("name", "sample"),
    [("two", ""), ("two", "2"), ("boxes", "1"), ("choices", "1"), ("descriptions", "1")],
    ids=["overview", "edit", "boxes", "choice", "description"],
)
def test_a_phone_shows_the_page_without_scrolling_sideways(
    page: MakePage, name: str, sample: str
) -> None:
    shown = page(name).open(f"#sample={sample}" if sample else "", width=390)
    assert (shown.overflow(), shown.errors()) == (0, [])


def test_every_control_and_picture_has_a_name(page: MakePage) -> None:
    for hash in ("", "#sample=1&view=slider"):
        edits = page("edits").open(hash)
        edits.picture_loaded() if hash else None
        assert (
            edits.js("return [...document.images].filter(it => !it.hasAttribute('alt')).length")
            == 0
        )
        unnamed = edits.js(
            "return [...document.querySelectorAll('button, input, select')].filter(it => "
            "!it.textContent.trim() && !it.labels?.length && !it.getAttribute('aria-label'))"
            ".map(it => it.outerHTML)"
        )
        assert unnamed == []


def test_a_bundle_works_where_it_is_unpacked(driver: webdriver.Chrome, tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "Blue", n=2)
    write_bundle([run], tmp_path / "bundle")
    moved = (tmp_path / "bundle").rename(tmp_path / "elsewhere")
    shutil.rmtree(tmp_path / "data")
    shutil.rmtree(tmp_path / "run")
    bundle = Page(driver, moved / "index.html").open("#sample=1")
    bundle.picture_loaded()
    widths = bundle.js(
        "return [...document.querySelectorAll('.stage img')].map(it => it.naturalWidth)"
    )
    assert (widths, bundle.errors()) == ([120, 120, 120, 120], [])
