from __future__ import annotations

import base64
import hashlib
import json
import re
import sys
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest

from medbench_vlmeval.human.export import ExportChoices, export_sheets

from .made import edit_run, exported, read_rows, sheet_path, text_run, varied

HOSTILE = '<script>alert("1")</script><img src=x onerror=alert(2)> "\' & </p> {{ 7 * 7 }}'


class Elements(HTMLParser):
    """Every tag of a page with its attributes, and the text of styles and scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.code: dict[str, str] = {}
        self._inside = ""
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self._inside = tag

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""

    def handle_data(self, data: str) -> None:
        if self._inside in ("style", "script"):
            self.code[self._inside] = self.code.get(self._inside, "") + data

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for found, attributes in self.found if found == tag]


def form(tmp_path: Path, *, text: str = "Noise.", instruction: str = "Remove it.") -> Path:
    if instruction != "Remove it.":
        runs = [edit_run(tmp_path, "M", varied(1), n=4, instruction=instruction)]
    else:
        replies = dict.fromkeys(range(4), text)
        runs = [text_run(tmp_path, it, varied(1, top=2), n=4, replies=replies) for it in "MN"]
    exported(tmp_path / "out", runs)
    return sheet_path(tmp_path / "out").with_name("form.html")


def test_the_policy_lets_the_page_run_its_own_code_and_nothing_else(tmp_path: Path) -> None:
    page = Elements(form(tmp_path).read_text(encoding="utf-8"))
    (policy,) = (it["content"] for it in page.all("meta") if it.get("http-equiv"))
    rules = dict(rule.strip().split(" ", 1) for rule in (policy or "").split(";"))
    assert rules.pop("default-src") == "'none'"
    assert rules.pop("img-src") == "'self' file: data:"
    for kind in ("style", "script"):
        digest = base64.b64encode(hashlib.sha256(page.code[kind].encode()).digest()).decode()
        assert rules.pop(f"{kind}-src") == f"'sha256-{digest}'"
    assert rules == dict.fromkeys(("connect-src", "form-action", "base-uri"), "'none'")


def test_the_page_needs_nothing_but_what_lies_beside_it(tmp_path: Path) -> None:
    path = form(tmp_path, instruction="Remove the stain, please.")
    page = Elements(path.read_text(encoding="utf-8"))
    named = [it[name] for _, it in page.found for name in ("src", "href") if it.get(name)]
    assert len(named) == 4 * 2 * 3
    assert all((path.parent / str(name)).is_file() for name in named)
    assert not re.search(r"https?:|//[a-z]", path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("where", ["text", "instruction"])
def test_texts_of_models_and_data_stay_texts(tmp_path: Path, where: str) -> None:
    path = form(tmp_path, **{where: HOSTILE})
    content = path.read_text(encoding="utf-8")
    page = Elements(content)
    assert len(page.all("script")) == 1
    assert not [it for _, it in page.found if any(name.startswith("on") for name in it)]
    assert "{{ 7 * 7 }}" in content
    assert HOSTILE not in content
    assert HOSTILE in unescape(content)


def test_what_the_form_saves_has_the_cells_of_the_table(tmp_path: Path) -> None:
    path = form(tmp_path, text="=Noise.\nBlur.")
    page = Elements(path.read_text(encoding="utf-8"))
    (body,) = page.all("body")
    header = json.loads(body["data-header"] or "")
    rows = read_rows(path.with_name("sheet.csv"))
    assert header == list(rows[0])
    cells = [json.loads(it["data-cells"] or "") for it in page.all("article")]
    assert [it[:4] for it in cells] == [list(row.values())[:4] for row in rows]
    assert {it[-1] for it in cells} == {"=Noise.\nBlur."}


def test_every_grade_of_every_item_can_be_chosen(tmp_path: Path) -> None:
    page = Elements(form(tmp_path, instruction="Any.").read_text(encoding="utf-8"))
    radios = [(it["name"], it["value"]) for it in page.all("input") if it["type"] == "radio"]
    expected = [
        (f"{name}-{item}", str(grade))
        for item in range(1, 5)
        for name in ("EA", "CP", "VQ")
        for grade in range(11)
    ]
    assert radios == expected


def test_without_jinja_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = edit_run(tmp_path, "M", varied(1), n=2)
    monkeypatch.setitem(sys.modules, "jinja2", None)
    with pytest.raises(ImportError, match=r"pip install 'medbench-vlmeval\[report\]'"):
        export_sheets([run], tmp_path / "out", ExportChoices())
    assert not (tmp_path / "out").exists()
