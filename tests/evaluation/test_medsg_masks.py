from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from medbench_vlmeval.files import read_jsonl
from medbench_vlmeval.metrics import box_mask
from medbench_vlmeval.parsing import RunLengths
from medbench_vlmeval.types import Status

from .test_medsg import TRUTH, benchmark, evaluate, sample

BOX_PIXELS = box_mask(TRUTH, (336, 336))
LEFT_HALF = box_mask((100, 100, 150, 200), (336, 336))


def coco(mask: np.ndarray) -> str:
    return json.dumps(RunLengths.of(mask).to_coco())


def test_without_masks_there_is_no_such_column(tmp_path: Path) -> None:
    result = evaluate(tmp_path, benchmark(sample(1), root=tmp_path), {1: "[100, 100, 200, 200]"})
    assert not [name for name in result.flat if name.startswith("mask")]


def test_a_mask_answers_for_a_box_and_the_box_columns_stay_as_published(tmp_path: Path) -> None:
    data = benchmark(sample(1), sample(2), sample(3), root=tmp_path)
    replies = {1: coco(LEFT_HALF), 2: "[100, 100, 200, 200]", 3: "no idea"}
    result = evaluate(tmp_path, data, replies)
    scores = [row.scores["mask_IoU"] for row in result.rows]
    assert [score.value for score in scores] == [0.5, 1.0, None]
    assert result.flat["mask_IoU"] == 0.5  # the third counts 0
    assert result.rows[0].scores["IoU_strict"].status is Status.UNPARSED
    assert result.flat["IoU_strict"] == pytest.approx(1 / 3)
    assert result.flat["n_unparsed"] == 2


def test_a_row_with_a_mask_measures_boxes_against_it(tmp_path: Path) -> None:
    data = benchmark(sample(1, mask=RunLengths.of(LEFT_HALF)), sample(2), root=tmp_path)
    boxes = {1: "[100, 100, 200, 200]", 2: "[100, 100, 200, 200]"}
    result = evaluate(tmp_path, data, boxes)
    assert result.rows[0].scores["mask_IoU"].value == 0.5
    assert "mask_IoU" not in result.rows[1].scores
    assert (result.flat["mask_IoU"], result.flat["IoU"]) == (0.5, 1.0)


def test_a_mask_beside_the_predictions_is_read(tmp_path: Path) -> None:
    (tmp_path / "masks").mkdir()
    Image.fromarray(LEFT_HALF.astype(np.uint8) * 255).save(tmp_path / "masks" / "1.png")
    Image.fromarray(BOX_PIXELS).resize((672, 672), 0).save(tmp_path / "masks" / "2.png")
    data = benchmark(sample(1), sample(2), root=tmp_path)
    result = evaluate(tmp_path, data, {1: "masks/1.png", 2: "mask: masks/2.png"})
    assert [row.scores["mask_IoU"].value for row in result.rows] == [0.5, 1.0]
    assert "resized" in result.rows[1].scores["mask_IoU"].note
    assert result.flat["n_unparsed"] == 2  # for the box columns


@pytest.mark.parametrize(
    ("reply", "note"),
    [
        ("masks/none.png", "no such file"),
        ("../outside.png", "'..'"),
        ("{outside}", "inside an allowed folder"),
        ("text.png", "text.png"),
        ("wide.png", "600 x 300"),
        ('{"size": [336, 336], "counts": [5]}', "112896 pixels"),
    ],
)
def test_a_mask_that_cannot_be_used_is_no_answer_and_says_why(
    tmp_path: Path, reply: str, note: str
) -> None:
    run = tmp_path / "run"
    run.mkdir()
    Image.new("L", (336, 336), 255).save(tmp_path / "outside.png")
    Image.new("L", (600, 300), 255).save(run / "wide.png")
    (run / "text.png").write_text("no image", encoding="utf-8")
    reply = reply.replace("{outside}", str(tmp_path / "outside.png"))
    result = evaluate(run, benchmark(sample(1), root=run), {1: reply})
    score = result.rows[0].scores["mask_IoU"]
    assert (score.value, score.model_fault, score.status) == (None, True, Status.UNPARSED)
    assert note in score.note
    assert result.flat["mask_IoU"] == 0.0


def test_the_runs_of_a_mask_are_not_taken_for_a_box(tmp_path: Path) -> None:
    reply = '{"size": [336, 336], "counts": [33700, 100, 79000, 96]}'
    result = evaluate(tmp_path, benchmark(sample(1), root=tmp_path), {1: reply})
    assert result.rows[0].reading.box is None
    assert result.rows[0].official_boxes  # as the published parser reads it


def test_a_row_says_which_mask_was_scored(tmp_path: Path) -> None:
    result = evaluate(tmp_path, benchmark(sample(1), root=tmp_path), {1: coco(LEFT_HALF)})
    (line,) = read_jsonl(result.files.scores)[0]
    assert RunLengths.from_coco(line["mask"]["runs"]) == RunLengths.of(LEFT_HALF)
    assert line["scores"]["mask_IoU"]["value"] == 0.5
