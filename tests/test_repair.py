from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from medbench_vlmeval.editing import EditStore, edited_image_line, failed_call_line
from medbench_vlmeval.predictions import read_predictions
from medbench_vlmeval.repair import mark_lost_edits

from .editing.test_editing import png


@pytest.fixture
def rows(tmp_path: Path) -> tuple[EditStore, pd.DataFrame]:
    store = EditStore(tmp_path / "store")
    lines = [
        edited_image_line(store.add(png((number, 0, 0))), size_wh=(16, 12)) for number in range(3)
    ]
    frame = pd.DataFrame({"index": [1, 2, 3], "prediction": lines, "organ": ["Eyes"] * 3})
    return store, frame


def write(frame: pd.DataFrame, path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False)
    elif path.suffix == ".tsv":
        frame.to_csv(path, sep="\t", index=False)
    else:
        frame.to_json(path, orient="records")
    return path


@pytest.mark.parametrize("suffix", [".xlsx", ".tsv", ".json"])
def test_only_lost_rows_are_marked_and_the_old_file_is_kept(
    rows: tuple[EditStore, pd.DataFrame], tmp_path: Path, suffix: str
) -> None:
    store, frame = rows
    path = write(frame, tmp_path / "work" / "T1" / f"M_MedEBench_test{suffix}")
    before = path.read_bytes()
    lost = store.add(png((1, 0, 0)))
    store.path(lost).unlink()
    repair = mark_lost_edits(path, store)
    assert repair.lost == ("2",)
    assert repair.backup is not None
    assert repair.backup.read_bytes() == before
    predictions = [row["prediction"] for row in read_predictions(path).rows]
    assert predictions[0] == frame["prediction"][0]
    assert predictions[1] == failed_call_line("edited image lost")
    assert predictions[2] == frame["prediction"][2]
    assert [str(row["index"]) for row in read_predictions(path).rows] == ["1", "2", "3"]


def test_nothing_lost_changes_nothing(rows: tuple[EditStore, pd.DataFrame], tmp_path: Path) -> None:
    store, frame = rows
    path = write(frame, tmp_path / "work" / "T1" / "M_MedEBench_test.xlsx")
    before = path.read_bytes()
    assert mark_lost_edits(path, store).backup is None
    assert path.read_bytes() == before
    assert not list(path.parent.glob("*.before-repair"))
