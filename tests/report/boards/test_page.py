"""The page of a board: what it holds, and, in a real browser, what it does."""

from __future__ import annotations

import html
import os
import re
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from medbench_vlmeval.cli import main
from medbench_vlmeval.report.boards import files as board_files
from medbench_vlmeval.report.boards.files import write_boards
from medbench_vlmeval.report.boards.leaderboard import leaderboard
from medbench_vlmeval.report.boards.text import letters

from ...evaluation.medq_reasoning_cases import judge_script
from ...judging.server import JudgeServer
from ..made_runs import choices, descriptions

EVIL = "<img src=x onerror=\"document.title='run'\"></script><script>document.title='run'</script>"
HITS = [True, False, True, True, False, True, True, True]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pages")
    with JudgeServer(judge_script({})) as server:
        runs = [
            choices(folder / "runs", "gpt-5", HITS),
            choices(folder / "runs", "org/our model", [True, *HITS[1:-1], True]),
            choices(folder / "runs", f"org/{EVIL}"[:120], HITS[::-1]),
            choices(folder / "runs", "Baseline-FirstOption", [False] * 7 + [True]),
            choices(folder / "runs", "half", HITS, complete=False),
            descriptions(folder / "runs", "A", server),
            descriptions(folder / "runs", "B", server, judge={"model_requested": "other"}),
        ]
    write_boards(leaderboard(runs).reports, folder / "out", ["html"])
    return folder / "out"


@pytest.fixture(scope="module")
def browser() -> Iterator[Any]:
    driver = shutil.which("chromedriver")
    if driver is None:
        if os.environ.get("CI"):
            pytest.fail("chromedriver is missing; in CI the browser must be there")
        pytest.skip("chromedriver is not there; install chromium-driver")
    from selenium import webdriver
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(driver))
    yield opened
    opened.quit()


@pytest.fixture
def page(browser: Any, pages: Path) -> Iterator[Callable[[str], list[Any]]]:
    """The perception board in a browser; gives elements by CSS. No error may be left behind."""
    browser.get((pages / "MedQ_MCQ_test.html").as_uri())
    yield lambda css: browser.find_elements("css selector", css)
    assert browser.get_log("browser") == []


def names(page: Callable[[str], list[Any]], table: str = "#overall") -> list[str]:
    rows = page(f"{table} tbody tr")
    return [row.find_element("css selector", "th").text for row in rows if row.is_displayed()]


def test_a_page_asks_for_nothing_and_holds_no_markup_of_others(pages: Path) -> None:
    for path in pages.iterdir():
        text = path.read_text(encoding="utf-8")
        assert "<img" not in text
        beside = r"[\w%.-]+\.html[\"']" if path.name == "index.html" else "#"
        assert not re.search(rf"""(?:src|href)=["'](?!#|data:|{beside})""", text)
        assert "default-src 'none'" in html.unescape(text)


def test_blank_cells_and_left_out_runs_are_explained(pages: Path) -> None:
    text = (pages / "MedQ_Caption_test.html").read_text(encoding="utf-8")
    assert "judged otherwise than the board" in text
    text = (pages / "MedQ_MCQ_test.html").read_text(encoding="utf-8")
    assert "the judge stopped before the end" in text


def test_no_script_of_a_name_runs(page: Callable[[str], list[Any]], browser: Any) -> None:
    assert browser.title == "MedQ_MCQ_test: leaderboard"
    assert any("onerror" in name for name in names(page))
    assert any("onerror" in name for name in names(page, "#groups"))


def test_columns_sort_in_both_directions_within_kinds_and_open_cells_stay_last(
    page: Callable[[str], list[Any]],
) -> None:
    def values(kind: str) -> list[float | None]:
        cells = page(f"#overall tbody tr.{kind} td:nth-child(3)")
        found = [cell.get_attribute("data-order") for cell in cells]
        return [None if it is None else float(it) for it in found]

    button = page("#overall thead th:nth-child(3) button")[0]
    for descending in (True, False):
        button.click()
        for kind in ("measured", "published"):
            known = [it for it in values(kind) if it is not None]
            assert known == sorted(known, reverse=descending)
        kinds = [row.get_attribute("data-kind") for row in page("#overall tbody tr")]
        assert kinds == sorted(kinds, key=["measured", "baseline", "published"].index)
    page("#overall thead th:first-child button")[0].click()
    assert names(page)[0] == "gpt-5"


def test_rows_are_found_by_name_and_kind(page: Callable[[str], list[Any]]) -> None:
    page("[data-find]")[0].send_keys("gpt-5")
    assert names(page) == ["gpt-5", "GPT-5"]
    page("[data-show='published']")[0].click()
    assert names(page) == ["gpt-5"]
    assert names(page, "#groups") == ["gpt-5"]


def test_groups_are_laid_out_by_what_is_chosen(page: Callable[[str], list[Any]]) -> None:
    def heads() -> list[str]:
        return [it.text for it in page("#groups thead button")]

    assert heads() == ["model", "Yes-or-No", "What", "How"]
    sizes = [it.text for it in page("#groups thead th .interval")]
    assert sizes == ["n 2", "n 3", "n 3"]
    page("[data-group-by] option")[1].click()
    assert heads() == ["model", "CT", "MRI"]
    page("#groups thead th:nth-child(2) button")[0].click()
    cells = page("#groups tr.measured td:nth-child(2)")
    orders = [float(it.get_attribute("data-order")) for it in cells]
    assert orders == sorted(orders, reverse=True)


def test_the_overall_table_has_only_models_with_a_figure_over_all_samples_and_names_the_rest(
    pages: Path,
) -> None:
    text = (pages / "MedQ_MCQ_test.html").read_text(encoding="utf-8")
    overall = text.partition('id="overall"')[2].partition("</table>")[0]
    assert "Lingshu-32B" not in overall
    assert "published for groups only: Lingshu-32B" in text


def test_coverage_stands_beside_the_headline_before_further_columns(pages: Path) -> None:
    text = (pages / "MedQ_Caption_test.html").read_text(encoding="utf-8")
    heads = re.findall(r"data-sort>([^<]*)<", text.partition('id="overall"')[2])
    places = [heads.index(it) for it in ("Overall ↑", "expected", "scored", "Completeness ↑")]
    assert places == sorted(places)


def test_what_speaks_against_a_figure_of_a_group_is_told_below_the_table(
    page: Callable[[str], list[Any]],
) -> None:
    letters_shown = {it.text for it in page("#groups a.mark")}
    told = {it.text.partition(" ")[0] for it in page("#group-marks li")}
    assert letters_shown == told != set()


@pytest.mark.parametrize("width", [1280, 390])
def test_nothing_is_wider_than_the_window(browser: Any, pages: Path, width: int) -> None:
    metrics = {"width": width, "height": 844, "deviceScaleFactor": 1, "mobile": width < 600}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
    for path in pages.iterdir():
        browser.get(path.as_uri())
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
    browser.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def test_without_jinja_the_other_formats_are_written_and_the_remedy_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    choices(tmp_path / "runs", "A", HITS)

    def absent(module: str) -> None:
        raise ImportError(f"pages need {module}: pip install 'medbench-vlmeval[report]'")

    monkeypatch.setattr(board_files, "needed_for_reports", absent)
    arguments = ["leaderboard", str(tmp_path / "runs"), "--out", str(tmp_path / "out")]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0
    assert "pip install 'medbench-vlmeval[report]'" in result.output
    assert {path.suffix for path in (tmp_path / "out").iterdir()} == {".md", ".csv", ".json"}
    asked = CliRunner().invoke(main, [*arguments, "--format", "md,html"])
    assert (asked.exit_code, "pip install" in asked.output) == (1, True)


def test_letters() -> None:
    assert [letters(it) for it in (0, 25, 26, 51, 52, 701, 702)] == [
        "a", "z", "aa", "az", "ba", "zz", "aaa",
    ]  # fmt: skip
