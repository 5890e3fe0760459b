"""A small prepared benchmark and predictions for it."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from medbench_vlmeval.data import MedEBenchData, load_medebench, prepare_medebench
from medbench_vlmeval.editing import EditStore, edited_image_line

from ..data.releases import write_official

Predict = Callable[..., Path]


@pytest.fixture(autouse=True)
def lmu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "LMUData"
    folder.mkdir()
    monkeypatch.setenv("LMUData", str(folder))
    for name in ("OPENAI_API_KEY", "OPENAI_API_BASE", "OPENAI_BASE_URL", "MEDBENCH_JUDGE_CACHE"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def make_data(tmp_path: Path) -> Callable[..., MedEBenchData]:
    """Prepares samples 1 to n; ``rows`` and ``images`` change single ones."""

    def make(n: int = 4, **changes: Any) -> MedEBenchData:
        source = write_official(tmp_path / "release", range(1, n + 1), **changes)
        prepare_medebench(source, progress=False)
        return load_medebench()

    return make


@pytest.fixture
def store() -> EditStore:
    return EditStore.default()


@pytest.fixture
def predict(tmp_path: Path, store: EditStore) -> Predict:
    """Writes a prediction file: bytes become stored images, anything else stays as it is."""

    def write(
        predictions: Mapping[int, Any], *, model: str = "M", size_wh: tuple[int, int] = (40, 30)
    ) -> Path:
        rows = []
        for number, prediction in predictions.items():
            if isinstance(prediction, bytes):
                prediction = edited_image_line(store.add(prediction), size_wh=size_wh)
            rows.append({"index": str(number), "prediction": prediction})
        path = tmp_path / "run" / model / f"{model}_MedEBench_test.jsonl"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
        return path

    return write
