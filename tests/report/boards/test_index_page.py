from __future__ import annotations

import re
from pathlib import Path

from medbench_vlmeval.report.boards.files import write_boards
from medbench_vlmeval.report.boards.leaderboard import BoardReport, leaderboard

from ..made_runs import boxes, choices


def reports(folder: Path) -> tuple[BoardReport, ...]:
    runs = [
        choices(folder, "<b>M</b>", [True, False, True]),
        choices(folder, "Worse", [False, False, True]),
        boxes(folder, "M", [0.5, 1.0]),
    ]
    return leaderboard(runs).reports


def test_the_index_leads_to_every_board_and_names_the_first_of_each(tmp_path: Path) -> None:
    made = reports(tmp_path / "runs")
    paths = write_boards(made, tmp_path / "out", ("html",))
    assert [path.name for path in paths][-1] == "index.html"
    page = paths[-1].read_text(encoding="utf-8")
    links = re.findall(r'<a href="([^"#]+)">([^<]+)</a>', page)
    assert links == [(f"{it.board.dataset}.html", it.board.dataset) for it in made]
    assert all((tmp_path / "out" / href).is_file() for href, _ in links)
    assert "&lt;b&gt;M&lt;/b&gt;: 0.667 [" in page
    assert "<b>M</b>" not in page
    assert "Worse" not in page


def test_one_board_or_other_formats_need_no_index(tmp_path: Path) -> None:
    made = reports(tmp_path / "runs")
    names = [path.name for path in write_boards(made[:1], tmp_path / "a", ("html", "md"))]
    names += [path.name for path in write_boards(made, tmp_path / "b", ("md", "json"))]
    assert "index.html" not in names
