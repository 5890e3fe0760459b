from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import pytest

from medbench_vlmeval.evaluation.medebench_metrics import METRICS
from medbench_vlmeval.evaluation.medq_perception import evaluate_medq_perception
from medbench_vlmeval.files import sha256_file
from medbench_vlmeval.report.pages.head import headline, metrics_of
from medbench_vlmeval.report.pages.images import ImagesInPlace, url_of
from medbench_vlmeval.report.pages.page import html_page, page_contents, write_page
from medbench_vlmeval.report.pages.provenance import differences_of, facts_of
from medbench_vlmeval.report.pages.samples import samples_of_run
from medbench_vlmeval.report.runs import Run, RunUnreadable
from medbench_vlmeval.report.safe_text import visible

from ...evaluation.medq_questions import benchmark, question
from ..made_runs import changed, rewritten
from . import page_runs
from .page_runs import HOSTILE, page_data


def written(runs: list[Run], folder: Path) -> tuple[str, dict[str, Any]]:
    out = folder / "page.html"
    write_page(runs, out)
    html = out.read_text(encoding="utf-8")
    return html, page_data(html)


def test_every_number_of_the_table_is_on_the_page(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "Blue")
    html, _ = written([run], tmp_path)
    overall = [it for it in run.table if it["group_by"] == "overall" and it["value"]]
    assert len(overall) == len(METRICS)
    for line in overall:
        decimals = 2 if float(line["value"]) >= 10 or "PSNR" in line["metric"] else 3
        assert f"{float(line['value']):.{decimals}f}" in html, line["metric"]
    assert '5<span class="muted">/6</span>' in html


def test_a_sample_holds_what_the_files_of_the_run_say(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "Blue")
    _, data = written([run], tmp_path)
    sample = data["samples"][1]
    made = sample["runs"][0]
    assert (sample["index"], sample["key"], sample["groups"]) == (2, "key-2", ["Teeth", "task 2"])
    assert made["flags"] == ["shifted"]
    assert made["judge"][""]["reading"] == {"Editing Accuracy": 7}
    assert [it["reply"] for it in made["replies"]] == [f"Editing Accuracy: 7\n{HOSTILE}"]
    cp = [it["name"] for it in data["metrics"]].index("CP")
    assert made["scores"][cp] == pytest.approx(2 / 7, abs=1e-6)
    assert data["samples"][2]["runs"][0]["scores"][cp] == [None, "refusal", "", True]


def test_sources_lead_from_the_page_to_the_files(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "a b" / "run #1", "Blue")
    _, data = written([run], tmp_path / "pages")
    sources = [it["src"] for it in data["samples"][0]["images"]]
    sources.append(data["samples"][0]["runs"][0]["edited"]["src"])
    for source in sources:
        assert not set(source) & set(" #?'\"")
        assert (tmp_path / "pages" / unquote(source)).is_file()


@pytest.mark.parametrize(
    ("name", "encoded"),
    [
        ("a b.png", "a%20b.png"),
        ("50%.png", "50%25.png"),
        ("a#b?c.png", "a%23b%3Fc.png"),
        ("q\"'.png", "q%22%27.png"),
        ("é.png", "%C3%A9.png"),
        ("c:d.png", "c%3Ad.png"),
        ("\udcff.png", "%FF.png"),
    ],
    ids=["space", "percent", "hash", "quotes", "unicode", "colon", "no unicode"],
)
def test_every_file_name_becomes_a_url(name: str, encoded: str, tmp_path: Path) -> None:
    assert url_of(tmp_path / "x" / name, tmp_path / "pages") == f"../x/{encoded}"


def test_images_that_moved_are_found_below_the_data_root(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "Blue", n=1)
    path = run.beside("_samples.jsonl")
    line = json.loads(path.read_text(encoding="utf-8"))
    line["images"][1] |= {"path": "/nowhere/reference.png", "stored": "set/reference.png"}
    path.write_text(json.dumps(line) + "\n", encoding="utf-8")
    (tmp_path / "root" / "set").mkdir(parents=True)
    (tmp_path / "data" / "reference.png").rename(tmp_path / "root" / "set" / "reference.png")
    contents = page_contents([run], ImagesInPlace(tmp_path), tmp_path / "root", links_from=None)
    assert contents["data"]["samples"][0]["images"][1]["src"] == "root/set/reference.png"
    contents = page_contents([run], ImagesInPlace(tmp_path), None, links_from=None)
    assert "--data-root" in contents["data"]["samples"][0]["images"][1]["missing"]


def test_nothing_of_a_model_is_markup(tmp_path: Path) -> None:
    html, data = written([page_runs.edits(tmp_path / "run", "Blue")], tmp_path)
    assert data["samples"][2]["runs"][0]["reply"] == HOSTILE
    assert len(re.findall(r"<script\b", html)) == 4
    assert "<img src=" not in html


def test_names_are_escaped_wherever_they_stand(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "<b>Blue</b>".replace("/", "\u2215"))
    html, _ = written([run], tmp_path)
    assert "<b>Blue" not in html.replace("\\u003cb\\u003e", "")


def test_runs_of_several_data_sets_are_refused(tmp_path: Path) -> None:
    runs = [page_runs.edits(tmp_path / "a", "A"), page_runs.boxes(tmp_path / "b")]
    with pytest.raises(RunUnreadable, match="MedEBench_test, MedSG_test; write one page for each"):
        write_page(runs, tmp_path / "page.html")


def test_a_run_without_samples_still_has_a_page(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "Old", with_samples=False)
    html, data = written([run], tmp_path)
    assert "Evaluate it again" in html
    assert (data["kind"], len(data["samples"])) == ("edit", 6)
    assert data["samples"][0]["runs"][0]["edited"]["src"].startswith("run/")


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (page_runs.boxes, "boxes"),
        (page_runs.choices, "choice"),
        (page_runs.descriptions, "description"),
    ],
    ids=["boxes", "choice", "description"],
)
def test_the_kind_is_told_from_scores_too(
    make: Callable[[Path], Run], kind: str, tmp_path: Path
) -> None:
    run = make(tmp_path / "run")
    run.beside("_samples.jsonl").unlink()
    _, data = written([run], tmp_path)
    assert data["kind"] == kind


def test_a_damaged_judge_log_is_named(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "Blue")
    run.beside("_judge.jsonl").write_text("no json\n{}\n", encoding="utf-8")
    with pytest.raises(RunUnreadable, match=r"_judge\.jsonl: cannot be read"):
        samples_of_run(run, None)


def test_the_best_run_of_a_line_is_marked_and_ties_are_nobodys(tmp_path: Path) -> None:
    good, bad = (page_runs.edits(tmp_path / name, name, n=n) for name, n in (("a", 6), ("b", 4)))
    lines = {
        it.metric.name: it for it in headline([good, bad], metrics_of([good, bad]))["official"]
    }
    best = [cell.is_best for cell in lines["CP"].cells if cell]
    values = [cell.value for cell in lines["CP"].cells if cell]
    assert best == [value == max(values) for value in values]
    same = headline([good, good], metrics_of([good]))["official"][0]
    assert [cell.is_best for cell in same.cells if cell] == [False, False]


def test_nobody_is_best_where_no_direction_is_better(tmp_path: Path) -> None:
    good, bad = (page_runs.edits(tmp_path / name, name, n=n) for name, n in (("a", 6), ("b", 4)))
    lines = {it.metric.name: it for it in headline([good, bad], metrics_of([good, bad]))["extra"]}
    assert any(cell.is_best for cell in lines["PSNR_outside"].cells if cell)
    assert not any(cell.is_best for cell in lines["PSNR_inside"].cells if cell)


def test_signs_of_scores_that_were_not_earned_are_told_as_text(tmp_path: Path) -> None:
    run = changed(page_runs.edits(tmp_path, "A"), gaming=["no_edit in <b>100%</b> of samples"])
    page, _ = written([run], tmp_path)
    assert "<li>no_edit in &lt;b&gt;100%&lt;/b&gt; of samples</li>" in page


def test_a_warning_is_about_the_run_that_has_it(tmp_path: Path) -> None:
    names = ("A", "B", "C")
    a, b, c = (page_runs.edits(tmp_path / name, name) for name in names)
    b = changed(b, gaming=["no_edit in 100% of samples"])
    page, _ = written([a, b, c], tmp_path)
    said = re.findall(r"<summary>1 warning about (\w+)</summary>\s*<ul><li>([^<]*)</li>", page)
    assert said == [("B", "no_edit in 100% of samples")]


def test_two_runs_of_one_model_have_one_name_each_in_tables_and_plots(tmp_path: Path) -> None:
    runs = [page_runs.edits(tmp_path / name, "M") for name in ("a", "b")]
    page, _ = written(runs, tmp_path)
    heads = re.findall(r'<th scope="col" class="number">(M[^<]*)</th>', page)
    assert set(heads) == {"M (1)", "M (2)"}


def test_groups_say_how_many_of_their_samples_were_scored(tmp_path: Path) -> None:
    # The third sample was refused, and belongs to the eyes.
    run = page_runs.edits(tmp_path, "A")
    page, _ = written([run], tmp_path)
    eyes = next(line for line in page.split("<tr>") if '<th scope="row">Eyes</th>' in line)
    teeth = next(line for line in page.split("<tr>") if '<th scope="row">Teeth</th>' in line)
    assert '2<span class="muted">/3</span>' in eyes
    assert "/3</span>" not in teeth


def test_what_two_runs_do_not_share_is_said(tmp_path: Path) -> None:
    a = page_runs.edits(tmp_path / "a", "A")
    b = page_runs.edits(tmp_path / "b", "B", n=5)
    b.manifest_path.write_text(
        json.dumps({**b.manifest, "judge": {"model_requested": "other"}}), encoding="utf-8"
    )
    said = differences_of([a, Run.read(b.manifest_path)])
    assert said == (
        "judge differ: A: none; B: other",
        "the runs do not hold the same samples: A 6, B 5",
    )
    assert differences_of([a, a]) == ()


def test_provenance_tells_the_whole_manifest(tmp_path: Path) -> None:
    facts = facts_of(page_runs.edits(tmp_path / "run", "Blue"))
    assert facts["data"] == "MedEBench_test"
    assert facts["data fingerprint"] == "f" * 64
    assert facts["prompts"] == f"judge: {'e' * 64}"
    assert "metrics" not in facts


def test_a_prompt_of_one_run_only_is_told_apart(tmp_path: Path) -> None:
    a, b = (page_runs.edits(tmp_path / name, name, n=2) for name in "ab")
    path = b.beside("_samples.jsonl")
    path.write_text(
        path.read_text(encoding="utf-8").replace("Do task 1.", "Please do."), encoding="utf-8"
    )
    _, data = written([a, b], tmp_path)
    first, second = data["samples"]
    assert first["prompt"][1] == {"text": "Do task 1."}
    assert first["runs"][1]["prompt"][1] == {"text": "Please do."}
    assert "prompt" not in second["runs"][1]


def test_a_run_as_it_is_evaluated_becomes_a_page(tmp_path: Path) -> None:
    data = benchmark(tmp_path, question(1), question(2, modality="MRI"))
    path = tmp_path / "M_MedQ_MCQ_test.jsonl"
    rows = [{"index": "1", "prediction": "B"}, {"index": "2", "prediction": "A"}]
    path.write_text("".join(json.dumps(it) + "\n" for it in rows), encoding="utf-8")
    evaluate_medq_perception(path, data)
    html, found = written([Run.at(path)], tmp_path)
    assert [it["runs"][0]["reply"] for it in found["samples"]] == ["B", "A"]
    assert found["samples"][0]["about"]["options"]["A"] == "Motion"
    assert "0.500" in html


def test_the_page_of_a_whole_benchmark_stays_below_5_mb(tmp_path: Path) -> None:
    run = whole_benchmark(tmp_path / "outputs" / "Some-Editor-7B")
    page = tmp_path / "page.html"
    result = write_page([run], page)
    assert (result.n_samples, result.missing) == (1182, 0)
    assert page.stat().st_size < 5_000_000


def whole_benchmark(folder: Path) -> Run:
    """As many samples, images, words and judge replies as MedEBench with a judge has."""
    stored = "MedEBench_test/previous/" + "a" * 40 + ".png"
    image = page_runs.picture(folder.parent / stored, (1, 2, 3))
    stem = "Some-Editor-7B_MedEBench_test"
    edited = page_runs.picture(folder / f"{stem}_images" / ("e" * 64 + ".png"), (1, 2, 3))
    words = "The picture shows the requested change with a soft border. "
    rows, shown, judged = [], [], []
    for index in range(1, 1183):
        rows.append(
            {
                "index": index,
                "cluster": str(index),
                "groups": {
                    "organ": f"organ {index % 13}",
                    "task": f"remove the thing {index % 70}",
                },
                "edited": {"status": "answer", "file": edited.name, "note": "", "seed": index},
                "scores": page_runs.scored(METRICS, (index % 997) / 997),
                "judge": {"call_id": f"{index:064x}", "status": "answer", "reading": {"EA": 7}},
                "flags": ["size_differs"],
                "diagnostics": {f"measure {n}": index / (n + 3) for n in range(8)},
            }
        )
        images = [{"role": role, "path": str(image)} for role in ("previous", "reference", "roi")]
        about = {"instruction": words * 2, "description": words * 4, "organ": "x", "task": "y"}
        shown.append(
            page_runs.shown_line(index, "edit", images, about=about, reply=str(edited))
            | {"prompt": [{"image": 0}, {"text": words * 3}]}
        )
        judged.append(
            {"key": str(index), "call_id": f"{index:064x}", "repeat": 0, "attempt": 1}
            | {"status": "answer", "reply": words * 14, "model_returned": "gpt-4o-2024-08-06"}
            | {"messages": [{"role": "user", "content": words * 40}]}
        )
    return page_runs.write_run(
        folder, "Some-Editor-7B", "MedEBench_test", METRICS, rows, shown, judged
    )


def test_the_same_runs_give_the_same_page(tmp_path: Path) -> None:
    run = page_runs.edits(tmp_path / "run", "Blue")
    contents = page_contents([run], ImagesInPlace(tmp_path), None, links_from=tmp_path)
    assert html_page(contents) == html_page(contents)
    before = {it: sha256_file(it) for it in run.manifest_path.parent.rglob("*") if it.is_file()}
    write_page([run], tmp_path / "page.html")
    assert all(sha256_file(it) == digest for it, digest in before.items())


def test_the_licences_of_what_is_inlined_are_on_the_page(tmp_path: Path) -> None:
    html, _ = written([page_runs.boxes(tmp_path / "run")], tmp_path)
    for part in (
        "Permission is hereby granted, free of charge",
        "SpryMedia Ltd",
        "jQuery",
        "JSZip",
    ):
        assert part in html
    assert "Bundled license information" in html


def test_hidden_signs_of_the_fixture_are_really_there() -> None:
    assert {"<U+001B>", "<U+202E>"} <= set(re.findall(r"<U\+\w+>", visible(HOSTILE)))


def test_a_mean_says_how_many_answered_and_what_was_not_scored_could_make_of_it(
    tmp_path: Path,
) -> None:
    run = page_runs.edits(tmp_path, "A")
    line = next(it for it in run.table if (it["group_by"], it["metric"]) == ("overall", "CP"))
    old = ",".join(line.values())
    new = {**line, "n_answered": "4", "n_scored": "3", "floor": "0.25", "ceiling": "0.75"}
    run = rewritten(run, "_acc.csv", lambda text: text.replace(old, ",".join(new.values())))
    page, _ = written([run], tmp_path)
    row = next(it for it in page.split("<tr>") if '<th scope="row"' in it and ">CP ↑" in it)
    assert "all: 0.250 – 0.750" in row
    assert '3<span class="muted">/6, 4 answered</span>' in row
