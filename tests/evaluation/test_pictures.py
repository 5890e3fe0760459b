from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from medbench_vlmeval.data import MedEBenchData
from medbench_vlmeval.evaluation.medebench import evaluate_medebench
from medbench_vlmeval.evaluation.pictures import predictions_from_folder
from medbench_vlmeval.types import Status

from ..data.releases import picture
from ..shared import shared_cases

MakeData = Callable[..., MedEBenchData]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / "generated"
    path.mkdir()
    return path


def jpeg() -> bytes:
    stream = io.BytesIO()
    with Image.open(io.BytesIO(picture(3))) as image:
        image.save(stream, "JPEG")
    return stream.getvalue()


def test_pictures_become_predictions_beside_their_copies(
    make_data: MakeData, folder: Path, tmp_path: Path
) -> None:
    data = make_data(3)
    (folder / "1_0.png").write_bytes(picture(1))
    (folder / "3.png").write_bytes(picture(3))
    found = predictions_from_folder(folder, data, model="org/M:v1", output=tmp_path / "out")
    assert found.missing == (2,)
    assert found.predictions.name == "org%2FM%3Av1@MedEBench_test.jsonl"
    result = evaluate_medebench([found.predictions], data)[0]
    statuses = [row.edited.status for row in result.rows]
    assert statuses == [Status.ANSWER, Status.MISSING, Status.ANSWER]
    assert result.rows[1].edited.note == "no usable file for sample 2"


def test_what_the_folder_lacks_is_said(make_data: MakeData, folder: Path, tmp_path: Path) -> None:
    data = make_data(3)
    for name in ("1_0.png", "01_0.png", "2_0.png", "2_0.jpg", "final.png"):
        (folder / name).write_bytes(picture(1))
    found = predictions_from_folder(folder, data, model="M", output=tmp_path / "out")
    text = "\n".join(found.lines())
    assert "images for 1 of 3 samples" in text
    assert "missing, counted as no image: 1, 3" in text
    assert "sample 1: several files, none used: 01_0.png, 1_0.png" in text
    assert "a JPEG or WebP beside the lossless file was not used: 2" in text
    assert "ignored: final.png" in text


def test_an_unreadable_picture_is_missing(
    make_data: MakeData, folder: Path, tmp_path: Path
) -> None:
    data = make_data(1)
    (folder / "1_0.png").write_bytes(picture(1)[:100])
    found = predictions_from_folder(folder, data, model="M", output=tmp_path / "out")
    row = evaluate_medebench([found.predictions], data)[0].rows[0]
    assert row.edited.status is Status.MISSING
    assert "1_0.png" in row.edited.note


@pytest.mark.parametrize(
    "case", [case for case in shared_cases("images.jsonl") if case.id in ("B75a", "B75b", "absent")]
)
def test_lossy_files_are_used_only_when_nothing_better_is_there(
    case: dict[str, Any], make_data: MakeData, folder: Path, tmp_path: Path
) -> None:
    data = make_data(12)
    names = case["build"]["folder"]
    for name in names:
        (folder / name).write_bytes(jpeg() if name.endswith(".jpg") else picture(3))
    found = predictions_from_folder(folder, data, model="M", output=tmp_path / "out")
    result = evaluate_medebench([found.predictions], data, expected_ids=[12])[0]
    required = case["required"]
    used = required.get("found") or required.get("used")
    assert found.index.edits[12].path.name == used
    assert ("lossy" in result.rows[0].flags) == required.get("lossy_flag", False)
    if required.get("ambiguity_reported"):
        assert any("was not used: 12" in line for line in found.lines())
