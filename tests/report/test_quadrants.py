from __future__ import annotations

import csv
import io
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.files import write_json_atomic, write_jsonl_atomic
from medbench_vlmeval.report.quadrants import (
    CONSERVATIVE,
    MISLOCALISED,
    QUADRANTS,
    CutOffs,
    grounded_run,
    quadrant_counts,
    quadrants_csv,
)
from medbench_vlmeval.report.quadrants_plot import draw_quadrants
from medbench_vlmeval.report.runs import Run, RunUnreadable

Pair = tuple[float | None, float | None]
Write = Callable[..., Run]

# (IoU, EA), two in each quadrant but the first, which has three
PAIRS: tuple[Pair, ...] = (
    (0.8, 0.9), (0.7, 0.6), (0.35, 0.5), (0.7, 0.1), (0.53, 0.3),
    (0.1, 0.9), (0.0, 0.6), (0.04, 0.2), (0.003, 0.1),
)  # fmt: skip


def score(value: float | None, note: str = "") -> dict[str, Any]:
    return {"value": value, "status": "data_error" if value is None else "answer", "note": note}


@pytest.fixture
def write_run(tmp_path: Path) -> Write:
    """A judged run with attention rows beside it, as far as quadrants read them."""

    def write(
        pairs: tuple[Pair, ...] = PAIRS,
        *,
        model: str = "M",
        flags: tuple[int, ...] = (),
        attention: bool = True,
        metrics: tuple[str, ...] = ("EA",),
    ) -> Run:
        stem = tmp_path / model / f"{model}@MedEBench_test"
        rows = [
            {
                "index": index,
                "cluster": f"picture {index}",
                "groups": {"organ": "Ears", "task": "Even." if index % 2 == 0 else "Odd."},
                "scores": {"EA": score(accuracy, "no judge")},
            }
            for index, (_, accuracy) in enumerate(pairs)
        ]
        write_jsonl_atomic(f"{stem}_scores.jsonl", rows)
        if attention:
            found = [
                {
                    "index": index,
                    "scores": {"attention_iou": score(iou, "constant"), "roi_share": score(0.2)},
                    "flags": ["other_edit"] if index in flags else [],
                }
                for index, (iou, _) in enumerate(pairs)
            ]
            write_jsonl_atomic(f"{stem}_attention.jsonl", found)
        manifest = {
            "schema": 1,
            "data": {"name": "MedEBench_test"},
            "metrics": [{"name": name, "label": name} for name in metrics],
        }
        return Run.read(write_json_atomic(f"{stem}_manifest.json", manifest))

    return write


@pytest.mark.parametrize(
    ("iou", "accuracy", "quadrant"),
    [
        (0.53, 0.5, "high IoU, high EA"),
        (0.70, 0.49, "high IoU, low EA"),
        (0.17, 0.9, "low IoU, high EA"),
        (0.003, 0.0, "low IoU, low EA"),
        (0.35, 0.5, "high IoU, high EA"),
    ],
)
def test_a_sample_is_in_one_quadrant(iou: float, accuracy: float, quadrant: str) -> None:
    assert CutOffs().quadrant(iou, accuracy) == quadrant


@pytest.mark.parametrize("value", [0.0, -0.1, 1.1, float("nan")])
def test_cut_offs_are_fractions(value: float) -> None:
    with pytest.raises(ValueError, match="iou"):
        CutOffs(iou=value)
    with pytest.raises(ValueError, match="accuracy"):
        CutOffs(accuracy=value)


def test_samples_are_counted_overall_and_by_group(write_run: Write) -> None:
    overall, organ, even, odd = quadrant_counts([grounded_run(write_run())])
    assert [overall.counts[name] for name in QUADRANTS] == [3, 2, 2, 2]
    assert (overall.group, organ.group, even.group, odd.group) == (
        "Overall",
        "Ears",
        "Even.",
        "Odd.",
    )
    assert [even.counts[name] for name in QUADRANTS] == [2, 1, 1, 1]
    assert (overall.n, even.n, odd.n) == (9, 5, 4)
    assert overall.shares["conservative edit"][0] == pytest.approx(2 / 9)
    value, low, high = overall.shares["mislocalised"]
    assert value == pytest.approx(4 / 9)
    assert 0.0 <= low < value < high <= 1.0


def test_other_cut_offs_move_samples(write_run: Write) -> None:
    overall, *_ = quadrant_counts([grounded_run(write_run())], CutOffs(0.6, 0.05))
    assert overall.counts[CONSERVATIVE] == overall.counts[MISLOCALISED] == 0
    assert overall.shares["mislocalised"][0] == pytest.approx(6 / 9)


def test_what_has_no_number_is_left_out_with_its_reason(write_run: Write) -> None:
    run = write_run(((0.5, 0.5), (None, 0.5), (0.5, None), (0.5, 0.5)), flags=(3,))
    found = grounded_run(run)
    assert [edit.index for edit in found.edits] == [0]
    assert found.left_out == {
        "no IoU: constant": 1,
        "no EA: no judge": 1,
        "the map belongs to another image than the judged one": 1,
    }
    assert found.n_expected == 4
    assert [edit.index for edit in grounded_run(run, other_edits=True).edits] == [0, 3]


def test_a_group_without_samples_has_no_row(write_run: Write) -> None:
    run = grounded_run(write_run(((0.5, 0.5), (None, 0.5))))
    assert [it.group for it in quadrant_counts([run])] == ["Overall", "Ears", "Even."]
    overall, *_ = quadrant_counts([run])
    assert overall.shares["mislocalised"] == pytest.approx((0.0, 0.0, 0.793), abs=5e-4), (
        "none of one picture says little"
    )


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"attention": False}, "medbench attention-score MAPS --data MedEBench_test --run"),
        ({"metrics": ("CP",)}, "column EA"),
        ({"pairs": ((0.5, None), (0.2, None))}, "judge it"),
    ],
    ids=["no attention", "no column", "not judged"],
)
def test_a_run_without_both_numbers_is_refused(
    write_run: Write, given: dict[str, Any], words: str
) -> None:
    with pytest.raises(RunUnreadable, match=words):
        grounded_run(write_run(**given))


def test_damaged_attention_rows_are_refused(write_run: Write) -> None:
    run = write_run()
    path = run.beside("_attention.jsonl")
    path.write_text("not json\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    with pytest.raises(RunUnreadable, match="line 1"):
        grounded_run(run)


def test_the_table_has_a_line_for_each_group(write_run: Write) -> None:
    runs = [grounded_run(write_run(model=name)) for name in ("A", "B, with comma")]
    rows = list(csv.DictReader(io.StringIO(quadrants_csv(list(quadrant_counts(runs))))))
    assert [row["model"] for row in rows] == ["A"] * 4 + ["B, with comma"] * 4
    assert rows[0]["high IoU, low EA"] == "2"
    assert float(rows[0]["mislocalised"]) == pytest.approx(4 / 9)


def test_the_plot_shows_every_model_and_its_counts(write_run: Write) -> None:
    runs = [grounded_run(write_run(model=name)) for name in ("A", "B", "C", "<script>$x$")]
    drawn = draw_quadrants(runs)
    text = drawn.decode("utf-8")
    assert text.count("of 9)") == 4
    assert "<script>" not in text
    assert "&lt;script&gt;$x$" in text
    assert drawn == draw_quadrants(runs), "the same runs give the same bytes"
    assert draw_quadrants(runs[:1], kind="png").startswith(b"\x89PNG")
    with pytest.raises(ValueError, match="at least one"):
        draw_quadrants([])


def test_without_matplotlib_the_extra_is_named(
    write_run: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ImportError, match=r"medbench-vlmeval\[report\]"):
        draw_quadrants([grounded_run(write_run())])


def test_the_attention_rows_of_a_scoring_can_be_joined(write_run: Write) -> None:
    # the names that `evaluation.attention` writes are those that are read here
    from medbench_vlmeval.evaluation.attention import AttentionFiles
    from medbench_vlmeval.report.quadrants import ATTENTION_SUFFIX

    run = write_run()
    predictions = run.manifest_path.with_name(f"{run.stem}.jsonl")
    assert AttentionFiles(predictions).scores == run.beside(ATTENTION_SUFFIX)
    assert json.loads(run.manifest_path.read_text())["schema"] == 1
