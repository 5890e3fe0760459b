from __future__ import annotations

import json
import re
import sys
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from medbench_vlmeval.evaluation.medebench_metrics import CP, EA
from medbench_vlmeval.report.plots import ForestRow, Plot, forest_plot, plots_of
from medbench_vlmeval.report.plots.clouds import draw_trade_off
from medbench_vlmeval.report.plots.common import bars_plots
from medbench_vlmeval.report.plots.pairs import trade_off
from medbench_vlmeval.report.plots.sheet import COLOURS
from medbench_vlmeval.report.plots.shown import Shown
from medbench_vlmeval.report.plots.special import trade_off_plots
from medbench_vlmeval.report.runs import Run, RunUnreadable

from .plot_runs import box, choice, description, edit, made_run

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"
HOSTILE = "a$x_1^2$ <script>alert(1)</script> & \x1b[31m\u202e\ufffe 胃"

EDITS = [
    edit(1, 0.5, 0.25), edit(2, 0.7, 0.75), edit(3, 0.0, 0.5, "Lung"), edit(4, 0.2, 0.5, "Lung"),
    edit(5, "missing", "missing"), edit(6, "judge unparsed", 0.9),
]  # fmt: skip
BOXES = [box(1, 0.0), box(2, 0.6), box(3, "unparsed"), box(4, 0.3, "referring")]
CHOICES = [choice(1, 1.0), choice(2, 0.0), choice(3, "refusal", "How", "MRI")]
TEXTS = [description(1, "good", "good", 2.0), description(2, "good", "reject", 0.0)]
EVERY = [
    ("MedEBench_test", EDITS, ["bars-organ", "scores", "trade-off"]),
    ("MedSG_test", BOXES, ["bars-task", "scores", "iou"]),
    ("MedQ_MCQ_test", CHOICES, ["bars-question-type", "bars-modality", "scores"]),
    ("MedQ_caption_test", TEXTS, ["bars-modality", "scores", "conclusions", "agreement"]),
]
OF_EVERY_KIND = pytest.mark.parametrize(
    ("dataset", "rows", "names"), EVERY, ids=[name for name, _, _ in EVERY]
)


def named(plots: Sequence[Plot], name: str) -> Plot:
    (found,) = (plot for plot in plots if plot.name == name)
    return found


def tree(plot: Plot) -> ElementTree.Element:
    return ElementTree.fromstring(plot.svg)


def marks(plot: Plot) -> list[tuple[str, str]]:
    """What each mark leads to, and what it says."""
    return [(it.get(HREF, ""), it.findtext(f"{SVG}title", "")) for it in tree(plot).iter(f"{SVG}a")]


def texts(plot: Plot) -> list[str]:
    return [it.text or "" for it in tree(plot).iter(f"{SVG}text")]


def extents(plot: Plot, href: str, axis: int) -> list[float]:
    """How wide (axis 0) or high (axis 1) the bars are that lead somewhere."""
    found = []
    for link in tree(plot).iter(f"{SVG}a"):
        if link.get(HREF) == href:
            (path,) = link.iter(f"{SVG}path")
            pairs = re.findall(r"[ML] (\S+) (\S+)", path.get("d", ""))
            ends = [float(pair[axis]) for pair in pairs]
            found.append(max(ends) - min(ends))
    return found


@OF_EVERY_KIND
def test_a_run_has_the_plots_of_its_kind(
    dataset: str, rows: Any, names: list[str], tmp_path: Path
) -> None:
    plots = plots_of([made_run(tmp_path, dataset, rows)])
    assert [plot.name for plot in plots] == names
    assert all(plot.title and plot.caption for plot in plots)


@OF_EVERY_KIND
def test_an_svg_is_part_of_a_page_and_readable_in_light_and_dark(
    dataset: str, rows: Any, names: list[str], tmp_path: Path
) -> None:
    a = made_run(tmp_path / "a", dataset, rows)
    b = made_run(tmp_path / "b", dataset, rows[:-1], model="N")
    plots = [*plots_of([a]), *plots_of([a, b])]
    ids: list[str] = []
    for plot in plots:
        root = tree(plot)
        assert plot.svg.startswith("<svg ")
        assert root.get("role") == "img"
        title, desc = (root.find(f"{SVG}{tag}") for tag in ("title", "desc"))
        assert title is not None
        assert desc is not None
        assert root.get("aria-labelledby") == f"{title.get('id')} {desc.get('id')}"
        assert desc.text == plot.caption
        colours = {it.get("fill") for it in root.iter(f"{SVG}text")}
        assert colours == {"currentColor"}
        assert not re.search(r"<style|<metadata|style=|font-family|#010203|#fff|#000", plot.svg)
        ids += [it.get("id", "") for it in root.iter() if it.get("id")]
        known = {it.get("id") for it in root.iter()}
        referred = re.findall(r'url\(#([^)]+)\)|use [^>]*xlink:href="#([^"]+)"', plot.svg)
        assert {one or other for one, other in referred} <= known
    assert not [name for name, times in Counter(ids).items() if times > 1]


def test_the_same_run_gives_the_same_bytes(tmp_path: Path) -> None:
    run = made_run(tmp_path, "MedEBench_test", EDITS)
    first = plots_of([run])
    assert plots_of([Run.at(run.manifest_path)]) == first


def test_bars_lead_to_their_group_and_are_as_long_as_their_mean(tmp_path: Path) -> None:
    bars = named(plots_of([made_run(tmp_path, "MedEBench_test", EDITS)]), "bars-organ")
    said = dict.fromkeys(href for href, _ in marks(bars))
    assert list(said) == ["#organ=Teeth", "#organ=Lung"]
    tips = [tip for _, tip in marks(bars)]
    assert any(it.startswith("Lung, official: EA ↑ 0.100 (") for it in tips)
    assert any(it.startswith("Teeth, strict: CP ↑ 0.475 (") for it in tips)
    # panels CP, EA, VQ, official above strict
    cp_official, cp_strict, ea_official, *_ = extents(bars, "#organ=Lung", 0)
    assert cp_official == pytest.approx(cp_strict, abs=0.1)
    assert cp_official / ea_official == pytest.approx(0.5 / 0.1, rel=0.01)
    assert "Teeth (n 4)" in texts(bars)
    # of Teeth: the missing image is in strict means alone, the judge's failure in none of EA and VQ
    assert texts(bars).count("n 3") == 3
    assert texts(bars).count("n 2") == 2


def test_whiskers_are_drawn_only_where_there_is_an_interval(tmp_path: Path) -> None:
    several = named(plots_of([made_run(tmp_path / "a", "MedQ_MCQ_test", CHOICES)]), "bars-modality")
    one = made_run(tmp_path / "b", "MedQ_MCQ_test", CHOICES[:1])
    alone = named(plots_of([one]), "bars-modality")
    assert sum("no interval" in tip for _, tip in marks(several)) == 2  # MRI, twice
    assert len(re.findall(r'stroke-width="1.2"', several.svg)) == 4
    assert 'stroke-width="1.2"' not in alone.svg


def test_scores_are_counted_and_failures_stand_apart_by_name(tmp_path: Path) -> None:
    scores = named(plots_of([made_run(tmp_path, "MedEBench_test", EDITS)]), "scores")
    found = [(href, tip) for href, tip in marks(scores) if tip.startswith("EA")]
    assert found == [
        ("#sample=3", "EA ↑: 1 sample with 0"),
        ("#sample=4", "EA ↑: 1 sample with 0.2"),
        ("#sample=1", "EA ↑: 1 sample with 0.5"),
        ("#sample=2", "EA ↑: 1 sample with 0.7"),
        ("#sample=6", "EA ↑: 1 judge: unparsed"),
        ("#sample=5", "EA ↑: 1 missing"),
    ]
    assert {"missing", "judge: unparsed"} <= set(texts(scores))


def test_box_failures_are_not_in_the_bar_at_zero(tmp_path: Path) -> None:
    iou = named(plots_of([made_run(tmp_path, "MedSG_test", BOXES)]), "iou")
    every = [pair for pair in marks(iou) if pair[1].startswith("all tasks")]
    assert every == [
        ("#sample=1", "all tasks: 1 sample with 0 – 0.05"),
        ("#sample=4", "all tasks: 1 sample with 0.3 – 0.35"),
        ("#sample=2", "all tasks: 1 sample with 0.6 – 0.65"),
        ("#sample=3", "all tasks: 1 unparsed"),
    ]
    assert iou.svg.count("stroke-dasharray") == 9  # three thresholds, all tasks and two tasks


def test_counts_are_the_heights_of_their_bars(tmp_path: Path) -> None:
    rows = [box(at, 0.6) for at in range(3)] + [box(9, 0.1)]
    iou = named(plots_of([made_run(tmp_path, "MedSG_test", rows)]), "iou")
    three, one = extents(iou, "#samples=0,1,2", 1), extents(iou, "#sample=9", 1)
    assert three[0] / one[0] == pytest.approx(3, rel=0.02)


def test_points_of_the_trade_off_lead_to_their_sample(tmp_path: Path) -> None:
    plots = plots_of([made_run(tmp_path, "MedEBench_test", EDITS)])
    cloud = named(plots, "trade-off")
    assert marks(cloud) == [
        ("#sample=1", "1: 0.25, 0.5"),
        ("#sample=2", "2: 0.75, 0.7"),
        ("#sample=3", "3: 0.5, 0"),
        ("#sample=4", "4: 0.5, 0.2"),
    ]
    uses = [use for link in tree(cloud).iter(f"{SVG}a") for use in link.iter(f"{SVG}use")]
    x = [float(use.get("x", "")) for use in uses]
    assert (x[1] - x[0]) / (x[2] - x[0]) == pytest.approx(2, rel=0.01)
    assert "n 4" in cloud.caption
    assert "Not drawn: 1 missing, 1 judge: unparsed." in cloud.caption


def test_cells_hold_counts_and_lead_to_their_samples(tmp_path: Path) -> None:
    rows = [*TEXTS, description(3, "good", "good", 1.0), description(4, "reject", None, 1.0)]
    plots = plots_of([made_run(tmp_path, "MedQ_caption_test", rows)])
    assert marks(named(plots, "conclusions")) == [
        ("#samples=1,3", "reference good, reply good: 2"),
        ("#sample=2", "reference good, reply reject: 1"),
        ("#sample=4", "reference reject, reply none: 1"),
    ]
    assert texts(named(plots, "conclusions")).count("0") == 9
    cells = dict(marks(named(plots, "agreement")))
    assert cells["#sample=3"] == "Quality accuracy ↑ 1, Quality accuracy, read ↑ 2: 1"


def test_what_was_not_judged_is_said_and_not_drawn(tmp_path: Path) -> None:
    rows = [edit(at, "not judged", 0.5) for at in range(3)]
    plots = plots_of([made_run(tmp_path / "a", "MedEBench_test", rows)])
    assert [plot.name for plot in plots] == ["bars-organ", "scores"]
    assert "Without any value: EA ↑, VQ ↑." in plots[0].caption
    assert "Not judged: EA ↑, VQ ↑." in plots[1].caption
    texts_only = [description(1, "good", "good")]
    plots = plots_of([made_run(tmp_path / "b", "MedQ_caption_test", texts_only)])
    assert [plot.name for plot in plots] == ["bars-modality", "scores", "conclusions"]


def test_a_run_that_failed_throughout_shows_its_failures_alone(tmp_path: Path) -> None:
    rows = [edit(at, "missing", "missing") for at in range(3)]
    plots = plots_of([made_run(tmp_path, "MedEBench_test", rows)])
    scores = named(plots, "scores")
    assert [href for href, _ in marks(scores)] == ["#samples=0,1,2"] * 3
    assert texts(scores).count("no sample has a score") == 3
    assert "trade-off" not in [plot.name for plot in plots]


@OF_EVERY_KIND
def test_one_sample_is_drawn_and_none_is_an_error(
    dataset: str, rows: Any, names: list[str], tmp_path: Path
) -> None:
    with pytest.raises(RunUnreadable, match="the file is empty"):
        plots_of([made_run(tmp_path / "none", dataset, [])])
    plots = plots_of([made_run(tmp_path / "one", dataset, rows[:1])])
    assert plots[0].name == names[0]
    assert all(tree(plot) is not None for plot in plots)


def test_no_runs_have_no_plots() -> None:
    assert plots_of([]) == ()


def test_runs_are_drawn_side_by_side(tmp_path: Path) -> None:
    a = made_run(tmp_path / "a", "MedEBench_test", EDITS)
    b = made_run(tmp_path / "b", "MedEBench_test", EDITS[:3], model="N")
    plots = plots_of([a, b])
    assert [plot.name for plot in plots] == [
        "bars-organ", "bars-organ-strict", "scores-cp", "scores-ea", "scores-vq", "trade-off",
    ]  # fmt: skip
    tips = [tip for _, tip in marks(named(plots, "bars-organ"))]
    assert any(tip.startswith("Lung, M: EA ↑ 0.100") for tip in tips)
    assert any(tip.startswith("Lung, N: EA ↑ 0.000, no interval, 1 of 1 scored") for tip in tips)
    assert "Teeth (n 2–4)" in texts(named(plots, "bars-organ"))
    assert {"M (n 6)", "N (n 3)"} <= set(texts(named(plots, "scores-cp")))
    points = {tip for tip in named(plots, "trade-off").svg.split("<title>") if "</title>" in tip}
    assert any(tip.startswith("N: 0.500, 0.400</title>") for tip in points)


def test_runs_on_several_data_sets_are_drawn_one_data_set_after_the_other(tmp_path: Path) -> None:
    a = made_run(tmp_path / "a", "MedQ_MCQ_test", CHOICES)
    b = made_run(tmp_path / "b", "MedSG_test", BOXES)
    names = [plot.name for plot in plots_of([a, b])]
    assert names[0] == "1-bars-question-type"
    assert names[-1] == "2-iou"
    assert len(set(names)) == len(names)


def test_more_runs_than_colours_are_said_to_be_left_out(tmp_path: Path) -> None:
    n = len(COLOURS) + 1
    runs = [
        made_run(tmp_path / str(at), "MedEBench_test", EDITS[:2], model=f"M{at}") for at in range(n)
    ]
    shown = Shown(tuple(runs), "")
    bars, cloud = next(bars_plots(shown)), next(trade_off_plots(shown))
    assert bars.caption.endswith(f"The first {n - 1} of {n} runs.")
    assert f"M{n - 2}" in texts(bars)
    assert f"M{n - 1}" not in texts(bars)
    assert f"M{n - 1}" in texts(cloud)


def test_names_of_any_kind_are_shown_as_they_are(tmp_path: Path) -> None:
    rows = [{**edit(1, 0.5, 0.5, HOSTILE)}, edit(2, 0.6, 0.4, "b_{c}")]
    run = made_run(tmp_path, "MedEBench_test", rows, model="$M_1$ <b>")
    other = made_run(tmp_path, "MedEBench_test", rows, model="N")
    official = next(bars_plots(Shown((run, other), "")))
    assert "<script" not in official.svg
    assert "b_{c} (n 1)" in texts(official)
    (label,) = (text for text in texts(official) if text.startswith("a$x_1^2$ <script>"))
    assert label.endswith("… (n 1)")
    assert "$M_1$ <b>" in texts(official)
    tip = next(tip for _, tip in marks(official) if tip.startswith("a$x"))
    assert "<U+001B>[31m<U+202E>\ufffd 胃, $M_1$ <b>: CP" in tip


def test_a_damaged_label_of_a_metric_does_no_harm(tmp_path: Path) -> None:
    run = made_run(tmp_path, "MedQ_MCQ_test", CHOICES)
    manifest = json.loads(run.manifest_path.read_text(encoding="utf-8"))
    manifest["metrics"][0]["label"] = "<i>\x00$acc$"
    run.manifest_path.write_text(json.dumps(manifest), encoding="utf-8")
    plots = plots_of([Run.at(run.manifest_path)])
    assert "<i><U+0000>$acc$" in texts(plots[0])


def test_a_thousand_points_stay_small() -> None:
    rows = [edit(at, (at % 11) / 10, (at * 37 % 1182) / 1182) for at in range(1182)]
    cloud = draw_trade_off(trade_off(rows, CP, EA), "trade-off", "EA against CP", "")
    assert len(marks(cloud)) == 1182
    assert len(cloud.svg.encode("utf-8")) < 200_000


def luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [it / 12.92 if it <= 0.04045 else ((it + 0.055) / 1.055) ** 2.4 for it in parts]
    return sum(share * it for share, it in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


@pytest.mark.parametrize("colour", COLOURS)
@pytest.mark.parametrize("ground", ["#ffffff", "#1a1e22"], ids=["light", "dark"])
def test_colours_stand_out_from_both_grounds(colour: str, ground: str) -> None:
    darker, lighter = sorted((luminance(colour), luminance(ground)))
    assert (lighter + 0.05) / (darker + 0.05) >= 3


def test_a_forest_shows_measured_and_published_means() -> None:
    rows = [
        ForestRow("A", 0.5, 0.4, 0.6, 100, published=0.55, href="#model=A"),
        ForestRow("B", 0.3, n=1),
        ForestRow("C", published=0.7),
        ForestRow("D"),
    ]
    plot = forest_plot(rows, EA, caption="By model.")
    assert marks(plot) == [
        ("#model=A", "A: 0.500 (0.400 – 0.600)"),
        ("#model=A", "A: published 0.550"),
    ]
    assert "B: 0.300, no interval" in plot.svg
    assert {"A (n 100)", "B (n 1)", "C", "D"} <= set(texts(plot))
    assert texts(plot).count("no value") == 1
    assert len(re.findall(r'stroke-width="2"', plot.svg)) == 1
    assert plot.title == "EA ↑"
    assert plot.caption.startswith("By model. Dots are means")
    assert tree(forest_plot([], EA)) is not None


def test_without_matplotlib_the_error_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.style", None)
    run = made_run(tmp_path, "MedQ_MCQ_test", CHOICES)
    with pytest.raises(ImportError, match=r"matplotlib: pip install 'medbench-vlmeval\[report\]'"):
        plots_of([run])
